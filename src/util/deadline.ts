import type { Clock } from '../contract/clock.js'
import { ABORTED, SourceError } from '../contract/errors.js'
import { checkOptions, isPositive, isSignal, type OptionCheck } from './validate-options.js'

/** How long to wait at most. Without either: for ever. */
export interface Wait {
  /** Rejects with its reason when it aborts. */
  readonly signal?: AbortSignal | undefined
  /** Rejects with a SourceError with code `TIMEOUT` after this many milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** Both ends of a promise; only the first call counts. */
export interface Settle<V> {
  resolve(value: V): void
  reject(reason: unknown): void
}

export const waitChecks: Readonly<Record<string, OptionCheck>> = { signal: isSignal, timeoutMs: isPositive }

export function checkWait(call: string, wait: unknown): void {
  checkOptions(call, wait, waitChecks)
}

/**
 * A promise that also ends with the caller's signal or time-out. `register` gets both ends, and gives what takes them
 * back; it may settle at once. Nothing is left behind, whichever comes first. `whyNot` says how things are when time is up.
 */
export function withDeadline<V>(
  what: string,
  { signal, timeoutMs }: Wait,
  clock: Clock,
  register: (settle: Settle<V>) => () => void,
  whyNot?: () => string,
): Promise<V> {
  return new Promise<V>((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const timer = timeoutMs === undefined ? undefined : new AbortController()
    let unregister: (() => void) | undefined
    let isSettled = false
    const settled = (): boolean => {
      if (isSettled) return false
      isSettled = true
      unregister?.()
      signal?.removeEventListener('abort', abort)
      timer?.abort(ABORTED)
      return true
    }
    const settle: Settle<V> = {
      resolve: (value) => settled() && resolve(value),
      reject: (reason) => settled() && reject(reason),
    }
    const abort = (): void => settle.reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      unregister = register(settle)
    } catch (error) {
      settle.reject(error)
      return
    }
    if (isSettled) unregister()
    else if (timeoutMs !== undefined && timer !== undefined) {
      const late = (): void => {
        const why = whyNot === undefined ? '' : `; ${whyNot()}`
        settle.reject(new SourceError(`${what}: not within ${timeoutMs} ms${why}`, { code: 'TIMEOUT' }))
      }
      clock.sleep(timeoutMs, timer.signal).then(late, () => {})
    }
  })
}

/** Waits for something, no longer than `ms`; nothing is left of the wait. */
export async function settleWithin(ms: number, something: Promise<unknown>, clock: Clock): Promise<void> {
  const timer = new AbortController()
  await Promise.race([something, clock.sleep(ms, timer.signal).catch(() => {})])
  timer.abort(ABORTED)
}
