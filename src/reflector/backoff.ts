import type { Random } from '../contract/random.js'

/** The delay between two attempts, in milliseconds: an immutable value. The next delay is at most `currentMs`. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  readonly currentMs: number
}

export function backoff(initialMs: number, maxMs: number): Backoff {
  return { initialMs, maxMs, currentMs: initialMs }
}

export function grown(from: Backoff): Backoff {
  return { ...from, currentMs: Math.min(from.currentMs * 2, from.maxMs) }
}

export function reset(from: Backoff): Backoff {
  return from.currentMs === from.initialMs ? from : { ...from, currentMs: from.initialMs }
}

/** Returns a delay in [d/2, d), so that many clients do not reconnect in step. `chance` is in [0, 1). */
export function delayOf({ currentMs }: Backoff, chance: number): number {
  return currentMs * (0.5 + chance / 2)
}

export function drawDelay(from: Backoff, random: Random): number {
  return delayOf(from, random.next())
}
