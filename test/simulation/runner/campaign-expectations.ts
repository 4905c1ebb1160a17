import { expect } from 'vitest'
import { type CampaignOptions, campaign } from './campaign.js'
import { marksBelowThreshold, unreached } from './coverage-thresholds.js'
import { commandOf } from './report.js'
import type { RunStats } from './run-stats.js'
import type { Kind } from './schedule.js'

/** `LISTWATCH_RUNS` multiplies the number of schedules, `LISTWATCH_SEED` is the first seed. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: first = '1' } = process.env

/** Returns the number of schedules of a test, and their first seed. */
export function scheduleCount(runs: number): Pick<CampaignOptions, 'runs' | 'seed'> {
  return { runs: Math.ceil(runs * Number(factor)), seed: Number(first) }
}

/** No schedule of a kind has failed, there were enough of them, and they have reached each state that this number has to reach. */
export function expectWhole(kind: Kind, stats: RunStats, schedules: number): void {
  const failed = stats.failures.map((failure) => `${failure.invariant}: ${failure.message} (${commandOf(failure)})`)
  expect(failed.slice(0, 5)).toEqual([])
  expect(stats.schedules, `schedules of ${kind}`).toBeGreaterThanOrEqual(schedules)
  expect(unreached(stats, kind).never, `interesting states that were never reached by ${kind}`).toEqual([])
  expect(
    marksBelowThreshold(stats, kind),
    `states that are rarer than coverage-thresholds.ts expects, of ${kind}`,
  ).toEqual([])
}

/**
 * Schedules of a kind keep all rules, and each of these actions and faults happens in many of them. `after`: the number of
 * schedules of other tests, whose seeds come before.
 */
export async function expectCampaign(kind: Kind, count: number, often: readonly string[], after = 0): Promise<void> {
  const { runs, seed } = scheduleCount(count)
  const { [kind]: stats } = await campaign({ kind, runs, seed: seed + after })
  expectWhole(kind, stats, runs)
  const { actions, faults } = stats
  expect(often.filter((each) => (actions[each] ?? faults.contract[each] ?? 0) < runs / 10)).toEqual([])
}
