import { test } from 'vitest'
import { expectCampaign } from '../runner/campaign-expectations.js'

const OFTEN = [
  ...['kill', 'kill in the middle', 'block', 'block in the middle', 'leave', 'close port', 'close share', 'joins'],
  ...['mark', 'fresh', 'deny', 'restore', 'expire', 'outage', 'stall', 'stop informer'],
]

test('followers of a share show only true states, in order, and leave nothing when workers end or block', () =>
  expectCampaign('share', 1_000, OFTEN))
