import { expect, test } from 'vitest'
import { expectCampaign } from '../runner/campaign-expectations.js'
import { runOne } from '../runner/interleaved-runner.js'

const OFTEN = ['kill', 'restart', 'fork', 'flush', 'upstream', 'late request', 'lost reply', 'away', 'mark', 'drain']

test('followers of relays that crash, compete and lose writes show only true states, in order', () =>
  expectCampaign('relay', 500, OFTEN))

test('a follower that waits for the rest of a batch converges soon after the last fault', async () => {
  expect((await runOne(6_000_116, { kind: 'relay' })).violation).toBeUndefined()
})
