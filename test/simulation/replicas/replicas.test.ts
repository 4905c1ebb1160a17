import { test } from 'vitest'
import { expectCampaign } from '../runner/campaign-expectations.js'

test('[L1][L2][L3][L4][L6] of several replicas one runs a key, fences grow, and each key has an owner after faults', () =>
  expectCampaign('replicas', 5_000, ['join', 'leave', 'crash', 'stop', 'sleep', 'away', 'fork', 'step', 'cut']))
