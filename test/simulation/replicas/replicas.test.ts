import { expect, test } from 'vitest'
import { replicaCampaign } from './campaign.js'
import { runReplicas } from './replica-world.js'

/** `LISTWATCH_RUNS` multiplies the number of schedules, `LISTWATCH_SEED` is the first seed. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: first = '1' } = process.env
const RUNS = Math.ceil(5_000 * Number(factor))

test('[L1][L2][L3][L4][L6] of several replicas one runs a key, fences grow, and each key has an owner after faults', async () => {
  const { schedules, actions, failures } = await replicaCampaign({ runs: RUNS, seed: Number(first), minutes: Infinity })
  expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`).slice(0, 5)).toEqual([])
  expect(schedules).toBe(RUNS)
  const kinds = ['join', 'leave', 'crash', 'stop', 'sleep', 'away', 'fork', 'step', 'cut', 'moves'] as const
  expect(kinds.filter((kind) => (actions[kind] ?? 0) < RUNS / 10)).toEqual([])
})

test('a schedule of replicas always has the same trace', () => {
  for (let seed = 1; seed <= 100; seed++) expect(runReplicas(seed)).toEqual(runReplicas(seed))
  expect(new Set(Array.from({ length: 100 }, (_, seed) => runReplicas(seed).trace)).size).toBe(100)
})
