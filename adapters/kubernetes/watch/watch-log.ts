import type { Version } from '../../../src/contract/version.js'
import type { LineBlock } from '../decode/line-splitter.js'
import { compareVersions, versionBefore } from '../history/resource-version.js'
import { nextArrival } from '../http/response-body.js'
import type { ResumeVersions } from './watch-connector.js'

/** Lines of a watch that arrived together, and a link to the next segment. */
export interface LogSegment {
  readonly blocks: readonly LineBlock[]
  /** The number of bytes of the log up to its end. */
  readonly at: number
  /** The arrival number of its oldest line. */
  readonly arrival: number
  /** The version at its end. The first reader of the lines sets it. */
  end: Version | undefined
  next: LogSegment | undefined
}

/** The bytes that are retained for followers that join later, after all current followers have read them. */
const RETAINED_BYTES = 1024 * 1024

/** The lines of a watch, for readers that are each at their own position. Segments that all have read are released. */
export class WatchLog {
  /** The first linked segment; before `#oldest` if a reader is slow. */
  #first: LogSegment
  #oldest: LogSegment
  last: LogSegment
  #deletedAt: Version | undefined

  constructor(after: Version) {
    this.#first = this.#oldest = this.last = { blocks: [], at: 0, arrival: 0, end: after, next: undefined }
  }

  /** The newest version that a reader has read. */
  get lastVersion(): Version | undefined {
    let heard: Version | undefined
    for (let segment: LogSegment | undefined = this.#oldest; segment !== undefined; segment = segment.next)
      heard = segment.end ?? heard
    return heard
  }

  /** The first reader of a segment has read a delete of this version, if any. */
  recordDelete(version: Version | undefined): void {
    this.#deletedAt = version ?? this.#deletedAt
  }

  /** Another stream that continues after this version may begin between two deletes of one revision. */
  resumeAfter(after: Version): ResumeVersions {
    return { after, from: after === this.#deletedAt ? versionBefore(after) : after }
  }

  append(blocks: readonly LineBlock[], end?: Version, arrival: number = nextArrival()): void {
    const bytes = blocks.reduce((sum, block) => sum + block.bytes.length, 0)
    const segment: LogSegment = { blocks, at: this.last.at + bytes, arrival, end, next: undefined }
    this.last.next = segment
    this.last = segment
    while (this.last.at - this.#oldest.at > RETAINED_BYTES && this.#oldest.next?.end !== undefined)
      this.#oldest = this.#oldest.next
  }

  /** Unlinks the segments before `at`: one that the garbage collector has promoted would retain all later ones. */
  release(at: number): void {
    while (this.#first !== this.#oldest && this.#first.at < at && this.#first.next !== undefined) {
      const { next } = this.#first
      this.#first.next = undefined
      this.#first = next
    }
  }

  /** The segment to read after. Undefined if it is released, or if a later one arrived before `since`. */
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
