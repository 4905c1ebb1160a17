import type { Entry } from '../contract/source.js'
import type { Added } from '../queue/change.js'
import type { Pin } from '../store/pin.js'
import type { StorePosition } from './delivery-progress.js'

/** How many objects of the initial replay make a batch. */
const REPLAY_BATCH = 256

/** The initial replay of a feed: the objects that the store held when the feed began, as adds. */
export class Replay<T> {
  /** The position of the store when the replay began. */
  readonly position: StorePosition
  /** When the replay began. */
  readonly since: number
  readonly #pin: Pin<T> | undefined
  readonly #entries: readonly Entry<T>[]
  #at = 0

  /** Replays the pinned store, or the entries of a scope. */
  constructor(objects: Pin<T> | readonly Entry<T>[], position: StorePosition, since: number) {
    this.position = position
    this.since = since
    this.#pin = 'entryAt' in objects ? objects : undefined
    this.#entries = 'entryAt' in objects ? [] : objects
  }

  /** The number of objects that are left. */
  get remaining(): number {
    return Math.max((this.#pin?.size ?? this.#entries.length) - this.#at, 0)
  }

  /** Takes the next batch. The last one closes the replay. */
  take(): { readonly changes: readonly Added<T>[]; readonly isLast: boolean } {
    const end = this.#pin?.ordinalLimit ?? this.#entries.length
    const changes: Added<T>[] = []
    while (this.#at < end && changes.length < REPLAY_BATCH) {
      const at = this.#at++
      const entry = this.#pin === undefined ? this.#entries[at] : this.#pin.entryAt(at)
      if (entry !== undefined) changes.push(added(entry))
    }
    const isLast = this.#at >= end
    if (isLast) this.close()
    return { changes, isLast }
  }

  /** Unpins the store. */
  close(): void {
    this.#pin?.close()
  }
}

function added<T>({ key, object }: Entry<T>): Added<T> {
  return { type: 'add', key, object, previous: undefined, version: undefined, origin: 'initial' }
}
