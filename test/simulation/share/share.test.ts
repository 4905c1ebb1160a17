import { test } from 'vitest'
import { expectCampaign } from '../runner/campaign-expectations.js'

const OFTEN = [
  ...['kill', 'kill in the middle', 'block', 'block in the middle', 'leave', 'close port', 'close share', 'joins'],
  ...['mark', 'fresh', 'deny', 'restore', 'expire', 'outage', 'stall', 'stop informer'],
]

test('[H16][H19][T2][T3][T4][T5][T10][T11][T12][T13][T15] followers of a share show only true states, in order, and leave nothing when workers end or block', () =>
  expectCampaign('share', 1_000, OFTEN))
