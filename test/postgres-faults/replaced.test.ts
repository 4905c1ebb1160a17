import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Stage } from './stage.js'

describePostgres('a server that becomes another', ({ binDir, env, version }) => {
  const start = (settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> =>
    startPostgres({ binDir, env, settings: { fsync: 'off', autovacuum: 'off', ...settings } })

  describe.concurrent('under a mirror', () => {
    test('an older copy of its files has the same epoch, and a log without changes: the table is listed again', async () => {
      await using server = await start()
      await Stage.live({ server }, async (stage) => {
        const copy = `${server.dataDir}-copy`
        await server.halt('fast')
        await runProgram('cp', ['-a', server.dataDir, copy])
        await server.restart()
        await stage.query('UPDATE items SET n = 1')
        await stage.query('DELETE FROM items WHERE id = 1')
        await waitUntil('the mirror to see it', () => !stage.informer.has('1'))
        const [{ snapshot }] = await rows(stage, 'SELECT pg_current_snapshot()::text AS snapshot')
        stage.proxy.hold()
        await server.halt('fast')
        await rm(server.dataDir, { recursive: true })
        await rename(copy, server.dataDir)
        await server.restart()

        const [{ log, epoch }] = await rows(stage, 'SELECT log::text, epoch FROM listwatch.logs(), listwatch.state')
        expect(stage.informer.version, 'the epoch').toContain(epoch)
        const since = await stage.query(`SELECT FROM ${log} WHERE xid >= pg_snapshot_xmax('${snapshot}')`)
        expect(since, 'the delta without other checks').toEqual([])
        expect((await stage.differences()).length).toBe(200)

        stage.proxy.pass()
        await waitUntil('the relist', () => stage.relists > 0)
        await stage.healedAfter(1)
        expect(stage.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
      })
    })

    test.each(['notify', 'poll'] as const)(
      "a standby answers as one whose table was changed; with wake: '%s' the mirror waits for the primary, and lists again after the promotion",
      async (wake) => {
        await using server = await start()
        await Stage.with({ server, source: { wake } }, async (stage) => {
          await stage.live()
          expect(await codeOfChangedPlan(stage)).toBe('0A000')
          await server.halt('fast')
          // Of the same owner as the other files.
          await runProgram('cp', ['-a', join(server.dataDir, 'PG_VERSION'), join(server.dataDir, 'standby.signal')])
          await server.restart()
          await expect(stage.query('SELECT FROM listwatch.state')).rejects.toMatchObject({ code: '0A000' })
          await waitUntil('it to be noticed', () => /the server is a standby/.test(stage.errors.at(-1)?.message ?? ''))
          const { relists } = stage
          expect([stage.informer.size, stage.informer.get('1')?.n]).toEqual([200, 0])

          await stage.query('SELECT pg_promote()')
          await stage.query('UPDATE items SET n = 1')
          await waitUntil('the relist', () => stage.relists > relists)
          await stage.healed()
          expect([relists, stage.relists]).toEqual([0, 1])
          expect(stage.states).not.toContain('failed')
          expect(new Set(stage.errors.map(({ code }) => code))).toEqual(new Set(['UNAVAILABLE', 'EPOCH_CHANGED']))
        })
      },
    )

    test('one that is shutting down is tried again, and resumed from', async () => {
      await using server = await start()
      await Stage.live({ server }, async (stage) => {
        await stage.ask(async () => {
          // A smart shutdown: it accepts no new session, and waits for the others.
          process.kill(server.pid ?? 0, 'SIGTERM')
          await waitUntil('the door to close', async () => {
            const error: unknown = await stage.query('SELECT').catch((reason: unknown) => reason)
            return Object(error).code === '57P03'
          })
          stage.proxy.reset()
          await waitUntil('it to be noticed', () => stage.errors.some(({ cause }) => Object(cause).code === '57P03'))
        })
        await server.restart()
        await stage.query('UPDATE items SET n = 1')
        await stage.healedAfter(0)
        expect(new Set(stage.errors.map(({ code }) => code))).toEqual(new Set(['UNAVAILABLE']))
      })
    })

    describe.skipIf(Number.parseInt(version, 10) < 17)('a queue of notifications that is full', () => {
      /** A listener with an open transaction stops the queue for all databases. */
      async function full(stage: Stage, act: () => Promise<void>): Promise<void> {
        await stage.ask(async (listener) => {
          await listener.query('LISTEN other')
          await listener.query('BEGIN; SELECT')
          const fill = (): Promise<unknown> => stage.query(`SELECT pg_notify('filler', repeat('x', 7900))`)
          await waitUntil('the queue to be full', async () => {
            const error: unknown = await fill().catch((reason: unknown) => reason)
            return Object(error).code === '54000'
          })
          await act()
        })
      }

      test('makes writers fail that wake readers; a mirror that trims fixes it', async () => {
        await using server = await start({ max_notify_queue_pages: '64' })
        await Stage.with({ server, source: { trimEveryMs: 300 } }, async (stage) => {
          await stage.live()
          const write = (): Promise<unknown> => stage.query('UPDATE items SET n = n + 1')
          await full(stage, () => expect(write()).rejects.toMatchObject({ code: '54000' }))
          await waitUntil('writers to succeed', () =>
            write()
              .then(() => true)
              .catch(() => false),
          )
          await stage.healed()
          expect([stage.relists, stage.errors]).toEqual([0, []])
        })
      })

      test(`does not concern writers with wake: 'none'`, async () => {
        await using server = await start({ max_notify_queue_pages: '64' })
        await Stage.with({ server, install: { wake: 'none' }, source: { wake: 'poll' } }, async (stage) => {
          await stage.live()
          await full(stage, async () => void (await stage.query('UPDATE items SET n = n + 1')))
          await stage.healed()
        })
      })
    })
  })
})

/** The SQLSTATE of a prepared statement that finds its table changed: there the version has expired. */
async function codeOfChangedPlan(stage: Stage): Promise<unknown> {
  return await stage.ask(async (client: Client) => {
    await client.query('CREATE TABLE plan (id int); PREPARE p AS SELECT * FROM plan; ALTER TABLE plan ADD COLUMN n int')
    const error: unknown = await client.query('EXECUTE p').catch((reason: unknown) => reason)
    return Object(error).code
  })
}

async function rows(stage: Stage, text: string): Promise<[Record<string, string>]> {
  const [row] = await stage.query(text)
  return [Object(row)]
}
