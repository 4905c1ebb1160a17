import type { Clock } from '../contract/clock.js'
import { Delays } from './delay-queue.js'

/**
 * Keys that wait to be worked on: each at most once, none while it is being worked on, some not before a given time.
 * A key that is added while it is being worked on waits again as soon as that is done.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #wake: (key: string) => void
  readonly #ready = new Set<string>()
  /** Keys that are being worked on, and whether they were added meanwhile. */
  readonly #running = new Map<string, boolean>()
  /** When keys are added, whatever happens meanwhile. */
  readonly #later: Delays
  /** When keys are added that are not added before. */
  readonly #latest: Delays
  #isSealed = false
  #isClosed = false

  /** `wake` is called when a key becomes ready. */
  constructor(clock: Clock, wake: (key: string) => void) {
    this.#clock = clock
    this.#wake = wake
    this.#later = new Delays(clock, (key) => this.add(key))
    this.#latest = new Delays(clock, (key) => this.add(key))
  }

  /** How many keys are ready or being worked on. */
  get active(): number {
    return this.#ready.size + this.#running.size
  }

  /** How many times are waited for: of one key two at most. */
  get delayed(): number {
    return this.#later.size + this.#latest.size
  }

  /** How many times are kept, with those that are out of date. */
  get held(): number {
    return this.#later.held + this.#latest.held
  }

  get running(): number {
    return this.#running.size
  }

  /** Whether no time is waited for any more. */
  get isSealed(): boolean {
    return this.#isSealed
  }

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** Ready now, or as soon as the key is no longer being worked on. */
  add(key: string): void {
    if (this.#isClosed) return
    this.#latest.delete(key)
    if (this.#running.has(key)) {
      this.#running.set(key, true)
      return
    }
    if (this.#ready.has(key)) return
    this.#ready.add(key)
    this.#wake(key)
  }

  /** Added at `due`, though it is added before as well; of several such times the earliest counts. */
  addAt(key: string, due: number): void {
    if (due <= this.#clock.now()) this.add(key)
    else if (!this.#isSealed) this.#later.set(key, due)
  }

  /** Added at `due` unless it is before; of several such times the earliest counts. */
  addBy(key: string, due: number): void {
    if (due <= this.#clock.now()) this.add(key)
    else if (!this.#isSealed && !this.#ready.has(key)) this.#latest.set(key, due)
  }

  /** The key that has been ready for longest; it counts as being worked on until `done`. */
  take(): string | undefined {
    for (const key of this.#ready) {
      this.#ready.delete(key)
      this.#running.set(key, false)
      return key
    }
    return undefined
  }

  /**
   * The key is no longer worked on; unless `again` is false it is ready where it was added meanwhile. Gives whether it
   * was.
   */
  done(key: string, again = true): boolean {
    const wasAdded = this.#running.get(key) === true
    this.#running.delete(key)
    if (wasAdded && again) this.add(key)
    return wasAdded
  }

  /** No time is waited for any more: neither what has one, nor what is given one from now on. */
  seal(): void {
    this.#isSealed = true
    this.#later.clear()
    this.#latest.clear()
  }

  /** Nothing is ready any more. What is being worked on counts until it is done. */
  close(): void {
    this.#isClosed = true
    this.seal()
    this.#ready.clear()
  }
}
