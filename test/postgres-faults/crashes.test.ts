import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { NOTICE_MS, Stage, TIMEOUT_MS } from './stage.js'

describePostgres('a server that ends', ({ binDir, env }) => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ binDir, env, settings: { fsync: 'off', autovacuum: 'off' } })
  })
  afterAll(() => server.stop('immediate'))

  test('with a backend that is killed is listed again once', () =>
    Stage.live({ server }, async (stage) => {
      stage.load()
      process.kill(await backendOf(stage), 'SIGKILL')
      await waitUntil('the relist', () => stage.relists > 0)
      await stage.healedAfter(1)
      expect(stage.connects).toBeLessThanOrEqual(8)
      expect(stage.states).not.toContain('failed')
    }))

  test('by a stop that is immediate is listed again once', () =>
    Stage.live({ server }, async (stage) => {
      stage.load()
      await sleep(300)
      await server.restart('immediate')
      await waitUntil('the relist', () => stage.relists > 0)
      await stage.healedAfter(1)
      expect(stage.connects).toBeLessThanOrEqual(8)
    }))

  test('by a stop that is immediate in the middle of a list, is listed as if nothing had been', () =>
    Stage.with({ server, rows: 30_000, rowLength: 1_000 }, async (stage) => {
      stage.proxy.delay(50)
      stage.informer.start()
      await stage.copying()
      await server.restart('immediate')
      stage.proxy.delay(0)
      await stage.healed()
      expect([stage.relists, stage.reconnects]).toEqual([0, 0])
    }))

  test('by a stop that is immediate in the middle of a trim and of a delta, is listed again once', () =>
    Stage.live({ server, rows: 20_000 }, async (stage) => {
      await stage.query('SELECT listwatch.trim()')
      await stage.query('UPDATE items SET n = 1')
      const trim = stage.query(`SELECT listwatch.trim('0 s') FROM generate_series(1, 1000)`).catch(() => {})
      stage.proxy.delay(100)
      await stage.query('UPDATE items SET n = 2')
      await server.restart('immediate')
      await trim
      stage.proxy.delay(0)
      await waitUntil('the relist', () => stage.relists > 0)
      await stage.healed()
      expect(stage.relists).toBeLessThanOrEqual(2)
    }))

  // On this server no other session uses transaction ids, nor does autovacuum.
  describe('and a log that was trimmed while the network was down', () => {
    test('of what the mirror has seen is resumed from', () =>
      Stage.live({ server }, async (stage) => {
        await stage.query('UPDATE items SET n = 1')
        await stage.informer.fresh()
        stage.proxy.hold()
        await stage.query(`SELECT listwatch.trim('0 s')`)
        stage.proxy.pass()
        await stage.query('UPDATE items SET n = 2 WHERE id = 1')
        await stage.healed()
        expect([stage.relists, stage.errors.length]).toEqual([0, 0])
      }))

    test('of a transaction that was running when the mirror last looked, is read again', () =>
      Stage.live({ server }, async (stage) => {
        await stage.ask(async (client) => {
          await client.query('BEGIN; UPDATE items SET n = 1 WHERE id = 1')
          const { rows } = await client.query('SELECT pg_current_xact_id()::text AS id, pg_backend_pid() AS pid')
          await stage.query('UPDATE items SET n = 1 WHERE id = 2')
          const isSeen = (): boolean => stage.informer.version?.endsWith(`:${rows[0].id}`) === true
          await waitUntil('the mirror to see it running', isSeen)
          stage.proxy.hold()
          // A question that is on its way already may be answered after the commit, and would see it.
          const busy = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND backend_type = 'client backend' AND pid <> ${rows[0].pid}
            AND (state = 'active' OR state_change > clock_timestamp() - interval '100 ms')`
          await waitUntil('its last question to be answered', async () => (await stage.query(busy)).length === 0)
          await client.query('COMMIT')
        })
        await stage.query(`SELECT listwatch.trim('0 s')`)
        stage.proxy.pass()
        await stage.healed()
        expect([stage.relists, stage.errors.length]).toEqual([1, 1])
        expect(stage.errors[0]?.message).toContain('trimmed')
      }))
  })

  test('in order and is back at once, resumes without a list', () =>
    Stage.live({ server }, async (stage) => {
      stage.load()
      await sleep(300)
      const { reconnects } = stage
      await server.restart('fast')
      await waitUntil('the watch to resume', () => stage.reconnects > reconnects && stage.state === 'live')
      await stage.healedAfter(0)
      expect(stage.connects).toBeLessThanOrEqual(6)
    }))

  test('in order and is back after 3 s, resumes without a list', () =>
    Stage.live({ server }, async (stage) => {
      stage.load()
      await sleep(300)
      const { connects } = stage
      await server.halt('fast')
      await sleep(3_000)
      const tries = stage.connects - connects
      await server.restart()
      await stage.healedAfter(0)
      expect(tries).toBeGreaterThanOrEqual(1)
      expect(tries).toBeLessThanOrEqual(5)
    }))

  test('without closing connections a backend that no longer runs is noticed, and the watch resumes on another', () =>
    Stage.live({ server }, async (stage) => {
      const pid = await backendOf(stage)
      process.kill(pid, 'SIGSTOP')
      await stage.query('UPDATE items SET n = 1 WHERE id = 1')
      expect(await stage.noticed()).toBeLessThan(NOTICE_MS)
      await waitUntil('the watch to resume', () => stage.informer.get('1')?.n === 1, 2 * TIMEOUT_MS)
      process.kill(pid, 'SIGCONT')
      await stage.healed()
      expect([stage.relists, stage.reconnects]).toEqual([0, 1])
    }))
})

describePostgres('a server that forgets commits', ({ binDir, env }) => {
  const settings = { synchronous_commit: 'off', wal_buffers: '16MB', autovacuum: 'off' }

  test('and reuses their ids is noticed by the epoch', async () => {
    await using server = await startPostgres({ binDir, env, settings })
    await Stage.with({ server, source: { pollIntervalMs: 50 } }, async (stage) => {
      await stage.live()
      await stage.query('CHECKPOINT')
      // Those who would write commits to the disk do not get to it.
      const pids = await stage.query(
        `SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')`,
      )
      for (const row of pids) process.kill(Number(Object(row).pid), 'SIGSTOP')
      const lost = await stage.ask(async (client) => {
        await client.query(`INSERT INTO items VALUES (-1, 1, 'phantom')`)
        for (let n = 0; n < 5; n++) await client.query(`UPDATE items SET n = n + 1 WHERE id = 2`)
        return await transactionOf(client, `UPDATE items SET n = n + 1 WHERE id = 2`)
      })
      await waitUntil('the mirror to see the phantom', () => stage.informer.has('-1'))

      // The mirror is cut off until another reader has seeded a new epoch. Its own version looks like one of that epoch.
      stage.proxy.hold()
      await server.kill()
      await server.restart()
      await stage.query('SELECT listwatch.epoch()')
      const reused = await stage.ask((client) => transactionOf(client, `INSERT INTO items VALUES (-2, 1, 'missed')`))
      expect(reused, 'the id was used before').toBeLessThanOrEqual(lost)
      stage.proxy.pass()
      await waitUntil('the relist', () => stage.relists > 0)
      await stage.healed()
      expect([stage.informer.has('-1'), stage.informer.has('-2'), stage.relists]).toEqual([false, true, 1])
      expect(stage.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    })
  })
})

async function transactionOf(client: Client, text: string): Promise<number> {
  await client.query('BEGIN')
  await client.query(text)
  const { rows } = await client.query('SELECT pg_current_xact_id()::text AS id, pg_backend_pid() AS pid')
  await client.query('COMMIT')
  return Number(rows[0].id)
}

async function backendOf(stage: Stage): Promise<number> {
  const [row] = await stage.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = '${stage.database}' AND application_name = 'mirror'`,
  )
  return Number(Object(row).pid)
}
