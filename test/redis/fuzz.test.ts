import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { drawn } from '../support/draw.js'
import { campaign } from './campaign.js'

const CHECKS = Number(process.env['LISTWATCH_REDIS_CHECKS'] ?? 60)
const SEED = Number(process.env['LISTWATCH_REDIS_SEED'] ?? randomInt(1_000_000))
/** Two campaigns against each of two servers. */
const EACH = Math.ceil(CHECKS / 4)
const TIMEOUT_MS = 120_000 + EACH * 20_000

describe.concurrent('faults of every kind, and overlapping', () => {
  describeRedis('leave mirrors that are what the server has', (server) => {
    test.concurrent.each(drawn([0, 1]))(
      'campaign %i',
      async (number) => {
        const seed = SEED + number
        process.stdout.write(`redis fuzz: ${server.name}, LISTWATCH_REDIS_SEED=${seed}, ${EACH} checks\n`)
        const { checks, divergences, writes, relists, missing } = await campaign({ server, seed, checks: EACH })
        process.stdout.write(`redis fuzz: ${server.name}, seed ${seed}: ${writes} writes, ${relists} relists\n`)
        expect(divergences, `seed ${seed}`).toEqual([])
        expect(checks).toBeGreaterThanOrEqual(EACH)
        expect(writes).toBeGreaterThan(EACH)
        expect(missing).toEqual([])
      },
      TIMEOUT_MS,
    )
  })
})
