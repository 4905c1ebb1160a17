import type { Clock } from '../contract/clock.js'
import { ABORTED, SourceError } from '../contract/errors.js'
import { onAbort } from './abort-listeners.js'
import { checkOptions, isPositive, isSignal, type OptionCheck } from './validate-options.js'

/**
 * Limits a wait. Without limits it continues until the informer is stopped.
 *
 * @example
 * ```ts
 * await orders.synced({ timeoutMs: 30_000 }) // Rejects with TIMEOUT; the informer continues.
 * const paid = await orders.until('42', (order) => order?.paid === true, { signal })
 * ```
 */
export interface Wait {
  /** When it aborts, the wait rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** After this many milliseconds the wait rejects with a SourceError with code `TIMEOUT`. */
  readonly timeoutMs?: number | undefined
}

/** Settles a promise. Only the first call counts. */
export interface Settle<V> {
  resolve(value: V): void
  reject(reason: unknown): void
}

export const waitChecks: Readonly<Record<string, OptionCheck>> = { signal: isSignal, timeoutMs: isPositive }

export function checkWait(call: string, wait: unknown): void {
  checkOptions(call, wait, waitChecks)
}

/**
 * Returns a promise that also rejects when the caller's signal aborts or the timeout elapses. `register` receives the
 * functions that settle it, and returns a function that unregisters them. `whyNot` returns the end of the timeout
 * message.
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
      unlink()
      timer?.abort(ABORTED)
      return true
    }
    const settle: Settle<V> = {
      resolve: (value) => settled() && resolve(value),
      reject: (reason) => settled() && reject(reason),
    }
    const unlink = onAbort(signal, () => settle.reject(signal?.reason))
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

/** Returns the promise of `call`, or a rejected one if `call` throws: a caller that handles rejections sees all errors. */
export function promised<V>(call: () => Promise<V>): Promise<V> {
  try {
    return call()
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Settles like `something`, or resolves after `ms` milliseconds. */
export async function settleWithin(ms: number, something: Promise<unknown>, clock: Clock): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([something, clock.sleep(ms, timer.signal).catch(() => {})])
  } finally {
    timer.abort(ABORTED)
  }
}
