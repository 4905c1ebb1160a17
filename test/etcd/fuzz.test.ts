import { describe, expect, test } from 'vitest'
import { describeEtcd, describeServer } from '../servers/index.js'
import { checksOf, seedOf, testCampaigns } from '../support/fuzz.js'
import { campaign } from './campaign.js'
import { watcherSource } from './watcher-source.js'

/** Two campaigns against each of two servers. */
const EACH = Math.ceil(checksOf('ETCD', 60) / 4)
const TIMEOUT_MS = 60_000 + EACH * 20_000

describe.concurrent('faults of every kind, and overlapping', () => {
  describeEtcd('[I1] leave a mirror that is what the server has', (server) => {
    const run = (of: { seed: number; checks: number }) => campaign({ server, ...of })
    const campaigns = [0, 1].map((number) => ({ title: `campaign ${number} of ${server.name}`, checks: EACH, run }))
    testCampaigns('ETCD', TIMEOUT_MS, campaigns)
  })

  describeServer(
    'etcd 3.6',
    "leave a mirror over etcd3's own Watcher wrong, which shows that they are noticed",
    (server) => {
      test.concurrent('within 30 checks', { timeout: TIMEOUT_MS + 300_000 }, async () => {
        const options = { server, seed: seedOf('ETCD'), checks: 30, restores: false, instead: watcherSource }
        const { divergences } = await campaign(options)
        expect(divergences).toEqual([expect.stringContaining('keys differ')])
      })
    },
  )
})
