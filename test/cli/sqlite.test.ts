import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newFile, newPath, opened, rowsOf } from '../sqlite/support.js'
import { namesOf } from './doctor.js'
import { example, expectEnd, listwatch, refusalOf, resultOf, synced, testRefusals } from './support.js'

const ORDERS = 'PRAGMA user_version = 1; CREATE TABLE orders (id INTEGER PRIMARY KEY, total, code TEXT UNIQUE)'

function withoutLog(): string {
  const path = newPath()
  opened(path).exec(`${ORDERS}; INSERT INTO orders VALUES (1, 2, 'a')`)
  return path
}

test('sqlite install, status, epoch and uninstall, and the commands that read the file', {
  timeout: 120_000,
}, async () => {
  const path = withoutLog()
  const run = async (...args: string[]) => await resultOf(listwatch(args))
  const output = `listwatch is not installed in ${path}\n`
  expect(await run('sqlite', 'status', path)).toMatchObject({ code: 0, output })
  expect(await refusalOf(listwatch(['list', path, '--table', 'orders']))).toContain(`listwatch sqlite install '`)
  const printed = await run('sqlite', 'install', path, '--table', 'orders', '--keep-rows', '5000', '--print')
  const copy = newPath()
  copyFileSync(path, copy)
  opened(copy).exec(printed.output)
  const installed = await run('sqlite', 'install', path, '--table', 'ORDERS', '--keep-rows', '5000')
  expect(installed.output).toMatch(/^installed on ORDERS \(key id\)\nwarning without WAL/)
  const schema = (of: string): string[] =>
    rowsOf(opened(of), 'sqlite_schema').map((row) => row.replace(/"rootpage":\d+/, ''))
  expect(schema(copy)).toEqual(schema(path))
  expect((await run('sqlite', 'status', path)).output).toMatch(
    /^epoch \w{16}, log 1 of 5 000 rows, journal mode delete\nok orders \(key id\)/,
  )
  expect((await run('list', path, '--table', 'orders')).output).toBe(
    '{"key":"1","object":{"id":1,"total":2,"code":"a"}}\n',
  )
  const watch = listwatch(['watch', path, '--table', 'orders', '--sql', 'total > 1', '--json'])
  await synced(watch)
  const piped = listwatch(['watch', path, '--table', 'orders'])
  await piped.until(() => piped.lines.length > 0, 'the summary')
  opened(path).exec(`INSERT INTO orders VALUES (2, 1, 'b'), (3, 3, 'c')`)
  await watch.until(() => watch.output.includes('"key":"3"'), 'the change')
  await piped.until(() => piped.lines.some((line) => / \+ 3( |$)/.test(line)), 'the change as a line')
  piped.kill('SIGINT')
  expect(watch.output).not.toContain('"key":"2"')
  expect((await run('sqlite', 'epoch', path)).output).toContain('began another epoch')
  await watch.until(() => watch.errors.includes('another epoch'), 'the other epoch')
  await expectEnd(watch, 'SIGINT')
  opened(path).exec('CREATE UNIQUE INDEX later ON orders (total)')
  const broken = await run('sqlite', 'status', path)
  expect([broken.code, broken.output]).toEqual([1, expect.stringContaining('do not fit its unique indexes')])
  expect((await run('sqlite', 'uninstall', path, '--all')).output).toBe(`removed from ${path}\n`)
  expect(rowsOf(opened(path), 'sqlite_schema', `name LIKE 'listwatch%'`)).toEqual([])
})

testRefusals([
  ['sqlite install /none/app.db --table orders', '/none/app.db: unable to open database file'],
  ['sqlite install app.db --table orders --keep-rows 0', 'It must be a whole number from 1'],
  ['sqlite uninstall app.db', 'name a table with --table, or everything with --all'],
  ['watch app.db --table orders --rls row-local', '--rls is an option of Postgres; SQLite has --table'],
  ['watch app.db', "required option '--table <name>' not specified"],
])

test('doctor names each fault of a file, and its remedy', async () => {
  const { path, writer } = newFile(
    `CREATE TABLE orders (id TEXT PRIMARY KEY, n); INSERT INTO orders VALUES (NULL, 1), ('a', 9007199254740993)`,
  )
  const names = async () => await namesOf([path, '--table', 'orders'])
  expect(await names()).toEqual(['log', 'undecodable'])
  writer.exec('PRAGMA journal_mode = DELETE; DROP TRIGGER listwatch_1_update')
  expect(await names()).toEqual(['list', 'log', 'journal-mode'])
})

test('examples/sqlite.ts follows the orders that another process writes', async () => {
  const env = { ORDERS_DB: newPath() }
  expect((await resultOf(example('sqlite.ts', ['42', '9.5'], env))).output).toMatch(/^written: slm1\./)
  const follower = example('sqlite.ts', [], env)
  await follower.until(() => follower.output.includes('order 42: 9.5'), 'the first order')
  await resultOf(example('sqlite.ts', ['43', '7'], env))
  await follower.until(() => follower.output.includes('order 43: 7'), 'the second order')
  await expectEnd(follower, 'SIGINT')
})
