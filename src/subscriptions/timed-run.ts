import type { Clock } from '../contract/clock.js'
import { ABORTED, SourceError } from '../contract/errors.js'

/** One call of a user's function that may take so long: its signal aborts with `outer`, and when the time is over. */
export class TimedRun {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #outer: AbortSignal
  readonly #controller = new AbortController()
  /** Invariant: aborted once the run has settled, or `outer` aborts: nobody waits for it then for longer than a grace period. */
  readonly #timer = new AbortController()

  constructor(clock: Clock, timeoutMs: number, outer: AbortSignal) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#outer = outer
    if (outer.aborted) this.#abort()
    else outer.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The result; or a rejection when the time is over, whatever the function does after that. No limit once `outer` has aborted. */
  outcome<V>(result: V | PromiseLike<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      const late = (): void => {
        const error = new SourceError(`not settled within ${this.#timeoutMs} ms`, { code: 'TIMEOUT', phase: 'handle' })
        this.#controller.abort(error)
        this.end()
        reject(error)
      }
      this.#clock.sleep(this.#timeoutMs, this.#timer.signal).then(late, () => {}) // Ended by `end`.
      Promise.resolve(result).then(resolve, reject)
    }).finally(() => this.end())
  }

  /** Leaves no listener and no timer behind. */
  end(): void {
    this.#outer.removeEventListener('abort', this.#abort)
    this.#timer.abort(ABORTED)
  }

  readonly #abort = (): void => {
    this.#controller.abort(this.#outer.reason)
    this.#timer.abort(ABORTED)
  }
}
