import { expect, test } from 'vitest'
import { expectCampaign } from '../runner/campaign-expectations.js'
import { runOne } from '../runner/interleaved-runner.js'

const OFTEN = ['kill', 'restart', 'fork', 'flush', 'upstream', 'late request', 'lost reply', 'away', 'mark', 'drain']

test('[Y1] followers of relays that crash, compete and lose writes show only true states, in order', () =>
  expectCampaign('relay', 500, OFTEN))

test('[Y12] a follower that waits for the rest of a batch converges soon after the last fault', async () => {
  // Without that wait, 31, 24 and 21 seconds.
  for (const seed of [89, 217, 235]) {
    const { violation, healMs } = await runOne(seed, { kind: 'relay' })
    expect([violation, Math.min(healMs, 6_000)]).toEqual([undefined, healMs])
  }
})
