import { join } from 'node:path'
import { expect, test } from 'vitest'
import { trimChangeLogs } from '../../adapters/postgres/index.js'
import { type TestSourceOptions, useServer } from '../postgres/support.js'
import { describePostgres } from '../servers/index.js'
import { life, resumedFrom, testExpiry, testResume, type Values } from './life.js'
import { folder } from './support.js'

const TABLE = 'CREATE TABLE t (id text PRIMARY KEY, n int)'
const ALL = { a: 1, b: 1, c: 1 }

describePostgres('a warm start from Postgres', useServer, (server) => {
  /** A table in a database of its own, and a mirror of it with a cache. */
  async function open(path = join(folder(), 'a.cache')) {
    const db = await server.database()
    await db.sql(TABLE)
    await db.install('t')
    return {
      db,
      path,
      async put(values: Values): Promise<void> {
        const texts = Object.entries(values).map(([id, n]) =>
          n === undefined
            ? `DELETE FROM t WHERE id = '${id}'`
            : `INSERT INTO t VALUES ('${id}', ${n}) ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
        )
        await db.sql(texts.join('; '))
      },
      run: (expected: Values, options: Partial<TestSourceOptions> = {}) =>
        life<{ readonly n: number }>({
          source: db.source({ table: 't', ...options }),
          cache: { path },
          expected,
          view: ({ n }) => n,
        }),
    }
  }

  testResume(open)

  testExpiry('lists once after the change log was trimmed', open, async ({ db }) => {
    await db.sql(`INSERT INTO listwatch.mark (at) VALUES (clock_timestamp() - interval '61 minutes')`)
    await trimChangeLogs(await db.connect(), 30 * 60)
  })

  test('delivers a transaction that was open at the save and committed later', async () => {
    const { db, put, run } = await open()
    await put(ALL)
    const writer = await db.connect()
    await writer.query(`BEGIN; UPDATE t SET n = 5 WHERE id = 'b'`)
    await run(ALL)
    await put({ a: 2 })
    await writer.query('COMMIT')
    expect(await run({ a: 2, b: 5, c: 1 })).toEqual(resumedFrom(['a', 'b', 'c'], ['update a', 'update b']))
  })

  test('lists once from another database', async () => {
    const { put, run, path } = await open()
    await put(ALL)
    await run(ALL)
    const other = await open(path)
    await other.put({ a: 9, b: 9, c: 9 })
    expect(await other.run({ a: 9, b: 9, c: 9 })).toMatchObject({ lists: 1, errors: ['EPOCH_CHANGED'] })
  })

  test('lists once if the table was changed', async () => {
    const { db, put, run } = await open()
    await put(ALL)
    await run(ALL)
    await db.sql('ALTER TABLE t ADD COLUMN m int DEFAULT 4')
    expect(await run(ALL)).toMatchObject({ lists: 1, errors: ['VERSION_EXPIRED'] })
  })

  test('lists once with another selection of rows or columns', async () => {
    const { put, run } = await open()
    await put(ALL)
    await run(ALL)
    const unused = [expect.stringContaining('saved from another source, or with other options')]
    expect(await run({ a: 1 }, { sql: `id = 'a'` })).toMatchObject({ lists: 1, warnings: unused })
    expect(await run(ALL, { columns: ['n'] })).toMatchObject({ lists: 1, warnings: unused })
    expect(await run(ALL, { columns: ['n'] })).toMatchObject({ lists: 0, warnings: [] })
  })
})
