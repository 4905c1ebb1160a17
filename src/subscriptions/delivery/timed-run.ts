import type { Clock } from '../../contract/clock.js'
import { ABORTED, SourceError } from '../../contract/errors.js'

/** One call of a user's function with a time limit. Its signal aborts with `outer`, and when the time is over. */
export class TimedRun {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #outer: AbortSignal
  readonly #controller = new AbortController()
  /** Invariant: aborted once the run has settled or `outer` has aborted. Then only a grace period limits the run. */
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

  /** Rejects with `TIMEOUT` when the time is over. Once `outer` has aborted there is no limit. */
  outcome<V>(result: V | PromiseLike<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      const late = (): void => {
        const error = new SourceError(`not settled within ${this.#timeoutMs} ms`, { code: 'TIMEOUT', phase: 'handle' })
        this.#controller.abort(error)
        this.dispose()
        reject(error)
      }
      this.#clock.sleep(this.#timeoutMs, this.#timer.signal).then(late, () => {}) // Aborted by `dispose`.
      Promise.resolve(result).then(resolve, reject)
    }).finally(() => this.dispose())
  }

  dispose(): void {
    this.#outer.removeEventListener('abort', this.#abort)
    this.#timer.abort(ABORTED)
  }

  readonly #abort = (): void => {
    this.#controller.abort(this.#outer.reason)
    this.#timer.abort(ABORTED)
  }
}
