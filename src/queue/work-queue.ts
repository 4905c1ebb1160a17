import type { Clock } from '../contract/clock.js'
import { DelayQueue } from './delay-queue.js'
import { type ReadyKey, ReadyKeys } from './ready-keys.js'

/** The records of keys. A record is kept at least while its key is ready. */
export interface KeyRecords {
  get(key: string): ReadyKey | undefined
  /** Returns the record of a key. It is created if there is none. */
  of(key: string): ReadyKey
}

/** A key is in it at most once. One that is added while it is being processed is ready again when it is done. */
export class WorkQueue {
  readonly #clock: Clock
  readonly #records: KeyRecords
  readonly #wake: () => void
  readonly #elapsed: (key: string) => void
  readonly #ready: ReadyKeys
  /** The keys that are being processed, and whether each was added again meanwhile. */
  readonly #running = new Map<string, boolean>()
  /** The times of `addAt`. They hold even if the key is added before. */
  readonly #unconditional: DelayQueue
  /** The times of `addBy`. Adding the key before cancels its time. */
  readonly #cancellable: DelayQueue
  /** Whether delays are ignored, because of `drain` or `close`. */
  isDraining = false
  #isClosed = false

  /**
   * `wake` is called when a key has become ready. `elapsed` is called when a time of `addAt` has come, before the key is
   * added. With `priorityOf` the ready key with the highest number is dequeued first.
   */
  constructor(
    clock: Clock,
    records: KeyRecords,
    wake: () => void,
    elapsed: (key: string) => void = () => {},
    priorityOf?: (key: string) => number,
  ) {
    this.#ready = new ReadyKeys(priorityOf)
    this.#clock = clock
    this.#records = records
    this.#wake = wake
    this.#elapsed = elapsed
    this.#unconditional = new DelayQueue(clock, (key) => this.#add(key))
    this.#cancellable = new DelayQueue(clock, (key) => this.add(key))
  }

  get active(): number {
    return this.#ready.size + this.#running.size
  }

  get ready(): number {
    return this.#ready.size
  }

  get running(): number {
    return this.#running.size
  }

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** With `isLast`, and without priorities, all keys that were added without it are dequeued before. */
  add(key: string, isLast = false): void {
    if (this.#isClosed) return
    this.#cancellable.delete(key)
    if (this.#running.has(key)) {
      this.#running.set(key, true)
      return
    }
    const isNew = this.#ready.add(this.#records.of(key), isLast)
    // `priorityOf` may have closed the queue.
    if (this.#isClosed) this.#ready.clear()
    else if (isNew) this.#wake()
  }

  /** Adds the key at `due`, even if it is added before. Of several such times the earliest counts. */
  addAt(key: string, due: number): void {
    if (due <= this.#clock.now()) this.#add(key)
    else if (!this.isDraining) this.#unconditional.schedule(key, due)
  }

  #add(key: string): void {
    this.#elapsed(key)
    this.add(key)
  }

  /** Adds the key at `due`, unless it is added before. Of several such times the earliest counts. */
  addBy(key: string, due: number): void {
    if (due <= this.#clock.now()) this.add(key)
    else if (!this.isDraining && this.#records.get(key)?.list === undefined) this.#cancellable.schedule(key, due)
  }

  /** Returns the next ready key. It counts as being processed until `done`. */
  dequeue(): string | undefined {
    const key = this.#ready.take()
    if (key !== undefined) this.#running.set(key, false)
    return key
  }

  /** Returns whether the key was added meanwhile. Then it becomes ready, unless `again` is false. */
  done(key: string, again = true): boolean {
    const wasAdded = this.#running.get(key) === true
    this.#running.delete(key)
    if (wasAdded && again) this.add(key)
    return wasAdded
  }

  /** Drops all delays, and ignores later ones. Keys without a delay are still accepted. */
  drain(): void {
    this.isDraining = true
    this.#unconditional.clear()
    this.#cancellable.clear()
  }

  /** Also ignores later keys. Those that are being processed count until they are done. */
  close(): void {
    this.#isClosed = true
    this.drain()
    this.#ready.clear()
  }
}
