import type { Version } from '../../../src/contract/version.js'
import { compareVersions } from '../history/resource-version.js'
import { ArrivalOrder } from '../http/arrival-order.js'

export interface Line {
  readonly bytes: Buffer
  /** False where it is too long, and only its beginning is here. */
  readonly isWhole: boolean
}

/** Some lines of a watch, and what comes after them. */
export interface LogSegment {
  readonly lines: readonly Line[]
  /** How many bytes have come up to its end. */
  readonly at: number
  /** None of its lines came before this moment. */
  readonly arrival: number
  /** The version at its end, as its lines tell it; whoever reads it first finds out. */
  end: Version | undefined
  next: LogSegment | undefined
}

/** So much of what everybody has read is kept for who joins later, in bytes. */
const RETAINED_BYTES = 1024 * 1024

/** What a watch has told, for readers that are each at a segment of their own. What all have read is let go of. */
export class WatchLog {
  /** The first that still leads on; before `#oldest` where somebody is slow. */
  #first: LogSegment
  #oldest: LogSegment
  #last: LogSegment
  readonly #arrivals: ArrivalOrder

  constructor(after: Version, arrivals: ArrivalOrder = new ArrivalOrder()) {
    this.#arrivals = arrivals
    this.#first = this.#oldest = this.#last = { lines: [], at: 0, arrival: 0, end: after, next: undefined }
  }

  get last(): LogSegment {
    return this.#last
  }

  /** How far it has come, as far as anybody has read it. */
  get lastVersion(): Version | undefined {
    let heard: Version | undefined
    for (let segment: LogSegment | undefined = this.#oldest; segment !== undefined; segment = segment.next)
      heard = segment.end ?? heard
    return heard
  }

  append(lines: readonly Line[], end?: Version, arrival: number = this.#arrivals.next()): void {
    const bytes = lines.reduce((sum, line) => sum + line.bytes.length, 0)
    const segment: LogSegment = { lines, at: this.#last.at + bytes, arrival: arrival, end, next: undefined }
    this.#last.next = segment
    this.#last = segment
    while (this.#last.at - this.#oldest.at > RETAINED_BYTES && this.#oldest.next?.end !== undefined)
      this.#oldest = this.#oldest.next
  }

  /**
   * Nobody reads before this segment any more. Cut off, since one that has grown old with the collector would keep all that came
   * after it until the next full collection.
   */
  release(at: number): void {
    while (this.#first !== this.#oldest && this.#first.at < at && this.#first.next !== undefined) {
      const { next } = this.#first
      this.#first.next = undefined
      this.#first = next
    }
  }

  /**
   * After which segment to read on in order to miss nothing after `version`; undefined where that is not here any more, or where
   * something after it came before the moment `since`.
   */
  segmentBefore(version: Version, since = 0): LogSegment | undefined {
    let segment = this.#oldest
    if (!isUpTo(segment, version)) return undefined
    while (segment.next !== undefined && isUpTo(segment.next, version)) segment = segment.next
    for (let { next } = segment; next !== undefined; { next } = next) if (next.arrival < since) return undefined
    return segment
  }
}

function isUpTo({ end }: LogSegment, version: Version): boolean {
  return end !== undefined && compareVersions(end, version) <= 0
}
