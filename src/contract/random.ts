/** The source of random numbers. All random delays use it, so that a seed reproduces a run. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number
}

/**
 * The random numbers of `Math.random`.
 *
 * @example
 * ```ts
 * import { systemRandom } from 'listwatch'
 *
 * const delayMs = 1_000 * systemRandom.next()
 * ```
 */
export const systemRandom: Random = { next: () => Math.random() }
