import { randomInt } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeEtcd, describeServer } from '../servers/index.js'
import { drawn } from '../support/draw.js'
import { campaign } from './campaign.js'
import { watcherSource } from './watcher-source.js'

const CHECKS = Number(process.env['LISTWATCH_ETCD_CHECKS'] ?? 60)
const SEED = Number(process.env['LISTWATCH_ETCD_SEED'] ?? randomInt(1_000_000))
/** Two campaigns against each of two servers. */
const EACH = Math.ceil(CHECKS / 4)
const TIMEOUT_MS = 60_000 + EACH * 20_000

describe.concurrent('faults of every kind, and overlapping', () => {
  describeEtcd('[I1] leave a mirror that is what the server has', (server) => {
    test.concurrent.each(drawn([0, 1]))(
      'campaign %i',
      async (number) => {
        const seed = SEED + number
        process.stdout.write(`etcd fuzz: ${server.name}, LISTWATCH_ETCD_SEED=${seed}, ${EACH} checks\n`)
        const { divergences, writes, missing } = await campaign({ server, seed, checks: EACH })
        expect(divergences, `seed ${seed}`).toEqual([])
        expect(writes).toBeGreaterThan(EACH)
        expect(missing).toEqual([])
      },
      TIMEOUT_MS,
    )
  })

  describeServer(
    'etcd 3.6',
    "leave a mirror over etcd3's own Watcher wrong, which shows that they are noticed",
    (server) => {
      test.concurrent(
        'within 30 checks',
        async () => {
          const { divergences } = await campaign({
            server,
            seed: SEED,
            checks: 30,
            restores: false,
            instead: watcherSource,
          })
          expect(divergences).toEqual([expect.stringContaining('keys differ')])
        },
        TIMEOUT_MS + 300_000,
      )
    },
  )
})
