import type { Version } from '../../../src/contract/version.js'
import { compareVersions } from '../history/resource-version.js'
import { moment } from '../http/arrival-order.js'

export interface Line {
  readonly bytes: Buffer
  /** False where it is too long, and only its beginning is here. */
  readonly isWhole: boolean
}

/** Some lines of a watch, and what comes after them. */
export interface Portion {
  readonly lines: readonly Line[]
  /** How many bytes have come up to its end. */
  readonly at: number
  /** None of its lines came before this moment. */
  readonly cameAt: number
  /** The version at its end, as its lines tell it; whoever reads it first finds out. */
  end: Version | undefined
  next: Portion | undefined
}

/** So much of what everybody has read is kept for who joins later, in bytes. */
const KEPT_BYTES = 1024 * 1024

/** What a watch has told, for readers that are each at a place of their own. What all have read is let go of. */
export class WatchLog {
  /** The first that still leads on; before `#oldest` where somebody is slow. */
  #first: Portion
  #oldest: Portion
  #last: Portion

  constructor(after: Version) {
    this.#first = this.#oldest = this.#last = { lines: [], at: 0, cameAt: 0, end: after, next: undefined }
  }

  get last(): Portion {
    return this.#last
  }

  /** How far it has come, as far as anybody has read it. */
  get heard(): Version | undefined {
    let heard: Version | undefined
    for (let portion: Portion | undefined = this.#oldest; portion !== undefined; portion = portion.next)
      heard = portion.end ?? heard
    return heard
  }

  append(lines: readonly Line[], end?: Version, cameAt: number = moment()): void {
    const bytes = lines.reduce((sum, line) => sum + line.bytes.length, 0)
    const portion: Portion = { lines, at: this.#last.at + bytes, cameAt, end, next: undefined }
    this.#last.next = portion
    this.#last = portion
    while (this.#last.at - this.#oldest.at > KEPT_BYTES && this.#oldest.next?.end !== undefined)
      this.#oldest = this.#oldest.next
  }

  /**
   * Nobody reads before this place any more. Cut off, since one that has grown old with the collector would keep all that came
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
   * After which portion to read on in order to miss nothing after `version`; undefined where that is not here any more, or where
   * something after it came before the moment `since`.
   */
  placeOf(version: Version, since = 0): Portion | undefined {
    let place = this.#oldest
    if (!isUpTo(place, version)) return undefined
    while (place.next !== undefined && isUpTo(place.next, version)) place = place.next
    for (let { next } = place; next !== undefined; { next } = next) if (next.cameAt < since) return undefined
    return place
  }
}

function isUpTo({ end }: Portion, version: Version): boolean {
  return end !== undefined && compareVersions(end, version) <= 0
}
