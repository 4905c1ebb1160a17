import { describe, expect, test } from 'vitest'
import { faults, kindOf } from './backend/fault-kinds.js'
import { campaign, SEEDS_PER_SCHEDULE } from './runner/campaign.js'
import { marksBelowThreshold } from './runner/coverage-thresholds.js'
import { runAll, runOne } from './runner/interleaved-runner.js'
import { regressionSeeds, rerunSeeds } from './runner/regression-seeds.js'
import { missing } from './runner/run-stats.js'
import { kinds } from './runner/schedule.js'

/** The number of schedules; `LISTWATCH_RUNS` multiplies it, `LISTWATCH_SEED` is the first seed. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: first = '1' } = process.env
const RUNS = Math.ceil(5_000 * Number(factor))

test('schedules that failed once never fail again', async () => {
  expect(regressionSeeds().length).toBeGreaterThan(0)
  expect(await rerunSeeds()).toEqual([])
})

// I1 to I17
test('[law 6][S7][S8][S17][M1][M2][M3][F9][F10][G4][G5] every invariant holds under random faults', async () => {
  const statsByKind = await campaign({ runs: RUNS, seed: Number(first) })
  const failed = kinds.flatMap((kind) => statsByKind[kind].failures)
  const delivered = failed.map(
    ({ kind, seed, invariant, message }) =>
      `${invariant}: ${message} (npm run sim -- --runs 1 --seed ${seed} --kind ${kind})`,
  )
  expect(delivered.slice(0, 5)).toEqual([])
  expect(statsByKind.one.schedules).toBe(RUNS)
  for (const kind of kinds) {
    expect(statsByKind[kind].schedules, `schedules of ${kind}`).toBeGreaterThanOrEqual(
      Math.floor(RUNS / SEEDS_PER_SCHEDULE[kind]),
    )
    expect(missing(statsByKind[kind], kind), `interesting states that were never reached by ${kind}`).toEqual([])
    expect(
      marksBelowThreshold(statsByKind[kind], kind),
      `states that are rarer than coverage-thresholds.ts expects, of ${kind}`,
    ).toEqual([])
  }
  expect(
    Object.entries(faults).filter(([kind, { of }]) => statsByKind.one.faults[of][kind] === undefined),
    'faults that never struck',
  ).toEqual([])
})

test('a campaign begins no schedule after its time is over', async () => {
  const statsByKind = await campaign({ runs: 2_000, seed: 1, until: performance.now() })
  expect(kinds.map((kind) => statsByKind[kind].schedules)).toEqual([0, 0, 0, 0])
})

describe.each(kinds)('[I17] a seed always has the same trace, of %s', (kind) => {
  async function traces(lanes: number): Promise<Map<number, number>> {
    const found = new Map<number, number>()
    const seeds = Array.from({ length: 60 }, (_, nth) => nth + 1)
    await runAll(seeds, ({ seed, trace }) => void found.set(seed, trace), { kind, lanes })
    return found
  }

  test('with any number of schedules at a time', async () => {
    const alone = await traces(1)
    expect(new Set(alone.values()).size).toBe(60)
    expect(await traces(16)).toEqual(alone)
  })

  test('with and without a listener for its events', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const lines: string[] = []
      const delivered = await runOne(seed, { kind, onEvent: ({ event, state }) => lines.push(`${event} ${state}`) })
      expect(lines.length).toBeGreaterThan(0)
      expect(await runOne(seed, { kind })).toEqual(delivered)
    }
  })

  test('a schedule is the same if all its decisions are listed', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const whole = await runOne(seed, { kind })
      expect(await runOne(seed, { kind, only: whole.taken })).toEqual(whole)
    }
  })

  test('an action that is removed is never performed', async () => {
    const { taken } = await runOne(3, { kind })
    const without = taken.filter((decision) => kindOf(decision) !== 'put')
    expect(without.length).toBeLessThan(taken.length)
    expect((await runOne(3, { kind, only: without })).taken.map(kindOf)).not.toContain('put')
  })
})
