import { expect, test } from 'vitest'
import { relayCampaign } from './campaign.js'
import { runRelays } from './relay-world.js'

/** `LISTWATCH_RUNS` multiplies the number of schedules, `LISTWATCH_SEED` is the first seed. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: first = '1' } = process.env
const RUNS = Math.ceil(500 * Number(factor))

test('[Y1] followers of relays that crash, compete and lose writes show only true states, in order', async () => {
  const { schedules, actions, failures } = await relayCampaign({ runs: RUNS, seed: Number(first), minutes: Infinity })
  expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`).slice(0, 5)).toEqual([])
  expect(schedules).toBe(RUNS)
  const kinds = ['kill', 'restart', 'fork', 'flush', 'upstream', 'late request', 'lost reply', 'away', 'mark', 'drain']
  expect(kinds.filter((kind) => (actions[kind] ?? 0) < RUNS / 10)).toEqual([])
})

test('[Y12] a follower that waits for the rest of a batch converges soon after the last fault', async () => {
  expect((await runRelays(6_000_116)).violation).toBeUndefined()
})

test('a schedule of relays always has the same trace', async () => {
  for (let seed = 1; seed <= 5; seed++) expect(await runRelays(seed)).toEqual(await runRelays(seed))
})
