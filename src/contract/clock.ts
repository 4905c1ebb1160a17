import { afterTurn, threadCpuMs } from './node-or-browser.js'

/**
 * The source of time. Every wait and delay uses it, so that tests can simulate time.
 *
 * @example
 * ```ts
 * import type { Clock } from 'listwatch/adapter'
 *
 * // In a test the clock is a `VirtualClock`, which needs no real time.
 * async function* ticks(clock: Clock, signal: AbortSignal): AsyncIterable<number> {
 *   for (; ; await clock.sleep(1_000, signal)) yield clock.now()
 * }
 * ```
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, monotonic: a change of the wall clock while running does not move it. */
  now(): number
  /**
   * Milliseconds since the Unix epoch by the wall clock. Times of other machines are compared with it. A replica also
   * compares it with `now`, which may stand still while the machine sleeps. Default: `now`.
   */
  wallNow?(): number
  /**
   * The CPU time that this thread has used, in milliseconds; undefined if the platform does not have it. Audits derive
   * their frequency from it. Default: undefined.
   */
  cpuMs?(): number | undefined
  /**
   * Resolves after `ms` milliseconds; if `ms` is 0 or less, after one turn of the event loop. Rejects with the signal's
   * reason as soon as `signal` aborts.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * The time by the wall clock. Times of other machines are compared with it: `now` differs from it after the machine has
 * slept, or after the system clock was set.
 */
export function wallNowOf(clock: Clock): number {
  return clock.wallNow?.() ?? clock.now()
}

/** The longest delay of a timer in Node. A longer sleep uses several timers. */
const LONGEST_TIMER_MS = 0x7fffffff

const { timeOrigin } = performance

/**
 * The real clock.
 *
 * @example
 * ```ts
 * import { systemClock } from 'listwatch/adapter'
 *
 * await systemClock.sleep(1_000, signal)
 * ```
 */
export const systemClock: Clock = {
  now: () => timeOrigin + performance.now(),
  wallNow: () => Date.now(),
  cpuMs: threadCpuMs,
  sleep: (ms, signal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      let timer: NodeJS.Timeout | undefined
      let cancelTurn: (() => void) | undefined
      let left = ms
      const wait = (): void => {
        const step = Math.min(left, LONGEST_TIMER_MS)
        left -= step
        timer = setTimeout(left > 0 ? wait : done, step)
      }
      const abort = (): void => {
        clearTimeout(timer)
        cancelTurn?.()
        reject(signal?.reason)
      }
      const done = (): void => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      signal?.addEventListener('abort', abort, { once: true })
      if (ms > 0) wait()
      else cancelTurn = afterTurn(done)
    }),
}
