import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { fastClock } from '../support/clocks.js'
import { HandlerHistory } from '../support/handler-history.js'
import { interrupted } from './interrupted.js'
import { Stage, TIMEOUT_MS } from './stage.js'

describePostgres('a table that is busy', ({ binDir, env }) => {
  let server: PostgresServer
  let held: Client
  beforeAll(async () => {
    const settings = { fsync: 'off', synchronous_commit: 'off', max_connections: '200' }
    server = await startPostgres({ binDir, env, settings })
    // Open during all of this: a transaction that has written.
    held = new Client(server.url)
    await held.connect()
    await held.query('CREATE TABLE held (n int); BEGIN; INSERT INTO held VALUES (1)')
  })
  afterAll(async () => {
    await held.end()
    await server.stop('immediate')
  })

  describe.concurrent('is listed', () => {
    test('with a column that is added between the look-up and the lock', () => {
      let isAltered = false
      return Stage.with(
        {
          server,
          client: (config, stage) =>
            interrupted(config, async (text) => {
              if (isAltered || !text.startsWith('LOCK TABLE')) return
              isAltered = true
              await stage.query(`ALTER TABLE items ADD COLUMN extra int DEFAULT 7`)
            }),
        },
        async (stage) => {
          await stage.live()
          expect(isAltered).toBe(true)
          await stage.healed()
          expect(stage.informer.get('1')).toEqual({ id: 1, n: 0, s: 'x'.repeat(20), extra: 7 })
        },
      )
    })

    test('after it was rewritten under a lock for 8 s, for which it waits without an error', () =>
      Stage.with({ server }, async (stage) => {
        await rewritten(stage, async () => {
          stage.informer.start()
          await sleep(8_000)
          expect(stage.informer.status).toMatchObject({ state: 'listing', isSynced: false })
        })
        await stage.live()
        await stage.healed()
        expect([stage.relists, stage.reconnects, stage.connects, stage.errors.length]).toEqual([0, 0, 2, 0])
      }))

    test('under a condition, which can be checked while the table is locked', () =>
      Stage.with({ server, source: { sql: 'n >= 0' } }, async (stage) => {
        await rewritten(stage, async () => {
          stage.informer.start()
          await sleep(TIMEOUT_MS)
        })
        await stage.live(10_000)
        await stage.healed()
        expect(stage.states).not.toContain('failed')
      }))

    test('however long the server looks through rows that are not wanted', () =>
      Stage.with(
        {
          server,
          rows: 300,
          // So that the 30 s after which a list counts as stalled are over in 3.
          clock: fastClock(10),
          source: { sql: 'wanted(id)', timeoutMs: 10_000 },
        },
        async (stage) => {
          await stage.query(`CREATE FUNCTION wanted(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
            'BEGIN PERFORM pg_sleep(0.02); RETURN id > 299; END'`)
          await stage.live(20_000)
          expect([...stage.informer.keys()]).toEqual(['300'])
          expect(stage.errors.map(({ message }) => message)).toEqual([])
        },
      ))

    test('although it ends while another connection checks whether the server runs it', () => {
      let hasAsked = false
      return Stage.with(
        {
          server,
          rows: 110,
          clock: fastClock(5),
          source: { sql: 'wanted(id)', timeoutMs: 10_000 },
          client: (config, stage) =>
            interrupted(config, async (text) => {
              if (!text.includes('pg_stat_activity')) return
              hasAsked = true
              await waitUntil('the list to be sent', async () => !(await stage.isCopying()))
            }),
        },
        async (stage) => {
          await stage.query(`CREATE FUNCTION wanted(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
            'BEGIN PERFORM pg_sleep(0.02); RETURN id > 109; END'`)
          await stage.live(20_000)
          expect(hasAsked).toBe(true)
          expect(stage.errors.map(({ message }) => message)).toEqual([])
        },
      )
    })
  })

  describe.concurrent('is watched', () => {
    test('while it is rewritten under a lock, and listed again once', () =>
      Stage.live({ server }, async (stage) => {
        await rewritten(stage, () => sleep(2 * TIMEOUT_MS))
        await stage.healed()
        expect([stage.relists, stage.reconnects]).toEqual([1, 0])
        expect(stage.errors.map(({ code }) => code)).toEqual(['VERSION_EXPIRED'])
      }))

    test('while it is emptied and filled again under load: never is a part of it shown', () =>
      Stage.with({ server, rows: 0 }, async (stage) => {
        const reload = (generation: number): string =>
          `BEGIN; TRUNCATE items; INSERT INTO items SELECT g, ${generation}, 'x' FROM generate_series(1, 1000) g; COMMIT`
        await stage.query(reload(0))
        const torn: string[] = []
        const look = (message: unknown): void => {
          if (Object(message).version !== stage.informer.version) return
          const generations = new Set(stage.informer.list().map(({ n }) => n))
          if (stage.informer.size !== 1_000 || generations.size !== 1)
            torn.push(`${stage.informer.size} rows of ${generations.size} generations`)
        }
        channel('listwatch:batch').subscribe(look)
        const stop = new AbortController()
        const touch = stage.ask(async (client) => {
          while (!stop.signal.aborted) {
            await client.query(`UPDATE items SET s = s || 'y' WHERE id % 50 = ${Math.floor(Math.random() * 50)}`)
            await sleep(5)
          }
        })
        await stage.live()
        for (let generation = 1; generation <= 5; generation++) {
          await stage.query(reload(generation))
          await sleep(500 + Math.random() * 1_000)
        }
        stop.abort()
        await touch
        await stage.healed()
        channel('listwatch:batch').unsubscribe(look)
        expect(torn).toEqual([])
        expect(stage.relists).toBeGreaterThanOrEqual(1)
        expect(stage.relists).toBeLessThanOrEqual(5)
      }))

    test('by a handler that takes 50 ms while 500 transactions a second are committed: of a key one state waits, and one is on its way', () =>
      Stage.with({ server, rows: 60 }, async (stage) => {
        const slow = new HandlerHistory<unknown>()
        const subscription = stage.informer.subscribe(slow.slowHandlers(50), { delivery: 'latest' })
        await stage.live()
        let committed = 0
        let most = 0
        const until = performance.now() + 5_000
        const write = async (from: number): Promise<void> =>
          await stage.ask(async (client) => {
            while (performance.now() < until) {
              await client.query(`UPDATE items SET n = n + 1 WHERE id = ${from + (committed % 15)}`)
              committed++
              most = Math.max(most, subscription.backlog.keys)
            }
          })
        await Promise.all([1, 16, 31, 46].map(write))
        expect(committed).toBeGreaterThan(500)
        expect(most).toBeGreaterThan(30)
        expect(most).toBeLessThanOrEqual(120)
        await stage.healed()
        await subscription.waitFor(stage.informer.version ?? '', { timeoutMs: 60_000 })
        expect([slow.violations, slow.objects]).toEqual([[], new Map(stage.informer.entries())])
      }))

    test('soon after each commit, however long another transaction is open', () =>
      Stage.live({ server }, async (stage) => {
        await stage.ask(async (other) => {
          await other.query(`BEGIN; UPDATE items SET n = -1 WHERE id = 1`)
          await stage.ask(async (client) => {
            for (let id = 2; id <= 40; id++) {
              await client.query('BEGIN')
              await client.query(`UPDATE items SET n = ${id} WHERE id = ${id}`)
              const mark = await stage.source.mark(client)
              await client.query('COMMIT')
              await stage.informer.waitFor(mark, { timeoutMs: 20_000 })
              expect(stage.informer.get(String(id))?.n).toBe(id)
            }
          })
          expect(stage.informer.get('1')?.n).toBe(0)
          await other.query('COMMIT')
        })
        await waitUntil('the long transaction to arrive', () => stage.informer.get('1')?.n === -1)
        expect([stage.relists, stage.errors.length]).toEqual([0, 0])
      }))
  })
})

/** Writes values without firing a trigger, while the table is locked. */
async function rewritten(stage: Stage, meanwhile: () => Promise<unknown>): Promise<void> {
  await stage.ask(async (client) => {
    await client.query(`BEGIN; ALTER TABLE items ALTER COLUMN s TYPE text USING s || '!'`)
    await meanwhile()
    await client.query('COMMIT')
  })
}
