import type { Clock } from '../contract/clock.js'
import { ABORTED } from '../contract/errors.js'

/** A relist that takes longer continues, but its slot is released after this time, in milliseconds. */
export const SLOT_MS: number = 5 * 60_000

/** Acquires slots in the order in which the limiters were created: so no two relists wait for each other. */
export function acquireAll(
  limiters: readonly RelistLimiter[],
  signal: AbortSignal,
  clock: Clock,
): Promise<() => void> | undefined {
  const [first, second] = limiters
  // A single limiter decides in the step in which a slot becomes free.
  return second === undefined ? first?.acquire(signal, clock) : acquireEach(limiters, signal, clock)
}

async function acquireEach(limiters: readonly RelistLimiter[], signal: AbortSignal, clock: Clock): Promise<() => void> {
  const releases: (() => void)[] = []
  const release = (): void => {
    for (const each of releases) each()
  }
  try {
    for (const limiter of limiters) releases.push(await limiter.acquire(signal, clock))
  } catch (error) {
    release()
    throw error
  }
  return release
}

/** Relists wait for a slot in the order of their requests. */
export class RelistLimiter {
  readonly #max: number
  #running = 0
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#max = max
  }

  /** Resolves with a function that releases the slot. Rejects when `signal` aborts. */
  acquire(signal: AbortSignal, clock: Clock): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#waiting.delete(begin)
        signal.removeEventListener('abort', leave)
        this.#running++
        const turn = new AbortController()
        const end = (): void => {
          if (turn.signal.aborted) return
          turn.abort(ABORTED)
          this.#running--
          this.#waiting.values().next().value?.()
        }
        clock.sleep(SLOT_MS, turn.signal).then(end, () => {})
        resolve(end)
      }
      const leave = (): void => {
        this.#waiting.delete(begin)
        reject(signal.reason)
      }
      if (signal.aborted) leave()
      else if (this.#running < this.#max) begin()
      else {
        this.#waiting.add(begin)
        signal.addEventListener('abort', leave, { once: true })
      }
    })
  }
}
