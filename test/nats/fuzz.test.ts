import { describe } from 'vitest'
import { describeServer } from '../servers/index.js'
import { checksOf, testCampaigns } from '../support/fuzz.js'
import { campaign, clusterCampaign } from './campaign.js'

/** Three quarters are campaigns against one server; those against a cluster wait for elections. */
const CHECKS = checksOf('NATS', 16)
const EACH = Math.ceil((CHECKS * 3) / 4 / 2)

describe.concurrent('faults of every kind, and overlapping', () => {
  describeServer('nats 2.15', 'leave a mirror that is what the bucket has', (server) => {
    const alone = (of: { seed: number; checks: number }) => campaign({ server, ...of })
    const ofThree = (of: { seed: number; checks: number }) => clusterCampaign({ server, ...of })
    testCampaigns('NATS', 120_000 + CHECKS * 30_000, [
      { title: 'with one server', checks: EACH, run: alone },
      { title: 'with three servers', checks: Math.ceil(CHECKS / 4), run: ofThree },
      { title: 'with one server again', checks: EACH, run: alone },
    ])
  })
})
