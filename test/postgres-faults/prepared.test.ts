import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SeededRandom } from '../../testing/seeded-random.js'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Stage } from './stage.js'

const CHECKS = Number(process.env['LISTWATCH_POSTGRES_CHECKS'] ?? 2)
const SEED = Number(process.env['LISTWATCH_POSTGRES_SEED'] ?? Date.now() % 100_000)

describePostgres('transactions that were prepared before a crash', ({ binDir, env }) => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ binDir, env, settings: { fsync: 'off', max_prepared_transactions: '50' } })
  })
  afterAll(() => server.stop('immediate'))

  test('[P1] are shown when they are committed after the relist', () =>
    Stage.live({ server }, async (stage) => {
      const writes = `UPDATE items SET n = 42 WHERE id = 1; INSERT INTO items VALUES (-1, 1, 'new')`
      await stage.query(`BEGIN; ${writes}; PREPARE TRANSACTION '${stage.database}'`)
      await server.restart('immediate')
      await waitUntil('the relist', () => stage.relists === 1 && stage.state === 'live')
      expect([stage.informer.get('1')?.n, stage.informer.has('-1')]).toEqual([0, false])
      await stage.query(`COMMIT PREPARED '${stage.database}'`)
      await stage.healed()
      expect([stage.informer.get('1')?.n, stage.informer.has('-1'), stage.relists]).toEqual([42, true, 2])
      expect(stage.errors.at(-1)).toMatchObject({ code: 'VERSION_EXPIRED' })
    }))

  test('[P1] are shown by a mirror that was away while they were committed', () =>
    Stage.live({ server }, async (stage) => {
      await stage.query(`BEGIN; UPDATE items SET n = 42 WHERE id = 1; PREPARE TRANSACTION '${stage.database}'`)
      await server.restart('immediate')
      await waitUntil('the relist', () => stage.relists === 1 && stage.state === 'live')
      stage.proxy.hold()
      await stage.query(`COMMIT PREPARED '${stage.database}'`)
      stage.proxy.pass()
      await stage.healed()
      expect(stage.informer.get('1')?.n).toBe(42)
    }))

  test('cost nothing when they were prepared after the last crash', () =>
    Stage.live({ server }, async (stage) => {
      await stage.query(`BEGIN; UPDATE items SET n = 42 WHERE id = 1; PREPARE TRANSACTION '${stage.database}'`)
      await stage.query('UPDATE items SET n = 1 WHERE id = 2')
      await stage.query(`COMMIT PREPARED '${stage.database}'`)
      await stage.healedAfter(0)
    }))

  test(
    `leave the mirror equal to the table, whenever they end (seed ${SEED})`,
    { timeout: 60_000 + CHECKS * 60_000 },
    () =>
      Stage.live({ server }, async (stage) => {
        const random = new SeededRandom(SEED)
        const open = new Set<string>()
        for (let check = 0; check < CHECKS; check++) {
          await stage.ask((client) => prepareSome(client, random, `${stage.database} ${check}`, open))
          await stage.ask((client) => endSome(client, random, open, 0.2))
          await server.restart('immediate')
          if (random.chance(0.6)) await waitUntil('the watch', () => stage.state === 'live')
          await stage.ask((client) => endSome(client, random, open, 0.5))
          if (random.chance(0.5)) await waitUntil('the watch', () => stage.state === 'live')
          await stage.ask((client) => endSome(client, random, open, 0.5))
          await stage.healed()
          // A watch that was live for a second resets the delay of reconnects. Else the checks would only wait.
          if (random.chance(0.9)) await sleep(1_100)
        }
        await stage.ask((client) => endSome(client, random, open, 1))
        await stage.healed()
      }),
  )
})

/** Prepares transactions that write rows of their own, and commits others. */
async function prepareSome(client: Client, random: SeededRandom, prefix: string, open: Set<string>): Promise<void> {
  for (let n = 1 + random.below(4); n > 0; n--) {
    const id = 1_000 + random.below(100_000)
    const name = `${prefix} ${n}`
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO items VALUES (${id}, ${n}, '${name}') ON CONFLICT (id) DO UPDATE SET n = items.n + 1`,
    )
    if (random.chance(0.5)) await client.query(`SAVEPOINT a; DELETE FROM items WHERE id = ${id - 1}; RELEASE a`)
    await client.query(`PREPARE TRANSACTION '${name}'`)
    open.add(name)
    await client.query(`UPDATE items SET n = n + 1 WHERE id = ${1 + random.below(200)}`)
  }
}

/** Commits or rolls back some of the prepared transactions. */
async function endSome(client: Client, random: SeededRandom, open: Set<string>, chance: number): Promise<void> {
  for (const name of [...open]) {
    if (!random.chance(chance)) continue
    await client.query(`${random.chance(0.8) ? 'COMMIT' : 'ROLLBACK'} PREPARED '${name}'`)
    open.delete(name)
  }
}
