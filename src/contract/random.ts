/**
 * The source of random numbers. All random delays use it, so that a seed reproduces a run.
 *
 * @example
 * ```ts
 * import type { Random } from 'listwatch/adapter'
 *
 * // Half to all of a delay. With a `SeededRandom` a test repeats the same delays.
 * function jittered(delayMs: number, random: Random): number {
 *   return delayMs * (0.5 + random.next() / 2)
 * }
 * ```
 */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number
}

/**
 * The random numbers of `Math.random`.
 *
 * @example
 * ```ts
 * import { systemRandom } from 'listwatch/adapter'
 *
 * const delayMs = 1_000 * systemRandom.next()
 * ```
 */
export const systemRandom: Random = { next: () => Math.random() }
