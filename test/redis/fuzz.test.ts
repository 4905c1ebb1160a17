import { describe } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { checksOf, testCampaigns } from '../support/fuzz.js'
import { campaign } from './campaign.js'

/** Two campaigns against each of two servers. */
const EACH = Math.ceil(checksOf('REDIS', 60) / 4)

describe.concurrent('faults of every kind, and overlapping', () => {
  describeRedis('leave mirrors that are what the server has', (server) => {
    const run = (of: { seed: number; checks: number }) => campaign({ server, ...of })
    const campaigns = [0, 1].map((number) => ({ title: `campaign ${number} of ${server.name}`, checks: EACH, run }))
    testCampaigns('REDIS', 120_000 + EACH * 20_000, campaigns)
  })
})
