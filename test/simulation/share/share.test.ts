import { expect, test } from 'vitest'
import { shareCampaign } from './campaign.js'

/** `LISTWATCH_RUNS` multiplies the number of schedules, `LISTWATCH_SEED` is the first seed. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: first = '1' } = process.env
const RUNS = Math.ceil(1_000 * Number(factor))

test('[H16][H19][T2][T3][T4][T5][T10][T11][T12][T13][T15] followers of a share show only true states, in order, and leave nothing when workers end or block', async () => {
  const { schedules, actions, failures } = await shareCampaign({ runs: RUNS, seed: Number(first), minutes: Infinity })
  expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`).slice(0, 5)).toEqual([])
  expect(schedules).toBe(RUNS)
  const ends = ['kill', 'kill in the middle', 'block', 'block in the middle', 'leave', 'close port', 'close share']
  const kinds = [...ends, 'joins', 'mark', 'fresh', 'deny', 'restore', 'expire', 'outage', 'stall', 'stop informer']
  expect(kinds.filter((kind) => (actions[kind] ?? 0) < RUNS / 10)).toEqual([])
})

test('a schedule of a share always has the same trace', async () => {
  const runs = { runs: 20, seed: 1, minutes: Infinity }
  const { trace, steps, virtualMs } = await shareCampaign(runs)
  expect(await shareCampaign(runs)).toMatchObject({ trace, steps, virtualMs })
})
