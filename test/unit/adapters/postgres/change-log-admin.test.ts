import pg from 'pg'
import { expect, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  installLeases,
  trimChangeLogs,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from '../../../../adapters/postgres/index.js'

/** As from JavaScript, without the types. */
const untyped = <F>(call: F) => call as unknown as (...args: readonly unknown[]) => unknown

const migrations = [
  ['installChangeLog', untyped(installChangeLog), { table: 'orders' }],
  ['uninstallChangeLog', untyped(uninstallChangeLog), { table: 'orders' }],
  ['installLeases', untyped(installLeases), {}],
] as const
const queries = [
  ['trimChangeLogs', untyped(trimChangeLogs), 60],
  ['changeLogStatus', untyped(changeLogStatus), undefined],
] as const

test.each([...migrations, ...queries])('%s rejects a client that cannot run queries', async (name, call, options) => {
  const must = `${name}: the first argument must be a connected client of pg: `
  for (const client of [undefined, null, 'postgres://localhost/db', {}])
    await expect(call(client, options)).rejects.toThrow(`${must}it has no method "query"`)
  // Its queries would wait without a limit.
  await expect(call(new pg.Client(), options)).rejects.toThrow(`${must}call its method "connect" first`)
})

test.each(migrations)('%s rejects a pool, because a migration uses one session', async (_name, call, options) => {
  await expect(call(new pg.Pool(), options)).rejects.toThrow(
    'a Pool has several sessions; use a client of pool.connect()',
  )
})

test('the SQL of a change log needs a table', async () => {
  const missing = 'installChangeLogSql: option "table" is missing'
  expect(() => untyped(installChangeLogSql)()).toThrow(missing)
  expect(() => untyped(installChangeLogSql)({})).toThrow(missing)
  await expect(untyped(installChangeLog)({ query: () => {} })).rejects.toThrow(missing)
})

test('the removal of a change log needs either a table or all', async () => {
  const statements: unknown[] = []
  const client = { query: (sql: unknown) => void statements.push(sql) }
  const either = 'uninstallChangeLogSql: exactly one of the options "table" and "all" must be present'
  for (const options of [undefined, {}, { all: undefined }, { table: 'orders', all: true }]) {
    expect(() => untyped(uninstallChangeLogSql)(options)).toThrow(either)
    await expect(untyped(uninstallChangeLog)(client, options)).rejects.toThrow(either)
  }
  for (const options of [{ all: false }, { table: 'orders', all: false }])
    await expect(untyped(uninstallChangeLog)(client, options)).rejects.toThrow('option "all" must be true, got false')
  expect(statements).toEqual([])
})

test('the option "all" without a value does not remove other change logs than that of the table', () => {
  const sql = untyped(uninstallChangeLogSql)({ table: 'orders', all: undefined })
  expect(sql).toBe(uninstallChangeLogSql({ table: 'orders' }))
  expect(sql).not.toContain('DROP SCHEMA')
})
