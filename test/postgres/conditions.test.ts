import { Client } from 'pg'
import { expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { expectMirrored, listed, mirror, resumed, useServer } from './support.js'

const ROWS = `CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)`

function least(limit: string, volatility = 'IMMUTABLE'): string {
  return `CREATE OR REPLACE FUNCTION large(n int) RETURNS boolean LANGUAGE sql ${volatility} AS 'SELECT n >= ${limit}'`
}

describePostgres('a condition that calls a function of a user', (postgres) => {
  const at = useServer(postgres)

  type Replacement = { readonly name: string; readonly setup: string; readonly ddl: string; readonly where?: string }
  const replacements: readonly Replacement[] = [
    { name: 'that is replaced', setup: least('20'), ddl: least('30') },
    { name: 'that is dropped and created again', setup: least('20'), ddl: `DROP FUNCTION large; ${least('30')}` },
    {
      name: 'whose name gets a signature that fits better',
      setup: least('20').replaceAll('n int', 'n bigint'),
      ddl: least('30'),
    },
    {
      name: 'through an operator',
      setup: `${least('20')}; CREATE OPERATOR public.@@@ (RIGHTARG = int, FUNCTION = large)`,
      ddl: least('30'),
      where: '@@@ n',
    },
    {
      name: 'through a function whose body is parsed when it is created',
      setup: `${least('20')}; CREATE FUNCTION outer_large(n int) RETURNS boolean LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT large(n); END`,
      ddl: least('30'),
      where: 'outer_large(n)',
    },
  ]

  test.each(replacements)('[P17] $name leads to one list', async ({ setup, ddl, where = 'large(n)' }) => {
    const db = await at.installed(`${ROWS}; ${setup}`)
    const rows = await mirror(db, { table: 't', sql: where })
    await expectMirrored(rows, ddl)
    expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['3'], 1])
    await expectMirrored(rows, least('10'))
    expect([rows.informer.size, rows.informer.status.relists]).toEqual([3, 2])
  })

  test('[P17] a version of before the replacement has expired, for another process too', async () => {
    const db = await at.installed(`${ROWS}; ${least('20')}`)
    const options = { table: 't', sql: 'large(n)' }
    const { version } = await listed(db.source(options))
    await resumed(db.source(options), version)
    await db.sql(least('30'))
    await expect(resumed(db.source(options), version)).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
  })

  test('[P17] a version has expired if the same name means another function on a new search path', async () => {
    const db = await at.database()
    const inSchema = (schema: string, n: number): string =>
      `CREATE SCHEMA ${schema}; ${least(String(n)).replace('large', `${schema}.large`)}`
    await db.sql(`${ROWS}; ${inSchema('a', 20)}; ${inSchema('b', 30)}`)
    await db.install('t')
    let path = 'a,public'
    const client = (): Client => new Client(db.config({ options: `-c search_path=${path}` }))
    const source = db.source({ table: 't', sql: 'large(n)', connect: client })
    const { objects, version } = await listed(source)
    await resumed(source, version)
    path = 'b,public'
    await expect(resumed(source, version)).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
    expect([objects.size, (await listed(source)).objects.size]).toEqual([2, 1])
  })

  test('[P18] that is replaced by one that depends on more than the row is refused', async () => {
    const db = await at.installed(`${ROWS}; ${least('20')}`)
    const rows = await mirror(db, { table: 't', sql: 'large(n)' })
    await db.sql(least('extract(epoch FROM now())', 'STABLE'))
    await waitUntil('the failure', () => rows.informer.status.state === 'failed')
    expect(rows.informer.status.lastError).toMatchObject({ code: 'PROTOCOL' })
  })

  test('[P18] or reads a column whose new type makes it depend on the clock is refused', async () => {
    const db = await at.installed(
      `CREATE TABLE t (id int PRIMARY KEY, due text); INSERT INTO t VALUES (1, '2020-01-01')`,
    )
    const rows = await mirror(db, { table: 't', sql: `due < 'tomorrow'` })
    await db.sql('ALTER TABLE t ALTER due TYPE date USING due::date')
    await waitUntil('the failure', () => rows.informer.status.state === 'failed')
    expect(rows.informer.status.lastError).toMatchObject({ code: 'PROTOCOL' })
  })
})
