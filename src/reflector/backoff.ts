import type { Random } from '../contract/random.js'

/** The distance between two attempts: what the next one waits at most, in milliseconds. A value, not an object with state. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  readonly currentMs: number
}

export function backoff(initialMs: number, maxMs: number): Backoff {
  return { initialMs, maxMs, currentMs: initialMs }
}

/** Twice the distance, up to the ceiling. */
export function grown(from: Backoff): Backoff {
  return { ...from, currentMs: Math.min(from.currentMs * 2, from.maxMs) }
}

/** Back to the initial distance. */
export function reset(from: Backoff): Backoff {
  return from.currentMs === from.initialMs ? from : { ...from, currentMs: from.initialMs }
}

/** A delay from [d/2, d), so that many clients do not come back in step. `chance` is in [0, 1). */
export function delayOf({ currentMs }: Backoff, chance: number): number {
  return currentMs * (0.5 + chance / 2)
}

/** The same, drawing its own chance. */
export function drawDelay(from: Backoff, random: Random): number {
  return delayOf(from, random.next())
}
