import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { drawn } from '../support/draw.js'
import { campaign } from './campaign.js'

const CHECKS = Number(process.env['LISTWATCH_KUBERNETES_CHECKS'] ?? 60)
const SEED = Number(process.env['LISTWATCH_KUBERNETES_SEED'] ?? randomInt(1_000_000))
const CAMPAIGNS = [0, 1]
const EACH = Math.ceil(CHECKS / CAMPAIGNS.length)

/** What a seed finds is not to be found again by chance. */
const ONCE = { retry: 0 }

describe.concurrent('faults of every kind, and overlapping,', () => {
  describeKubernetes('leave two mirrors that are what the server has', (server) => {
    test.concurrent.each(drawn(CAMPAIGNS))(
      'campaign %i',
      { ...ONCE, timeout: 240_000 + EACH * 30_000 },
      async (number) => {
        const seed = SEED + number
        process.stdout.write(`kubernetes fuzz: LISTWATCH_KUBERNETES_SEED=${seed}, ${EACH} checks\n`)
        const { divergences, writes, fulfilled, missing } = await campaign({ server, seed, checks: EACH })
        expect(divergences, `seed ${seed}`).toEqual([])
        expect(writes).toBeGreaterThan(EACH)
        expect(fulfilled).toBeGreaterThan(0)
        expect(missing).toEqual([])
      },
    )
  })
})
