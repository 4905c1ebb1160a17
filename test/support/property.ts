import { randomInt } from 'node:crypto'
import fc from 'fast-check'

const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: given } = process.env
// A second try of a failed test has the same values, and fails again.
fc.configureGlobal({ seed: given === undefined ? randomInt(2 ** 31) : Number(given) })

/**
 * How a property is run. What fails prints its seed and its path; `LISTWATCH_SEED` runs that seed again, and
 * `LISTWATCH_RUNS` multiplies the number of runs.
 */
export function runs(numRuns: number): { numRuns: number } {
  return { numRuns: Math.ceil(numRuns * Number(factor)) }
}

/** Few keys, so that they meet again, the hostile ones among them. */
export const keyPool: readonly string[] = ['a', 'b', 'c', 'd', '__proto__', 'constructor', '', '\u0000', '\ud800']
export const keys: fc.Arbitrary<string> = fc.constantFrom(...keyPool)

/** Scalars of every kind, many of them equal, or equal in value and different in kind. */
export const scalars: fc.Arbitrary<string | number | bigint | boolean | Date> = fc.oneof(
  fc.boolean(),
  fc.constantFrom(Number.NaN, 0, -0, 1, 2, 0.5, Infinity, -Infinity, 2 ** 53, 2 ** 53 + 2),
  fc.double(),
  fc.constantFrom(0n, 1n, 2n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 70n)),
  fc.bigInt({ min: -3n, max: 3n }),
  fc.constantFrom(0, 1, Number.NaN, 8.64e15).map((ms) => new Date(ms)),
  fc.constantFrom('', '1', 'true', 'a', 'A', 'ab', '\u0000', '\ud800', '😀', '__proto__'),
  fc.string({ maxLength: 3 }),
)
