import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeMysql } from '../servers/index.js'
import { campaign } from './campaign.js'

const CHECKS = Number(process.env['LISTWATCH_MYSQL_CHECKS'] ?? 6)
const SEED = Number(process.env['LISTWATCH_MYSQL_SEED'] ?? randomInt(1_000_000))
const TIMEOUT_MS = 120_000 + CHECKS * 30_000

describe.concurrent('faults of every kind, and overlapping', () => {
  describeMysql('leave a mirror that is what the table has, of', (server) => {
    test.concurrent(
      'one server',
      async () => {
        process.stdout.write(`mysql fuzz: ${server.name}, LISTWATCH_MYSQL_SEED=${SEED}\n`)
        const { divergences, ...counts } = await campaign(server, SEED, CHECKS)
        process.stdout.write(`mysql fuzz: ${server.name}: ${JSON.stringify(counts)}\n`)
        expect(divergences, `seed ${SEED}`).toEqual([])
        expect(counts.writes).toBeGreaterThan(CHECKS)
        expect(counts.missing).toEqual([])
      },
      TIMEOUT_MS,
    )
  })
})
