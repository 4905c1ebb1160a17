import type { Entry } from '../contract/source.js'
import type { Added } from '../queue/change.js'
import type { QueuedBatch, StorePosition } from '../queue/change-queue.js'
import type { Pin } from '../store/pin.js'
import type { ScopeScan } from './scope-scan.js'

const REPLAY_BATCH = 256

/** The initial replay of a feed: the objects that the store held when the feed began, as adds. */
export class Replay<T> {
  readonly #position: StorePosition
  readonly since: number
  readonly #pin: Pin<T> | undefined
  readonly #scan: ScopeScan<T> | undefined
  readonly #start: number = 0
  #at = 0

  constructor(objects: Pin<T> | ScopeScan<T>, position: StorePosition, since: number) {
    this.#position = position
    this.since = since
    if ('entryAt' in objects) {
      this.#pin = objects
      this.#start = objects.ordinalStart
      this.#at = this.#start
    } else this.#scan = objects
  }

  get isReady(): boolean {
    return this.#scan?.hasEnded ?? true
  }

  /** The number of objects that are left. Objects for which the scope is not decided count. */
  get remaining(): number {
    const size = this.#scan === undefined ? (this.#pin?.size ?? 0) : this.#scan.found.length + this.#scan.undecided
    return Math.max(size - (this.#at - this.#start), 0)
  }

  /** Decides about a key before its first change, if the objects are still searched. */
  decide(key: string): void {
    this.#scan?.decide(key)
  }

  /** The last batch closes the replay. It has the position of the store when the replay began. */
  take(): Pick<QueuedBatch<T>, 'changes' | 'source'> & { readonly position: StorePosition | undefined } {
    const found = this.#scan?.found ?? []
    const end = this.#pin?.ordinalLimit ?? found.length
    const changes: Added<T>[] = []
    while (this.#at < end && changes.length < REPLAY_BATCH) {
      const at = this.#at++
      const entry = this.#pin === undefined ? found[at] : this.#pin.entryAt(at)
      if (entry !== undefined) changes.push(added(entry))
    }
    const isLast = this.#at >= end
    if (isLast) this.close()
    return { changes, position: isLast ? this.#position : undefined, source: undefined }
  }

  close(): void {
    this.#pin?.close()
    this.#scan?.close()
  }
}

function added<T>({ key, object }: Entry<T>): Added<T> {
  return { type: 'add', key, object, previous: undefined, version: undefined, origin: 'initial' }
}
