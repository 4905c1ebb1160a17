import { describe, expect } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { checksOf, testCampaigns } from '../support/fuzz.js'
import { campaign } from './campaign.js'

const EACH = Math.ceil(checksOf('KUBERNETES', 60) / 2)

describe.concurrent('faults of every kind, and overlapping,', () => {
  describeKubernetes('leave two mirrors that are what the server has', (server) => {
    const run = async (of: { seed: number; checks: number }) => {
      const outcome = await campaign({ server, ...of })
      if (outcome.divergences.length === 0) expect(outcome.fulfilled).toBeGreaterThan(0)
      return outcome
    }
    const campaigns = [0, 1].map((number) => ({ title: `campaign ${number}`, checks: EACH, run }))
    testCampaigns('KUBERNETES', 240_000 + EACH * 30_000, campaigns)
  })
})
