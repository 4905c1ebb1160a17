import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { campaign } from './campaign.js'
import { forgetfulSource } from './forgetful-source.js'

/** How many checks in all: 60, or as many as are asked for. */
const CHECKS = Number(process.env['LISTWATCH_KUBERNETES_CHECKS'] ?? 60)
/** Of the first campaign; the other counts on. */
const SEED = Number(process.env['LISTWATCH_KUBERNETES_SEED'] ?? randomInt(1_000_000))
const CAMPAIGNS = [0, 1]
const EACH = Math.ceil(CHECKS / CAMPAIGNS.length)

describe.concurrent('faults of every kind, and overlapping,', () => {
  describeKubernetes('leave a mirror that is what the server has', (server) => {
    test.concurrent.each(CAMPAIGNS)(
      'campaign %i',
      async (number) => {
        const seed = SEED + number
        process.stdout.write(`kubernetes fuzz: LISTWATCH_KUBERNETES_SEED=${seed}, ${EACH} checks\n`)
        const { divergences, writes } = await campaign({ server, seed, checks: EACH })
        expect(divergences, `seed ${seed}`).toEqual([])
        expect(writes).toBeGreaterThan(EACH)
      },
      240_000 + EACH * 30_000,
    )
  })

  describeKubernetes('leave a mirror wrong that resumes from now, which shows that they are noticed', (server) => {
    test.concurrent('within 20 checks', async () => {
      const { divergences } = await campaign({
        server,
        seed: SEED,
        checks: 20,
        restores: false,
        healingMs: 30_000,
        instead: forgetfulSource,
      })
      expect(divergences).toEqual([expect.stringContaining(' differ')])
    }, 600_000)
  })
})
