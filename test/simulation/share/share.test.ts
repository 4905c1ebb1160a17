import { test } from 'vitest'
import { drawn } from '../../support/draw.js'
import { expectCampaign } from '../runner/campaign-expectations.js'

const OFTEN = [
  ...['kill', 'kill in the middle', 'block', 'block in the middle', 'leave', 'close port', 'close share', 'joins'],
  ...['mark', 'fresh', 'deny', 'restore', 'expire', 'outage', 'stall', 'stop informer'],
]

const EACH = 334

test.each(drawn([1, 2, 3]))(
  '[H16][H19][T2][T3][T4][T5][T10][T11][T12][T13][T15] followers of a share show only true states, in order, and leave nothing when workers end or block: part %i',
  (part) => expectCampaign('share', EACH, OFTEN, (part - 1) * EACH),
)
