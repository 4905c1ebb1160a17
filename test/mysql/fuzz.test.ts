import { describe } from 'vitest'
import { describeMysql } from '../servers/index.js'
import { checksOf, testCampaigns } from '../support/fuzz.js'
import { campaign } from './campaign.js'

const CHECKS = checksOf('MYSQL', 6)

describe.concurrent('faults of every kind, and overlapping', () => {
  describeMysql('leave a mirror that is what the table has, of', (server) => {
    const run = ({ seed, checks }: { seed: number; checks: number }) => campaign(server, seed, checks)
    testCampaigns('MYSQL', 120_000 + CHECKS * 60_000, [{ title: server.name, checks: CHECKS, run }])
  })
})
