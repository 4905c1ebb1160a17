import type { Clock } from '../src/contract/clock.js'

interface Sleeper {
  readonly due: number
  wake(): void
}

/**
 * A clock for tests whose time changes only by `advance`. Everything that a sleep triggers runs before the time changes again,
 * except real input and output.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock()
 * const informer = createInformer({ source, clock }).start()
 * await clock.advance(30_000)
 * ```
 */
export class VirtualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>()
  #now: number

  /** `start`: the first time, in milliseconds since the epoch. Default 2026-01-01. */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  /** The number of sleeps that have not ended. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  /** Returns the time in milliseconds since the epoch. */
  now(): number {
    return this.#now
  }

  /** Resolves when the time has advanced by `ms` milliseconds. Rejects with the signal's reason if it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const end = (): void => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', abort)
      }
      const abort = (): void => {
        end()
        reject(signal?.reason)
      }
      const sleeper: Sleeper = {
        due: this.#now + Math.max(0, ms),
        wake: () => {
          end()
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /**
   * Advances the time by `ms` milliseconds, and ends all sleeps that become due, in the order of their times.
   * @throws TypeError for a negative or infinite number of milliseconds.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && Number.isFinite(ms)))
      throw new TypeError(`advance: the milliseconds must be a number of at least 0, got ${ms}`)
    const end = this.#now + ms
    await settled()
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.due)
      next.wake()
      await settled()
    }
    this.#now = Math.max(this.#now, end) // Another call may have advanced it further.
  }

  #next(end: number): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      // Of sleepers that are due together, the one that began first is the first one of the set.
      if (sleeper.due <= end && (first === undefined || sleeper.due < first.due)) first = sleeper
    }
    return first
  }
}

/** Resolves after all pending microtasks: a turn of the event loop follows them. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
