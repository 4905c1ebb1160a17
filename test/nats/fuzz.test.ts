import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { drawn } from '../support/draw.js'
import { campaign, clusterCampaign } from './campaign.js'

const CHECKS = Number(process.env['LISTWATCH_NATS_CHECKS'] ?? 16)
const SEED = Number(process.env['LISTWATCH_NATS_SEED'] ?? randomInt(1_000_000))
/** Three quarters are campaigns against one server; those against a cluster wait for elections. */
const EACH = Math.ceil((CHECKS * 3) / 4 / 2)
const OF_CLUSTER = Math.ceil(CHECKS / 4)
const CAMPAIGNS = [
  ['one server', 0, campaign, EACH],
  ['three servers', 2, clusterCampaign, OF_CLUSTER],
  ['one server again', 1, campaign, EACH],
] as const
const TIMEOUT_MS = 120_000 + CHECKS * 30_000

describe.concurrent('faults of every kind, and overlapping', () => {
  describeServer('nats 2.15', 'leave a mirror that is what the bucket has', (server) => {
    test.concurrent.each(drawn(CAMPAIGNS))(
      'with %s',
      async (title, number, run, checks) => {
        const seed = SEED + number
        process.stdout.write(`nats fuzz: ${title}, LISTWATCH_NATS_SEED=${SEED}, ${checks} checks\n`)
        const { divergences, writes, relists, missing } = await run({ server, seed, checks })
        process.stdout.write(`nats fuzz: ${title}, seed ${seed}: ${writes} writes, ${relists} relists\n`)
        expect(divergences, `seed ${seed}`).toEqual([])
        expect(writes).toBeGreaterThan(checks)
        expect(missing).toEqual([])
      },
      TIMEOUT_MS,
    )
  })
})
