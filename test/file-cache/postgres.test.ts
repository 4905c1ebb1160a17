import { join } from 'node:path'
import { expect, test } from 'vitest'
import { trimChangeLogs } from '../../adapters/postgres/index.js'
import { type Database, type TestSourceOptions, useServer } from '../postgres/support.js'
import { describePostgres } from '../servers/index.js'
import { type Life, life, resumedFrom } from './life.js'
import { folder } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, 1 FROM generate_series(1, 3) i'

/** Runs a mirror of a table, and compares the column `n`. */
function mirrorOf(path: string) {
  return (db: Database, expected: Readonly<Record<string, number>>, options: Partial<TestSourceOptions> = {}) =>
    life<{ readonly n: number }>({
      source: db.source({ table: 't', ...options }),
      cache: { path },
      expected,
      view: ({ n }) => n,
    })
}

describePostgres('a warm start from Postgres', (postgres) => {
  const server = useServer(postgres)

  async function installed(): Promise<
    [Database, (db: Database, expected: Readonly<Record<string, number>>) => Promise<Life>]
  > {
    const db = await server.database()
    await db.sql(TABLE)
    await db.install('t')
    return [db, mirrorOf(join(folder(), 'a.cache'))]
  }

  test('resumes without a list, and delivers the saved objects, then the changes', async () => {
    const [db, run] = await installed()
    expect((await run(db, { 1: 1, 2: 1, 3: 1 })).lists).toBe(1)
    await db.sql('UPDATE t SET n = 2 WHERE id = 1; DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (4, 2)')
    expect(await run(db, { 1: 2, 2: 1, 4: 2 })).toEqual(resumedFrom(['1', '2', '3'], ['update 1', 'delete 3', 'add 4']))
    // Nothing has happened since.
    expect(await run(db, { 1: 2, 2: 1, 4: 2 })).toEqual(resumedFrom(['1', '2', '4'], []))
  })

  test('delivers a transaction that was open at the save and committed later', async () => {
    const [db, run] = await installed()
    const writer = await db.connect()
    await writer.query('BEGIN; UPDATE t SET n = 5 WHERE id = 2')
    await run(db, { 1: 1, 2: 1, 3: 1 })
    await db.sql('UPDATE t SET n = 2 WHERE id = 1')
    await writer.query('COMMIT')
    expect(await run(db, { 1: 2, 2: 5, 3: 1 })).toEqual(resumedFrom(['1', '2', '3'], ['update 1', 'update 2']))
  })

  test('lists once after the change log was trimmed', async () => {
    const [db, run] = await installed()
    await run(db, { 1: 1, 2: 1, 3: 1 })
    await db.sql('UPDATE t SET n = 2 WHERE id = 1; DELETE FROM t WHERE id = 3')
    await db.sql(`INSERT INTO listwatch.mark (at) VALUES (clock_timestamp() - interval '61 minutes')`)
    await trimChangeLogs(await db.connect(), 30 * 60)
    const after = await run(db, { 1: 2, 2: 1 })
    expect(after).toMatchObject({ lists: 1, initial: ['1', '2'], changes: [], errors: ['VERSION_EXPIRED'] })
  })

  test('lists once from another database', async () => {
    const [db, run] = await installed()
    await run(db, { 1: 1, 2: 1, 3: 1 })
    const other = await server.database()
    await other.sql(`${TABLE}; UPDATE t SET n = 9`)
    await other.install('t')
    expect(await run(other, { 1: 9, 2: 9, 3: 9 })).toMatchObject({ lists: 1, errors: ['EPOCH_CHANGED'] })
  })

  test('lists once if the table was changed', async () => {
    const [db, run] = await installed()
    await run(db, { 1: 1, 2: 1, 3: 1 })
    await db.sql('ALTER TABLE t ADD COLUMN m int DEFAULT 4')
    expect(await run(db, { 1: 1, 2: 1, 3: 1 })).toMatchObject({ lists: 1, errors: ['VERSION_EXPIRED'] })
  })

  test('lists once with another selection of rows or columns', async () => {
    const db = await server.database()
    await db.sql(TABLE)
    await db.install('t')
    const run = mirrorOf(join(folder(), 'a.cache'))
    const all = { 1: 1, 2: 1, 3: 1 }
    await run(db, all)
    const unused = [expect.stringContaining('saved from another source, or with other options')]
    expect(await run(db, { 1: 1 }, { sql: 'id < 2' })).toMatchObject({ lists: 1, warnings: unused })
    expect(await run(db, all, { columns: ['n'] })).toMatchObject({ lists: 1, warnings: unused })
    expect(await run(db, all, { columns: ['n'] })).toMatchObject({ lists: 0, warnings: [] })
  })
})
