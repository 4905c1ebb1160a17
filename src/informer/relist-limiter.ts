import type { Clock } from '../contract/clock.js'
import { ABORTED } from '../contract/errors.js'

/** Who takes longer goes on, and holds nobody up any more. */
export const SLOT_MS: number = 5 * 60_000

/** Lets so many relists go on at a time; the others wait, in the order in which they came, for a list of five minutes at most. */
export class RelistLimiter {
  readonly #max: number
  #running = 0
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#max = max
  }

  /** Resolves when one more may begin; what it gives is called when that is over. Rejects when `signal` aborts. */
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

/** How a group tells its members of its limit. */
export const limitRelists: unique symbol = Symbol.for('listwatch.limitRelists')

export interface Limitable {
  [limitRelists](limit: RelistLimiter): void
}

export function isLimitable(value: object): value is Limitable {
  return limitRelists in value
}
