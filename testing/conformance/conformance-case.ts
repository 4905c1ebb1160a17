import type { ConformanceCapability, ListerWatcherHarness } from './harness.js'

/**
 * The outcome of a case that did not fail. `reason`: why the case does not apply.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { conformanceCases } from 'listwatch/testing'
 *
 * for (const { name, run } of conformanceCases) {
 *   test(name, async ({ skip }) => {
 *     const outcome = await run(harness)
 *     if (outcome.type === 'skipped') skip(outcome.reason)
 *   })
 * }
 * ```
 */
export type ConformanceOutcome = { readonly type: 'passed' } | { readonly type: 'skipped'; readonly reason: string }

/**
 * One promise of the source contract, with its check.
 *
 * @example
 * ```ts
 * import { conformanceCases } from 'listwatch/testing'
 *
 * const ofLists = conformanceCases.filter(({ theme }) => theme === 'lists')
 * for (const { name, needs, run } of ofLists) console.log(name, needs, (await run(harness)).type)
 * ```
 */
export interface ConformanceCase {
  /** The group of the case, such as `lists`. */
  readonly theme: string
  /** The promise as a sentence. No two cases have the same. */
  readonly name: string
  /** The case is skipped if the harness does not support one of these. */
  readonly needs: readonly ConformanceCapability[]
  /** Checks a source. Rejects with a description if the source violates the contract. */
  run(harness: ListerWatcherHarness<unknown>): Promise<ConformanceOutcome>
}
