import { expect, onTestFinished, test } from 'vitest'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { contextOf, type Database, listed, mirrorOf, type Row, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)'

describePostgres('a mark after a crash of the server', (postgres) => {
  const at = useServer(postgres, { fsync: 'on', autovacuum: 'on' })

  test('[P8] is taken by several writers at a time, none of which waits for another, nor holds up a list', async () => {
    const db = await at.installed(TABLE)
    await at.server.restart('immediate')
    const source = db.source({ table: 't' })
    const [one, two] = [await db.connect(), await db.connect()]
    await one.query(`BEGIN; SET LOCAL lock_timeout = '2s'; UPDATE t SET n = 42 WHERE id = 1`)
    const first = await source.mark(one)
    await two.query(`BEGIN; SET LOCAL lock_timeout = '2s'; UPDATE t SET n = 42 WHERE id = 2`)
    const second = await source.mark(two)
    const { version } = await listed(source)
    await two.query('COMMIT')
    const later = (await listed(source)).version
    expect([source.hasReached(version, second), source.hasReached(later, second)]).toEqual([false, true])
    expect(source.hasReached(later, first)).toBe(false)
    await one.query('COMMIT')
    expect(source.hasReached((await listed(source)).version, first)).toBe(true)
  })

  test('[P9] is taken by a transaction at REPEATABLE READ whose snapshot is older than the epoch', async () => {
    const db = await at.installed(TABLE)
    await at.server.restart('immediate')
    const source = db.source({ table: 't' })
    const old = await db.connect()
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t')
    const { version } = await listed(source)
    await old.query('UPDATE t SET n = 42 WHERE id = 1')
    const mark = await source.mark(old)
    expect(source.hasReached(version, mark)).toBe(false)
    await old.query('COMMIT')
    expect(source.hasReached((await listed(source)).version, mark)).toBe(true)
  })

  test('fits a header, however many transactions are running', async () => {
    const db = await at.installed(TABLE)
    await at.server.restart('immediate')
    const open = await Promise.all(Array.from({ length: 40 }, () => db.connect()))
    for (const client of open) await client.query('BEGIN; SELECT pg_current_xact_id()')
    // A snapshot lists running transactions only up to the last one that ended.
    const tx = await db.connect()
    await tx.query('SELECT pg_current_xact_id()')
    await tx.query('BEGIN')
    expect(await db.source({ table: 't' }).mark(tx)).toMatch(/^[\w.:,-]{1,200}$/)
  })

  /** A mirror that has not noticed the crash yet: its line is silent. */
  async function unaware(db: Database) {
    const proxy = await startFaultProxy({ targetPort: at.server.port })
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    const rows = mirrorOf<Row>(db, { table: 't', timeoutMs: 60_000, connection: { port: proxy.port } })
    rows.informer.start()
    await waitUntil('the watch', () => rows.informer.status.state === 'live')
    proxy.hold()
    await at.server.restart('immediate')
    return { ...rows, proxy }
  }

  test.each(['before an epoch was seeded', 'after another reader seeded an epoch'])(
    'taken %s is not reached by a mirror that has not noticed the crash',
    async (when) => {
      const db = await at.installed(TABLE)
      const { informer, source, proxy } = await unaware(db)
      if (when.startsWith('after')) await listed(db.source({ table: 't' }))
      const tx = await db.connect()
      await tx.query('BEGIN; UPDATE t SET n = 42 WHERE id = 1')
      const mark = await source.mark(tx)
      await tx.query('COMMIT')
      await tx.end()
      expect(source.hasReached(informer.version ?? '', mark)).toBe(false)
      const head = await db.source({ table: 't' }).head(contextOf())
      expect(source.hasReached(informer.version ?? '', head)).toBe(false)
      proxy.reset()
      proxy.pass()
      await waitUntil('the relist', () => informer.status.relists === 1)
      await informer.waitFor(mark, { timeoutMs: 30_000 })
      expect([informer.get('1'), informer.status.relists]).toEqual([{ id: 1, n: 42 }, 1])
      await informer.fresh({ timeoutMs: 30_000 })
    },
  )

  test('[P11] is waited for by waitFor and fresh that were called before the mirror noticed the crash', async () => {
    const db = await at.installed(TABLE)
    const { informer, source, proxy } = await unaware(db)
    const tx = await db.connect()
    await tx.query('BEGIN; UPDATE t SET n = 42 WHERE id = 1')
    const mark = await source.mark(tx)
    await tx.query('COMMIT')
    await tx.end()
    const shown = (): unknown => [informer.get('1'), informer.status.relists]
    const waits = [informer.waitFor(mark, { timeoutMs: 60_000 }), informer.fresh({ timeoutMs: 60_000 })]
    const reached = Promise.all(waits.map((wait) => wait.then(shown)))
    expect(shown()).toEqual([{ id: 1, n: 1 }, 0])
    proxy.reset()
    proxy.pass()
    const after = [{ id: 1, n: 42 }, 1]
    expect(await reached).toEqual([after, after])
  })
})
