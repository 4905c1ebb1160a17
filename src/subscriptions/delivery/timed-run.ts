import type { Clock } from '../../contract/clock.js'
import { ABORTED, SourceError } from '../../contract/errors.js'

interface TimedRun {
  /** Aborts with `outer`, and when the time is over. */
  readonly signal: AbortSignal
  /** Rejects with `TIMEOUT` when the time is over. Once `outer` has aborted there is no limit. */
  outcome<V>(result: V | PromiseLike<V>): Promise<V>
  dispose(): void
}

export function timedRun(clock: Clock, limitMs: number | undefined, outer: AbortSignal): TimedRun | undefined {
  if (limitMs === undefined) return undefined
  const controller = new AbortController()
  /** Invariant: aborted once the run has settled or `outer` has aborted. Then only a grace period limits the run. */
  const timer = new AbortController()
  const abort = (): void => {
    controller.abort(outer.reason)
    timer.abort(ABORTED)
  }
  const dispose = (): void => {
    outer.removeEventListener('abort', abort)
    timer.abort(ABORTED)
  }
  if (outer.aborted) abort()
  else outer.addEventListener('abort', abort, { once: true })
  const outcome = <V>(result: V | PromiseLike<V>): Promise<V> =>
    new Promise<V>((resolve, reject) => {
      const late = (): void => {
        const error = new SourceError(`not settled within ${limitMs} ms`, { code: 'TIMEOUT', phase: 'handle' })
        controller.abort(error)
        dispose()
        reject(error)
      }
      clock.sleep(limitMs, timer.signal).then(late, () => {}) // Aborted by `dispose`.
      Promise.resolve(result).then(resolve, reject)
    }).finally(dispose)
  return { signal: controller.signal, outcome, dispose }
}
