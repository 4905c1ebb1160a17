import type { Clock } from '../src/contract/clock.js'

/** What sleeps until a moment. */
interface Sleeper {
  readonly due: number
  readonly order: number
  wake(): void
}

/**
 * Time that only moves when told to. What happens at a moment has all happened, with everything that follows from it
 * without real input or output, when `advance` goes on to the next moment.
 */
export class VirtualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>()
  #now: number
  #order = 0

  /** Begins at `start`, milliseconds since the epoch; default 2026-01-01. */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  now(): number {
    return this.#now
  }

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
        order: this.#order++,
        wake: () => {
          end()
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Moves on by `ms` milliseconds, waking whoever sleeps until a moment on the way, in order. */
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
    this.#now = end
  }

  #next(end: number): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      if (sleeper.due > end) continue
      if (first === undefined || sleeper.due < first.due || (sleeper.due === first.due && sleeper.order < first.order))
        first = sleeper
    }
    return first
  }
}

/** All that is ready to happen has happened: a turn of the event loop comes after every microtask. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
