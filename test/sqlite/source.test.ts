import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  sqliteSource,
  uninstallChangeLog,
} from '../../adapters/sqlite/index.js'
import { fileCache } from '../../caches/file/index.js'
import { type Clock, systemClock } from '../../src/contract/clock.js'
import { OptionError } from '../../src/contract/errors.js'
import { drivers } from '../conformance/sqlite-harness.js'
import { context, listed, refusal } from '../support/source-calls.js'
import { mirrorOf, newFile, newPath, opened, rowsOf } from './support.js'

const ITEMS = 'CREATE TABLE items (id INTEGER PRIMARY KEY, v)'
const MANY = `${ITEMS}; INSERT INTO items SELECT value, 0 FROM generate_series(1, 5000)`.replace(
  'generate_series(1, 5000)',
  '(WITH RECURSIVE c (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c WHERE value < 5000) SELECT value FROM c)',
)

function sourceOf(path: string, options = {}) {
  return sqliteSource({ connect: () => new DatabaseSync(path, { readOnly: true }), table: 'items', ...options })
}

describe.each(['wal', 'delete'])('[Z4] a list beside a writer: journal mode %s', (journalMode) => {
  test('commits succeed between all pages, rows that are appended do not prolong it, and it ends exact', async () => {
    const { path, writer } = newFile(MANY, journalMode)
    writer.exec('PRAGMA busy_timeout = 0')
    let pages = 0
    const rows = new Map<string, unknown>()
    for await (const { events } of sourceOf(path).list({ ...context(), pageSize: 500 })) {
      pages++
      for (const event of events) {
        if (event.type === 'put') rows.set(event.key, event.object)
        else if (event.key !== undefined) rows.delete(event.key)
      }
      if (pages > 10) continue // The last one has the changes during the list.
      writer.exec(`BEGIN; DELETE FROM items WHERE id = ${pages}; UPDATE items SET v = v + 1 WHERE id > 4990;
        UPDATE items SET id = -id WHERE id = ${pages + 3_000}`)
      const append = writer.prepare('INSERT INTO items (v) VALUES (?)')
      for (let i = 0; i < 600; i++) append.run(pages)
      writer.exec('COMMIT')
    }
    expect(pages).toBe(11)
    expect([...rows.values()].map((row) => JSON.stringify(row)).sort()).toEqual(rowsOf(writer, 'items'))
  })

  test.each(['ALTER TABLE items ADD COLUMN later DEFAULT 7', 'ALTER TABLE items DROP COLUMN v'])(
    'it fails, and is repeated, if the schema is changed between pages by %s',
    async (ddl) => {
      const { path, writer } = newFile(MANY, journalMode)
      const pages = sourceOf(path)
        .list({ ...context(), pageSize: 500 })
        [Symbol.asyncIterator]()
      await pages.next()
      writer.exec(ddl)
      const rest = async (): Promise<void> => {
        while ((await pages.next()).done !== true);
      }
      await expect(rest()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /the schema of the file was changed/ })
    },
  )
})

test('a list has the rows beyond a key that is not UTF-8', async () => {
  const { path, writer } = newFile('CREATE TABLE items (id TEXT PRIMARY KEY) WITHOUT ROWID')
  writer.exec(`INSERT INTO items VALUES ('a'), (CAST(x'80' AS TEXT)), ('é'), ('😀'), (CAST(x'ff' AS TEXT))`)
  for (const size of [2, 9]) expect((await listed(sourceOf(path), size)).objects.size).toBe(4)
})

test('a list ends with an error if the driver cuts the keys of a page at a NUL, as that of Node 22 does', async () => {
  const { path, writer } = newFile('CREATE TABLE items (id TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID')
  writer.exec(`INSERT INTO items VALUES ('a' || char(0) || 1), ('a' || char(0) || 2), ('b')`)
  const cut = (value: unknown): unknown => (typeof value === 'string' ? value.replace(/\0.*/s, '') : value)
  const connect = (): SqliteDatabase => {
    const database = new DatabaseSync(path, { readOnly: true })
    const prepare = (sql: string): SqliteStatement => {
      const statement = database.prepare(sql)
      const all = (...values: SqliteValue[]): unknown[] =>
        statement.all(...values).map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, cut(v)])))
      return { all, get: (...values) => statement.get(...values) }
    }
    return { prepare, exec: (sql) => database.exec(sql), close: () => database.close() }
  }
  await expect(listed(sourceOf(path, { connect }), 1)).rejects.toThrow('a text in the key of "items" has a NUL')
})

test('[Z4] the event loop continues between the pages of a list and within a large change', async () => {
  const { path, writer } = newFile(MANY)
  let slept = 0
  const clock: Clock = { ...systemClock, sleep: (...of) => systemClock.sleep(...of).finally(() => void slept++) }
  const source = sourceOf(path, { wake: 'poll' })
  const { version } = await listed(source)
  writer.exec('UPDATE items SET v = 1')
  const watch = source
    .watch({ ...context(), clock, after: version, onProgressRequest: () => {} })
    [Symbol.asyncIterator]()
  const { value } = await watch.next()
  expect([value?.events.length, slept]).toEqual([5_000, 4])
  await watch.return?.()
})

test.each(Object.entries(drivers))(
  '[Z6] an integer beyond 2^53 is exact as a bigint, and else makes its row invalid, by %s',
  async (_, open) => {
    const { path, writer } = newFile(
      `${ITEMS}; INSERT INTO items VALUES (9007199254740993, 1), (2, -9223372036854775808), (3, 4)`,
    )
    const connect = (): SqliteDatabase => open(path)
    const numbers = await listed(sourceOf(path, { connect }))
    expect(numbers.invalid.toSorted()).toEqual(['2', '9007199254740993'])
    expect([...numbers.objects]).toEqual([['3', { id: 3, v: 4 }]])
    const exact = await listed(sourceOf(path, { connect, integers: 'bigint' }))
    expect(exact.objects.get('9007199254740993')).toEqual({ id: 9007199254740993n, v: 1n })
    expect(exact.objects.get('2')).toEqual({ id: 2n, v: -9223372036854775808n })
    const { informer, until } = await mirrorOf(path, 'items', { sql: 'v > 0' })
    writer.exec('DELETE FROM items WHERE id = 9007199254740993')
    await until(() => rowsOf(writer, 'items', 'v > 0'))
    await informer.stop()
  },
)

test('[Z7] while a writer holds the file, reads wait and the event loop continues; then nothing is missed', async () => {
  const { path, writer } = newFile(ITEMS, 'delete')
  const { until, errors, lists } = await mirrorOf(path, 'items')
  writer.exec('BEGIN EXCLUSIVE; INSERT INTO items VALUES (1, 1)')
  const beganAt = performance.now()
  const other = mirrorOf(path, 'items')
  await systemClock.sleep(300)
  expect(performance.now() - beganAt).toBeLessThan(2_000)
  writer.exec('COMMIT')
  await until(() => rowsOf(writer, 'items'))
  await (await other).until(() => rowsOf(writer, 'items'))
  expect([errors, lists()]).toEqual([[], 1])
  writer.exec('BEGIN EXCLUSIVE')
  expect(await refusal(sourceOf(path, { timeoutMs: 50 }))).toMatchObject({ code: 'UNAVAILABLE', message: /locked/ })
})

test('[H1] a mirror that starts from its cache resumes without a list, and lists if the cache is of another file', async () => {
  const { path, writer } = newFile(`${ITEMS}; INSERT INTO items VALUES (1, 1), (2, 2)`)
  const saved = join(dirname(path), 'items.cache')
  const cached = async (of: string) => await mirrorOf(of, 'items', {}, fileCache({ path: saved }))
  await (await cached(path)).informer.stop()
  writer.exec('DELETE FROM items WHERE id = 1; INSERT INTO items VALUES (3, 3)')
  const second = await cached(path)
  await second.until(() => rowsOf(writer, 'items'))
  expect(second.lists()).toBe(0)
  await second.informer.stop()
  const other = newFile(`${ITEMS}; INSERT INTO items VALUES (9, 9)`)
  const third = await cached(other.path)
  await third.until(() => rowsOf(other.writer, 'items'))
  expect(third.lists()).toBe(1)
})

test('two mirrors of one source, a stop in the middle of a change, and a start of another mirror', async () => {
  const { path, writer } = newFile(MANY)
  const [one, other] = await Promise.all([mirrorOf(path, 'items'), mirrorOf(path, 'items')])
  writer.exec('UPDATE items SET v = 1')
  await one.informer.stop()
  await other.until(() => rowsOf(writer, 'items'))
  expect(other.lists()).toBe(1)
})

test('the files are not watched while a writer is fast, because that makes its commits slower', async () => {
  const { path, writer } = newFile(MANY)
  const mirror = await mirrorOf(path, 'items')
  const watches = (): number => watchesOf(dirname(path))
  await expect.poll(watches, { timeout: 8_000, interval: 5 }).toBe(1)
  const commit = writer.prepare('UPDATE items SET v = v + 1 WHERE id = ?')
  const watchesAfterCommits = (): number => {
    for (let id = 1; id <= 200; id++) commit.run(id)
    return watches()
  }
  await expect.poll(watchesAfterCommits, { timeout: 8_000, interval: 1 }).toBe(0)
  await mirror.until(() => rowsOf(writer, 'items'))
  await expect.poll(watches, { timeout: 8_000, interval: 5 }).toBe(1)
})

/** How often this process watches a folder, as Linux knows it. */
function watchesOf(folder: string): number {
  const watch = new RegExp(`^inotify wd:\\w+ ino:${statSync(folder).ino.toString(16)} `, 'gm')
  const files = readdirSync('/proc/self/fd').filter((file) => existsSync(`/proc/self/fdinfo/${file}`))
  return files.flatMap((file) => readFileSync(`/proc/self/fdinfo/${file}`, 'utf8').match(watch) ?? []).length
}

test('a version that the log has lost, or after too many changes, is VERSION_EXPIRED', async () => {
  const { path, writer } = newFile(MANY)
  const source = sourceOf(path, { maxDeltaRows: 4_000 })
  const { version } = await listed(source)
  const watching = { ...context(), after: version, onProgressRequest: () => {} }
  const watched = async (): Promise<unknown> => await source.watch(watching)[Symbol.asyncIterator]().next()
  writer.exec('UPDATE items SET v = 1')
  await expect(watched()).rejects.toMatchObject({ code: 'VERSION_EXPIRED', message: /so many rows/ })
  writer.exec('DELETE FROM listwatch_log WHERE n < 3000')
  await expect(watched()).rejects.toMatchObject({ code: 'VERSION_EXPIRED', message: /was removed/ })
})

/** Mistakes, and the error that names each. */
const mistakes: readonly (readonly [title: string, options: object, message: RegExp])[] = [
  ['a subquery in sql', { sql: 'v IN (SELECT v FROM items)' }, /it must depend on nothing but the row: subqueries/],
  ['the time in sql', { sql: `v < date('now')` }, /sql: .*non-deterministic/],
  ['an unknown column in sql', { sql: 'nope = 1' }, /sql: .*no such column: nope/],
  ['an unknown column', { columns: ['nope'] }, /"items" has no column "nope"; it has id, v/],
  ['a file in memory', { connect: () => new DatabaseSync(':memory:') }, /option "connect" must open a file/],
  ['a path as the connection', { connect: () => 'app.db' }, /option "connect" must return a new connection/],
  ['a file that does not exist', { connect: () => new DatabaseSync('/none/a.db', { readOnly: true }) }, /no such file/],
  ['an unknown table', { table: 'nope' }, /there is no table "nope"; the file has items/],
]

test.each(mistakes)('%s is refused by a message that names the remedy', async (_, options, message) => {
  const { path } = newFile(ITEMS)
  expect((await refusal(sourceOf(path, options))).message).toMatch(message)
})

test('the same connection at each call is refused', async () => {
  const { path } = newFile(ITEMS)
  const same = opened(path)
  const { message } = await refusal(sourceOf(path, { connect: () => same }))
  expect(message).toContain('option "connect" must return a new connection at each call')
})

test.each([
  ['without a primary key', 'CREATE TABLE items (v)', /no primary key; name the columns of a unique index with --key/],
  ['with a unique expression', `${ITEMS}; CREATE UNIQUE INDEX i ON items (lower(v))`, /index on an expression/],
  ['with a column of the queries', 'CREATE TABLE items (id PRIMARY KEY, listwatch_k1)', /rename .* "listwatch_k1"/],
  ['that is a view', 'CREATE VIEW items AS SELECT 1 AS id', /is not a table, but a view/],
  ['with five key columns', 'CREATE TABLE items (a, b, c, d, e, PRIMARY KEY (a, b, c, d, e))', /at most 4 are allowed/],
])('a table %s is refused by an installation', (_, sql, message) => {
  const database = opened(newPath())
  database.exec(sql)
  expect(() => installChangeLog(database, { table: 'items' })).toThrow(message)
  expect(rowsOf(database, 'sqlite_schema', `name LIKE 'listwatch%'`)).toEqual([])
})

test('an installation that fails says why, and leaves no transaction', () => {
  const path = newPath()
  const [writer, reader] = [opened(path), opened(path)]
  writer.exec('PRAGMA busy_timeout = 0; PRAGMA page_size = 512; CREATE TABLE items (id INTEGER PRIMARY KEY)')
  const install = (): void => installChangeLog(writer, { table: 'items' })
  writer.exec('PRAGMA max_page_count = 6')
  expect(install).toThrow('disk is full')
  writer.exec('PRAGMA max_page_count = 99')
  reader.exec('BEGIN; SELECT * FROM items')
  expect(install).toThrow('database is locked')
  reader.exec('COMMIT; INSERT INTO items VALUES (1)')
  install()
  expect(changeLogStatus(reader).tables).toHaveLength(1)
})

test('[B1] wrong options of an installation or a removal are refused, and change nothing', () => {
  const { writer } = newFile('CREATE TABLE items (id INTEGER PRIMARY KEY)')
  const before = rowsOf(writer, 'sqlite_schema')
  for (const wrong of [{}, { tabel: 'items' }, { table: 'items', keepRows: 0 }, { table: 'items', all: true }])
    for (const call of [installChangeLog, uninstallChangeLog])
      expect(() => Reflect.apply(call, undefined, [writer, wrong])).toThrow(OptionError)
  expect(rowsOf(writer, 'sqlite_schema')).toEqual(before)
})

test('an installation that is repeated changes nothing, one that runs its SQL is the same, and a removal leaves nothing', () => {
  const { writer } = newFile('CREATE TABLE items (id INTEGER PRIMARY KEY, a NOT NULL, b NOT NULL, UNIQUE (a, b))')
  const schema = (): string[] => rowsOf(writer, 'sqlite_schema', `name LIKE 'listwatch%'`)
  const version = (): unknown => writer.prepare('PRAGMA schema_version').get()
  const [before, at] = [schema(), version()]
  installChangeLog(writer, { table: 'ITEMS' })
  expect([schema(), version()]).toEqual([before, at])
  installChangeLog(writer, { table: 'items', key: ['b', 'A'] })
  expect(String(schema())).toContain(String.raw`(1, OLD.\"b\", OLD.\"a\")`)
  expect(uninstallChangeLog(writer, { table: 'items' })).toBe(true)
  expect([uninstallChangeLog(writer, { all: true }), schema()]).toEqual([true, []])
  writer.exec(`BEGIN; ${installChangeLogSql(writer, { table: 'items' })}; COMMIT`)
  expect(schema().map((row) => row.replace(/"rootpage":\d+/, ''))).toEqual(
    before.map((row) => row.replace(/"rootpage":\d+/, '')),
  )
})
