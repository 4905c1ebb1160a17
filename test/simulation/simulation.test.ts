import { describe, expect, test } from 'vitest'
import { faults, kindOf } from './backend/fault-kinds.js'
import { campaign, mixedKinds } from './runner/campaign.js'
import { expectWhole, scheduleCount } from './runner/campaign-expectations.js'
import { runAll, runOne } from './runner/interleaved-runner.js'
import { kindTable } from './runner/kind-table.js'
import { regressionSeeds, rerunSeeds } from './runner/regression-seeds.js'
import { kinds } from './runner/schedule.js'

test('schedules that failed once never fail again', async () => {
  const kept = regressionSeeds().map(({ kind }) => kind)
  expect(kinds.filter((kind) => !kept.includes(kind))).toEqual([])
  expect(await rerunSeeds(kinds)).toEqual([])
})

// I1 to I17
test('[law 6][S7][S8][S17][M1][M2][M3][F9][F10][G4][G5][Q1][Q5][X1][X2][X6][X11][X21][X23] every invariant holds under random faults', async () => {
  const { runs, seed } = scheduleCount(5_000)
  const statsByKind = await campaign({ runs, seed })
  for (const kind of mixedKinds)
    expectWhole(kind, statsByKind[kind], Math.floor(runs / (kindTable[kind].every ?? Infinity)))
  expect(
    Object.entries(faults).filter(([kind, { of }]) => statsByKind.one.faults[of][kind] === undefined),
    'faults that never struck',
  ).toEqual([])
})

test('a campaign begins no schedule after its time is over', async () => {
  const statsByKind = await campaign({ runs: 2_000, seed: 1, until: performance.now() })
  expect(mixedKinds.map((kind) => statsByKind[kind].schedules)).toEqual([0, 0, 0, 0, 0])
})

describe.each(kinds)('[I17] a seed always has the same trace, of %s', (kind) => {
  const { runs = 50_000, lanes: most = 16 } = kindTable[kind]
  const few = runs / 2_500

  async function traces(lanes: number): Promise<Map<number, number>> {
    const found = new Map<number, number>()
    const seeds = Array.from({ length: 3 * few }, (_, nth) => nth + 1)
    await runAll(seeds, ({ seed, trace }) => void found.set(seed, trace), { kind, lanes })
    return found
  }

  test('with any number of schedules at a time', async () => {
    const alone = await traces(1)
    expect(new Set(alone.values()).size).toBe(3 * few)
    expect(await traces(most)).toEqual(alone)
  })

  test('with and without a listener for its events', async () => {
    for (let seed = 1; seed <= few; seed++) {
      const lines: string[] = []
      const delivered = await runOne(seed, { kind, onEvent: ({ event, state }) => lines.push(`${event} ${state}`) })
      expect(lines.length).toBeGreaterThan(0)
      expect(await runOne(seed, { kind })).toEqual(delivered)
    }
  })

  test('a schedule is the same if all its decisions are listed', async () => {
    for (let seed = 1; seed <= few; seed++) {
      const whole = await runOne(seed, { kind })
      expect(await runOne(seed, { kind, only: whole.taken })).toEqual(whole)
    }
  })

  test('an action that is removed is never performed', async () => {
    const { taken } = await runOne(3, { kind })
    const [first = ''] = taken
    const without = taken.filter((decision) => kindOf(decision) !== kindOf(first))
    expect(taken.length).toBeGreaterThan(0)
    expect((await runOne(3, { kind, only: without })).taken.map(kindOf)).not.toContain(kindOf(first))
  })
})
