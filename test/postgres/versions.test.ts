import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { trimChangeLogs } from '../../adapters/postgres/index.js'
import type { WatchContext } from '../../src/adapter.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import {
  contextOf,
  type Database,
  errorOf,
  expectMirrorEqualsTable,
  listed,
  mirror,
  resumed,
  type TestSourceOptions,
  useServer,
} from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 20) g'
/** Silence is not noticed within the time of a test: calls end only because they are stopped. */
const PATIENT = { timeoutMs: 600_000, pollIntervalMs: 600_000 }
/** Promised are 100 ms; a machine that is busy with other tests gets more. */
const SOON_MS = 1_000

describePostgres('a version', (postgres) => {
  const at = useServer(postgres)

  describe('that was kept without an open watch', () => {
    test('is resumed from by another source, with exactly what came after it', async () => {
      const db = await at.installed(TABLE)
      const { version } = await listed(db.source({ table: 't' }))
      await db.sql('UPDATE t SET n = 1 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (21, 21)')
      const { events } = await resumed(db.source({ table: 't' }), version)
      expect(events.toSorted((a, b) => ('key' in a && 'key' in b ? Number(a.key) - Number(b.key) : 0))).toEqual([
        { type: 'put', key: '1', object: { id: 1, n: 1 } },
        { type: 'delete', key: '2' },
        { type: 'put', key: '21', object: { id: 21, n: 21 } },
      ])
    })

    test('of a transaction that was open then, with what that has written', async () => {
      const db = await at.installed(TABLE)
      const long = await db.connect()
      await long.query('BEGIN; UPDATE t SET n = 1 WHERE id = 1')
      await db.sql('UPDATE t SET n = 2 WHERE id = 2')
      const { version } = await listed(db.source({ table: 't' }))
      await long.query('COMMIT')
      const { events } = await resumed(db.source({ table: 't' }), version)
      expect(events).toEqual([{ type: 'put', key: '1', object: { id: 1, n: 1 } }])
    })

    test('of a batch with changes includes them', async () => {
      const db = await at.installed(TABLE)
      const source = db.source({ table: 't' })
      const { version } = await listed(source)
      await db.sql('UPDATE t SET n = 5 WHERE id = 1')
      const batch = await resumed(source, version)
      expect(batch.events).toHaveLength(1)
      expect((await resumed(source, batch.version)).events).toEqual([])
    })
  })

  describe('expires', () => {
    async function trimmed(db: Database): Promise<void> {
      await db.sql('UPDATE t SET n = 1')
      await trimChangeLogs(await db.connect(), 0)
    }

    const reasons: readonly (readonly [
      why: string,
      happening: (db: Database) => Promise<unknown>,
      options: Omit<TestSourceOptions, 'table'>,
    ])[] = [
      ['trimmed', (db) => trimmed(db), {}],
      ['shape', (db) => db.sql('ALTER TABLE t ADD COLUMN more int'), {}],
      ['generation', (db) => db.sql('ALTER TABLE t RENAME TO old; ALTER TABLE u RENAME TO t'), {}],
      ['generation', (db) => db.install('t'), {}],
      ['truncate or bulk change', (db) => db.sql('INSERT INTO t SELECT g, 0 FROM generate_series(21, 1021) g'), {}],
      ['too many changes', (db) => db.sql('UPDATE t SET n = 1'), { maxDeltaRows: 19 }],
    ]

    test.each(reasons)('and says why: %s', async (why, happening, options) => {
      const db = await at.installed(TABLE, { bulk: 1_000 })
      await db.sql('CREATE TABLE u (id int PRIMARY KEY, n int)')
      await db.install('u')
      const { version } = await listed(db.source({ table: 't' }))
      await happening(db)
      expect(await errorOf(resumed(db.source({ table: 't', ...options }), version))).toMatchObject(
        failure('VERSION_EXPIRED', `(${why})`),
      )
    })
  })

  describe('is refused', () => {
    test.each(['', '0', '1:2:', 'pg1.a.b.c.d.e', 'pg1.a.b.c.d.e.1:x:', 'pg1.a.b.c.d.e.1:2:.more'])(
      'as PROTOCOL if it is invalid: "%s"',
      async (version) => {
        const db = await at.installed(TABLE)
        expect(await errorOf(resumed(db.source({ table: 't' }), version))).toMatchObject({ code: 'PROTOCOL' })
      },
    )

    test('as EPOCH_CHANGED if it is of another database', async () => {
      const [db, other] = [await at.installed(TABLE), await at.installed(TABLE)]
      const { version } = await listed(other.source({ table: 't' }))
      expect(await errorOf(resumed(db.source({ table: 't' }), version))).toMatchObject({ code: 'EPOCH_CHANGED' })
    })

    test('as EPOCH_CHANGED if it is later than the server', async () => {
      const db = await at.installed(TABLE)
      const { version } = await listed(db.source({ table: 't' }))
      const later = version.replace(/\d+:\d+:[\d,]*$/, '999999999:999999999:')
      expect(await errorOf(resumed(db.source({ table: 't' }), later))).toMatchObject({ code: 'EPOCH_CHANGED' })
    })

    test('[C38] of a server that was replaced by an older copy of itself while the list was due is EPOCH_CHANGED', async () => {
      const source = (await at.installed(TABLE)).source({ table: 't' })
      const floor = (await listed(source)).version.replace(/\d+:\d+:[\d,]*$/, '999999999:999999999:')
      expect(source.hasReached(await source.head(contextOf(new AbortController().signal)), floor)).toBe(false)
      expect(await errorOf(listed(source, 1_000, { floor }))).toMatchObject({ code: 'EPOCH_CHANGED' })
    })
  })
})

describePostgres('the connections of a source', (postgres) => {
  const at = useServer(postgres)

  /** The server processes that serve us. */
  async function backends(db: Database): Promise<number[]> {
    const sql = `SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name = 'mirror' ORDER BY 1`
    return (await db.sql(sql, [db.name])).map(({ pid }) => Number(pid))
  }

  const named = { table: 't', connection: { application_name: 'mirror' } }

  test('are one while it watches, and none after the stop', async () => {
    const db = await at.installed(TABLE)
    const { informer } = await mirror(db, named)
    await waitUntil('the one of the list to end', async () => (await backends(db)).length === 1)
    await informer.stop()
    await waitUntil('the last to end', async () => (await backends(db)).length === 0)
  })

  test('are one after many that were broken', async () => {
    const db = await at.installed(TABLE)
    const rows = await mirror(db, named)
    for (let n = 1; n <= 3; n++) {
      await db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mirror'`)
      await waitUntil('the next', () => rows.informer.status.reconnects >= n && rows.informer.status.state === 'live')
    }
    await expectMirrorEqualsTable(rows)
    expect([rows.informer.status.relists, (await backends(db)).length]).toEqual([0, 1])
  })

  test('of head(), or of a list by hand, end with the result', async () => {
    const db = await at.installed(TABLE)
    const source = db.source(named)
    for (let n = 0; n < 5; n++) await source.head(contextOf())
    for (let n = 0; n < 5; n++) await listed(source)
    await waitUntil('the last to end', async () => (await backends(db)).length === 0)
  })

  test('of head() without an installation end with the error', async () => {
    const db = await at.database()
    const source = db.source(named)
    expect(await errorOf(source.head(contextOf()))).toMatchObject({ code: 'NOT_FOUND' })
    await waitUntil('it to end', async () => (await backends(db)).length === 0)
  })

  test('hold no transaction open while it watches', async () => {
    const db = await at.installed(TABLE)
    await mirror(db, named)
    const sql = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'mirror' AND datname = $1 AND state LIKE 'idle in transaction%'`
    expect(await db.value(sql, [db.name])).toBe(0)
  })

  describe('end as soon as the signal aborts', () => {
    type Call = (source: ReturnType<Database['source']>, context: WatchContext) => Promise<unknown>
    const calls: Readonly<Record<string, Call>> = {
      'a list': async (source, context) => {
        for await (const _ of source.list({ ...context, pageSize: 10 })) {
          // Read to the end.
        }
      },
      'a watch': async (source, context) => {
        for await (const _ of source.watch(context)) {
          // For as long as it goes.
        }
      },
      'the query of head()': (source, context) => source.head(context),
    }

    test.each(Object.entries(calls))('%s, however far it has come', async (_name, call) => {
      const db = await at.installed(TABLE)
      const { version } = await listed(db.source({ table: 't' }))
      await using proxy = await startFaultProxy({ targetPort: Number(db.config().port) })
      const context = { ...contextOf(), after: version, onProgressRequest: () => {} }
      // Silenced before its first statement, before its second, and so on, until there is none left to be silenced at.
      for (let silentAt = 0, isDone = false; !isDone && silentAt < 12; silentAt++) {
        proxy.pass()
        let asked = 0
        const stop = new AbortController()
        const client = (): Client => {
          const made = new Client({ ...db.config(), port: proxy.port })
          const { query } = made
          made.query = ((...args: readonly unknown[]) => {
            if (asked++ === silentAt) proxy.hold()
            return Reflect.apply(query, made, args)
          }) as typeof made.query
          return made
        }
        let isOver = false
        const over = () => (isOver = true)
        const source = db.source({ table: 't', ...PATIENT, connect: client })
        const ended = call(source, { ...context, signal: stop.signal }).then(over, over)
        await waitUntil('the silence, or the end', () => asked > silentAt || isOver, 2_000).catch(() => {
          isDone = true // A watch that has said all, and waits.
        })
        isDone ||= isOver
        stop.abort()
        await waitUntil(`the end, silent at ${silentAt}`, () => isOver, SOON_MS)
        await ended
        proxy.pass()
        await waitUntil('the connections to be closed', () => proxy.counts.open === 0, SOON_MS)
      }
    })

    test('and none is opened for one that was never wanted', async () => {
      const db = await at.installed(TABLE)
      const { version } = await listed(db.source({ table: 't' }))
      let connects = 0
      const client = (): Client => {
        connects++
        return new Client(db.config())
      }
      const source = db.source({ table: 't', connect: client })
      const context = { ...contextOf(AbortSignal.abort()), after: version, onProgressRequest: () => {} }
      for (const call of Object.values(calls)) await errorOf(call(source, context))
      expect(connects).toBe(0)
    })
  })
})
