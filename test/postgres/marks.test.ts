import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { contextOf, type Database, errorOf, listed, mirror, snapshotOf, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)'

/** What another program does: it writes, and hands out a mark. It knows nothing of us but SQL. */
const OTHER_PROCESS = `
import pg from 'pg'
const client = new pg.Client(JSON.parse(process.argv[1]))
await client.connect()
await client.query('BEGIN')
await client.query('UPDATE t SET n = 42 WHERE id = 1')
const { rows } = await client.query('SELECT listwatch.mark() AS mark')
await client.query('COMMIT')
await client.end()
process.stdout.write(rows[0].mark)`

describePostgres('a mark', (postgres) => {
  const at = useServer(postgres)

  async function writing(db: Database): Promise<Client> {
    const tx = await db.connect()
    await tx.query('BEGIN; UPDATE t SET n = 42 WHERE id = 1')
    return tx
  }

  test('is not reached before the commit, unlike a snapshot taken inside the transaction', async () => {
    const db = await at.installed(TABLE)
    const { source, informer } = await mirror(db, { table: 't' })
    const tx = await writing(db)
    const { rows } = await tx.query('SELECT pg_current_snapshot()::text AS snapshot')
    const mark = await source.mark(tx)
    // A later transaction, which the mirror does see.
    await db.sql('UPDATE t SET n = 3 WHERE id = 2')
    await informer.fresh()
    const { version = '' } = informer
    const naive = [...version.split('.').slice(1, 4), rows[0].snapshot]
    expect(source.hasReached(version, ['pgs1', ...naive].join('.')), 'the snapshot').toBe(true)
    expect(source.hasReached(version, mark), 'the mark').toBe(false)
    expect(informer.get('1')).toEqual({ id: 1, n: 1 })
    await tx.query('COMMIT')
  })

  test('of another process shows what that wrote', async () => {
    const db = await at.installed(TABLE)
    const { informer } = await mirror(db, { table: 't' })
    const args = ['--input-type=module', '--eval', OTHER_PROCESS, JSON.stringify(db.config())]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
    await informer.waitFor(stdout, { timeoutMs: 60_000 })
    expect(informer.get('1')).toEqual({ id: 1, n: 42 })
  })

  test('needs no mirror that is started, nor any right but to connect', async () => {
    const db = await at.installed(TABLE)
    await db.sql(`CREATE ROLE ${db.name}_nobody LOGIN`)
    const tx = await db.connect({ user: `${db.name}_nobody` })
    await tx.query('BEGIN')
    expect(await db.source({ table: 't' }).mark(tx)).toMatch(/^pgm1\./)
    await tx.query('ROLLBACK')
  })

  test('taken inside a savepoint is that of the whole transaction', async () => {
    const db = await at.installed(TABLE)
    const { source, informer } = await mirror(db, { table: 't' })
    const tx = await db.connect()
    await tx.query('BEGIN; SAVEPOINT a; UPDATE t SET n = 42 WHERE id = 1')
    const mark = await source.mark(tx)
    await tx.query('RELEASE a')
    await informer.fresh()
    expect(source.hasReached(informer.version ?? '', mark)).toBe(false)
    await tx.query('COMMIT')
    await informer.waitFor(mark, { timeoutMs: 60_000 })
    expect(informer.get('1')).toEqual({ id: 1, n: 42 })
  })

  test('of a transaction that rolled back is reached', async () => {
    const db = await at.installed(TABLE)
    const { source, informer } = await mirror(db, { table: 't' })
    const tx = await writing(db)
    const mark = await source.mark(tx)
    await tx.query('ROLLBACK')
    await informer.waitFor(mark, { timeoutMs: 60_000 })
    expect(informer.get('1')).toEqual({ id: 1, n: 1 })
  })

  test('may also be a version or a head', async () => {
    const db = await at.installed(TABLE)
    const source = db.source({ table: 't' })
    const before = (await listed(source)).version
    await db.sql('UPDATE t SET n = 42')
    const head = await source.head(contextOf())
    const after = (await listed(source)).version
    expect([source.hasReached(before, head), source.hasReached(after, head)]).toEqual([false, true])
    expect([source.hasReached(before, after), source.hasReached(after, before)]).toEqual([false, true])
  })

  test('of another database is EPOCH_CHANGED', async () => {
    const [db, other] = [await at.installed(TABLE), await at.installed(TABLE)]
    const source = db.source({ table: 't' })
    const mark = await source.mark(await writing(other))
    const { version } = await listed(source)
    expect((await errorOf(Promise.resolve().then(() => source.hasReached(version, mark)))).code).toBe('EPOCH_CHANGED')
  })

  test('of the time before Postgres emptied its unlogged tables is EPOCH_CHANGED for a waiter', async () => {
    const db = await at.installed(TABLE)
    const { source, informer } = await mirror(db, { table: 't' })
    const tx = await writing(db)
    const mark = await source.mark(tx)
    const waiting = errorOf(informer.waitFor(mark, { timeoutMs: 60_000 }))
    const relists = (): number => informer.status.relists
    // What crash recovery does.
    await db.sql('DELETE FROM listwatch.state; DELETE FROM listwatch.mark')
    await waitUntil('the relist', () => relists() === 1)
    expect((await waiting).code).toBe('EPOCH_CHANGED')
    expect((await errorOf(informer.waitFor(mark))).code).toBe('EPOCH_CHANGED')
    await tx.query('ROLLBACK')
  })

  test('that is invalid is PROTOCOL', async () => {
    const db = await at.installed(TABLE)
    const source = db.source({ table: 't' })
    const { version } = await listed(source)
    const snapshot = await snapshotOf(db)
    for (const mark of ['', '0', '42', snapshot, 'pgm1.1.2.3', `${version}.x`, 'pgm1.1.2.3.-4', 'pgs1.1.2.3.4:3']) {
      const asked = Promise.resolve().then(() => source.hasReached(version, mark))
      expect((await errorOf(asked)).code, `"${mark}"`).toBe('PROTOCOL')
    }
  })

  test('without an installation is NOT_FOUND', async () => {
    const db = await at.prepared(TABLE)
    const error = await errorOf(db.source({ table: 't' }).mark(await db.connect()))
    expect(error.code).toBe('NOT_FOUND')
  })

  test('outside a transaction is a TypeError: it would be reached before what the program wrote is shown', async () => {
    const db = await at.installed('CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)')
    const source = db.source({ table: 't' })
    const client = await db.connect()
    const extended = { query: (text: string) => client.query({ text, name: text.slice(-60) }) }
    for (let n = 0; n < 20; n++) {
      await client.query('UPDATE t SET n = n + 1')
      const error = await errorOf(source.mark(n % 2 === 0 ? client : extended))
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toMatch(/no transaction is open: call it after BEGIN$/)
    }
    for (const begin of ['BEGIN', 'BEGIN; UPDATE t SET n = 0', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE']) {
      await client.query(begin)
      expect(await source.mark(extended)).toMatch(/^pgm1\./)
      expect(await source.mark(client)).toMatch(/^pgm1\./)
      await client.query('COMMIT')
    }
  })
})
