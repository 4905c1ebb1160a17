import { execFileSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { installChangeLog, sqliteSource } from '../../adapters/sqlite/index.js'
import { context } from '../support/source-calls.js'
import { mirrorOf, newFile, opened, rowsOf, tablesOf } from './support.js'

const USERS = `CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE COLLATE NOCASE, team, part, UNIQUE (team, part));
  INSERT INTO users VALUES ('a', 'a@x', 1, 1), ('b', 'b@x', 1, 2), ('c', 'c@x', 2, 1), ('d', NULL, NULL, NULL)`
const NUMBERED = `CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT UNIQUE, v);
  INSERT INTO items VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)`
const CHILDREN = `PRAGMA foreign_keys = ON; CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE);
  CREATE TABLE guests (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents ON DELETE SET NULL ON UPDATE CASCADE);
  INSERT INTO parents VALUES (1, 'one'), (2, 'two'); INSERT INTO children VALUES (1, 1), (2, 1), (3, 2);
  INSERT INTO guests VALUES (1, 1), (2, 2)`

/** Writes, by the title of their test, that the log must have in full: to `USERS`, if they are a text. */
const logged: Readonly<Record<string, string | { readonly tables: string; readonly writes: string }>> = {
  'INSERT, UPDATE and DELETE': `INSERT INTO users (id) VALUES ('e'); UPDATE users SET team = id; DELETE FROM users WHERE id = 'a'`,
  'DELETE without WHERE': 'DELETE FROM users',
  'an UPSERT': `INSERT INTO users VALUES ('a', 'n@x', 7, 7), ('e', 'e@x', 8, 8) ON CONFLICT (id) DO UPDATE SET email = excluded.email`,
  'a change of the key': `UPDATE users SET id = id || '!'`,
  'an exchange of keys': { tables: NUMBERED, writes: 'UPDATE items SET id = -id; UPDATE items SET id = 4 + id' },
  'REPLACE of the same key': `REPLACE INTO users VALUES ('a', 'a2@x', 5, 5)`,
  'REPLACE that deletes another row by a UNIQUE column': `REPLACE INTO users VALUES ('z', 'B@X', 5, 5)`,
  'REPLACE that deletes three other rows': `REPLACE INTO users VALUES ('a', 'b@x', 2, 1)`,
  'UPDATE OR REPLACE of a UNIQUE column': `UPDATE OR REPLACE users SET email = 'b@x' WHERE id = 'a'`,
  'UPDATE OR REPLACE of the key': { tables: NUMBERED, writes: 'UPDATE OR REPLACE items SET id = 2 WHERE id = 1' },
  'UPDATE OR REPLACE of the rowid': { tables: NUMBERED, writes: 'UPDATE OR REPLACE items SET rowid = 2 WHERE id = 1' },
  'UPDATE of the rowid': {
    tables: NUMBERED,
    writes: 'UPDATE items SET rowid = 20 WHERE id = 2; UPDATE items SET _rowid_ = 30 WHERE id = 3',
  },
  'REPLACE by the rowid of a table with another key': `REPLACE INTO users (rowid, id) VALUES (1, 'z'); UPDATE OR REPLACE users SET oid = 3 WHERE id = 'b'`,
  'a column with ON CONFLICT REPLACE': {
    tables: `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, v DEFAULT 7);
    INSERT INTO t (name) VALUES ('a'), ('b')`,
    writes: `INSERT INTO t (id, name) VALUES (9, 'a'); UPDATE t SET name = 'b' WHERE id = 9`,
  },
  'REPLACE by a default value': {
    tables: `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE DEFAULT 'x'); INSERT INTO t VALUES (1, 'x')`,
    writes: 'REPLACE INTO t (id) VALUES (2)',
  },
  'REPLACE by a generated column': {
    tables: `CREATE TABLE t (id INTEGER PRIMARY KEY, v, low AS (lower(v)) STORED UNIQUE); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')`,
    writes: `REPLACE INTO t VALUES (4, 'X'); UPDATE OR REPLACE t SET v = 'Y' WHERE id = 4`,
  },
  'REPLACE by a partial unique index': {
    tables: `CREATE TABLE t (id INTEGER PRIMARY KEY, name, isLive); CREATE UNIQUE INDEX i ON t (name) WHERE isLive;
    INSERT INTO t VALUES (1, 'x', 1), (2, 'x', 0)`,
    writes: `REPLACE INTO t VALUES (3, 'x', 1)`,
  },
  'REPLACE over a key that is equal only by its collation': {
    tables: `CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, v); INSERT INTO t VALUES ('a', 1), ('b', 1)`,
    writes: `REPLACE INTO t VALUES ('A', 2); UPDATE t SET id = 'B' WHERE id = 'b'`,
  },
  'a key whose index has another collation than its column': {
    tables: `CREATE TABLE t (id TEXT COLLATE NOCASE, v, PRIMARY KEY (id COLLATE BINARY)) WITHOUT ROWID; INSERT INTO t VALUES ('a', 1), ('A', 1), ('b', 1)`,
    writes: `REPLACE INTO t VALUES ('A', 2), ('B', 2); DELETE FROM t WHERE id COLLATE BINARY = 'a'`,
  },
  'REPLACE of 1.0 over 1 in a key without a type': {
    tables: `CREATE TABLE t (id PRIMARY KEY, v); INSERT INTO t VALUES (1, 1), ('1', 2), (x'31', 3)`,
    writes: `REPLACE INTO t VALUES (1.0, 4); UPDATE t SET v = v + 1`,
  },
  'CASCADE and SET NULL': {
    tables: CHILDREN,
    writes: 'DELETE FROM parents WHERE id = 1; UPDATE parents SET id = 7 WHERE id = 2',
  },
  'CASCADE below a REPLACE': { tables: CHILDREN, writes: `REPLACE INTO parents VALUES (9, 'one')` },
  'a trigger of the user': {
    tables: `${NUMBERED}; CREATE TABLE copies (id INTEGER PRIMARY KEY, v); CREATE TRIGGER copy AFTER UPDATE ON items
    BEGIN REPLACE INTO copies VALUES (NEW.id, NEW.v); END`,
    writes: 'UPDATE items SET v = v + 1',
  },
  'a table WITHOUT ROWID with a key of several columns': {
    tables: `CREATE TABLE t (a TEXT, b INTEGER, v, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
    INSERT INTO t VALUES ('x', 1, 1), ('y', 1, 1), ('x', 2, 1), ('a/b', 2, 1)`,
    writes: `REPLACE INTO t VALUES ('x', 1, 2); DELETE FROM t WHERE a = 'a/b'; UPDATE t SET b = b + 1`,
  },
  'a STRICT table': {
    tables: `CREATE TABLE t (id ANY PRIMARY KEY, v BLOB) STRICT; INSERT INTO t VALUES (1, x'00ff'), ('1', NULL)`,
    writes: `UPDATE t SET v = x'01'; DELETE FROM t WHERE id = '1'`,
  },
  'keys of BLOBs': {
    tables: `CREATE TABLE t (id BLOB PRIMARY KEY, v); INSERT INTO t VALUES (x'00', 1), (x'ff00', 1)`,
    writes: `UPDATE t SET v = 2; DELETE FROM t WHERE id = x'00'; INSERT INTO t VALUES (x'', 3)`,
  },
  'names with quotes and spaces': {
    tables: `CREATE TABLE "my ""t" ("a ""b" TEXT PRIMARY KEY, "order" UNIQUE, "k1", "__proto__", "rowid");
    INSERT INTO "my ""t" VALUES ('a''"', 1, 1, 1, 1), ('b', 2, 2, 2, 2)`,
    writes: `REPLACE INTO "my ""t" VALUES ('c', 1, 3, 3, 3); UPDATE "my ""t" SET "a ""b" = 'd' WHERE "order" = 2`,
  },
  'a rollback, a savepoint, and a failed statement': `BEGIN; DELETE FROM users; ROLLBACK; BEGIN; SAVEPOINT s; DELETE FROM users WHERE id = 'a'; ROLLBACK TO s;
    UPDATE users SET team = id; INSERT OR IGNORE INTO users VALUES ('a', 'b@x', 2, 1); COMMIT`,
}

describe('[Z1] the log has every row that a statement changes', () => {
  test.each(Object.entries(logged))('%s', async (_, each) => {
    const { tables, writes } = typeof each === 'string' ? { tables: USERS, writes: each } : each
    const { path, writer } = newFile(tables)
    const mirrors = await Promise.all(
      tablesOf(writer).map(async (table) => ({ table, ...(await mirrorOf(path, table)) })),
    )
    for (const { table, until } of mirrors) await until(() => rowsOf(writer, table))
    writer.exec(writes)
    for (const { table, informer, lists, until } of mirrors) {
      await informer.waitFor(sqliteSource({ connect: () => writer, table }).mark(writer))
      await until(() => rowsOf(writer, table))
      expect(lists()).toBe(1)
    }
  })

  test('writes of TEMP triggers, of another program, and of a file that is attached under another name', async () => {
    const { path, writer } = newFile(NUMBERED)
    const { until, lists } = await mirrorOf(path, 'items')
    writer.exec(`CREATE TEMP TABLE orders (v); CREATE TEMP TRIGGER done AFTER INSERT ON orders BEGIN UPDATE items SET v = NEW.v; END;
      INSERT INTO orders VALUES (50)`)
    await until(() => rowsOf(writer, 'items'))
    const other = new DatabaseSync(':memory:')
    other.exec(`ATTACH '${path.replaceAll("'", "''")}' AS shop; REPLACE INTO shop.items VALUES (8, 'one', 1)`)
    other.close()
    const script = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=5)
db.execute("INSERT OR REPLACE INTO items VALUES (9, 'two', 9)")
print(db.execute('SELECT mark FROM listwatch_mark').fetchone()[0])
db.commit()`
    execFileSync('python3', ['-c', script, path])
    await until(() => rowsOf(writer, 'items'))
    expect(lists()).toBe(1)
  })
})

/** DDL that changes rows without a log, and how it ends. */
const listedAgain: readonly (readonly [title: string, ddl: string])[] = [
  ['ADD COLUMN', `ALTER TABLE items ADD COLUMN state DEFAULT 'new'`],
  ['DROP COLUMN', 'ALTER TABLE items DROP COLUMN v'],
  ['RENAME COLUMN of the key', 'ALTER TABLE items RENAME COLUMN id TO "the ""id"; UPDATE items SET v = 9'],
  ['VACUUM', 'VACUUM'],
]

describe('[Z2] a change of the schema costs one list, which shows all rows', () => {
  test.each(listedAgain)('%s', async (_, ddl) => {
    const { path, writer } = newFile(NUMBERED)
    const { until, lists } = await mirrorOf(path, 'items')
    writer.exec(ddl)
    await until(() => rowsOf(writer, 'items'))
    await expect.poll(lists, { timeout: 20_000 }).toBe(2)
    writer.exec('DELETE FROM items WHERE rowid = 1')
    await until(() => rowsOf(writer, 'items'))
    expect(lists()).toBe(2)
  })

  test('the 12 steps of ALTER, which create the same triggers again, and a change of rows in between', async () => {
    const { path, writer } = newFile(NUMBERED)
    const { until, lists } = await mirrorOf(path, 'items')
    const triggers = writer.prepare(`SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'items'`).all()
    writer.exec(`BEGIN; CREATE TABLE new_items (id INTEGER PRIMARY KEY, code TEXT UNIQUE, v);
      INSERT INTO new_items SELECT id, code, v * 100 FROM items; DROP TABLE items; ALTER TABLE new_items RENAME TO items;
      ${triggers.map(({ sql }) => sql).join(';')}; COMMIT`)
    await until(() => rowsOf(writer, 'items'))
    expect(lists()).toBe(2)
  })

  test('a table that was renamed is NOT_FOUND, and mirrors under its new name without another installation', async () => {
    const { path, writer } = newFile(NUMBERED)
    const { errors } = await mirrorOf(path, 'items')
    writer.exec('ALTER TABLE items RENAME TO "the ""things"; UPDATE "the ""things" SET v = 0')
    await expect.poll(() => errors.at(-1)?.message, { timeout: 20_000 }).toContain('there is no table "items"')
    const { until } = await mirrorOf(path, 'the "things')
    writer.exec('DELETE FROM "the ""things" WHERE v = 0 AND id = 1')
    await until(() => rowsOf(writer, 'the "things'))
  })

  test.each([
    ['without its triggers', 'DROP TRIGGER listwatch_1_insert', 'do not fit'],
    ['with a unique index that is newer than its triggers', 'CREATE UNIQUE INDEX later ON items (v)', 'do not fit'],
    ['that was created again', 'DROP TABLE items; CREATE TABLE items (id INTEGER PRIMARY KEY)', 'no change log'],
  ])('a table %s is refused with the command that repairs it', async (_, ddl, reason) => {
    const { path, writer } = newFile(NUMBERED)
    const { errors, until } = await mirrorOf(path, 'items')
    writer.exec(ddl)
    await expect.poll(() => errors.at(-1)?.message, { timeout: 20_000 }).toContain(reason)
    expect(errors.at(-1)?.message).toContain(
      `npx listwatch sqlite install '${path.replaceAll("'", `'\\''`)}' --table 'items'`,
    )
    installChangeLog(writer, { table: 'items' })
    await until(() => rowsOf(writer, 'items'))
  })
})

test('[Z1] a statement fails if the log is gone, so that nothing is missed', () => {
  const { writer } = newFile(NUMBERED)
  writer.exec('DROP TABLE listwatch_log')
  expect(() => writer.exec('UPDATE items SET v = 0')).toThrow(/no such table: main.listwatch_log/)
})

test('[Z1] the log is trimmed by writers', () => {
  const { writer } = newFile(NUMBERED)
  installChangeLog(writer, { table: 'items', keepRows: 100 })
  for (let i = 0; i < 1_500; i++) writer.exec('UPDATE items SET v = v + 1')
  const { first, last } = { ...writer.prepare('SELECT min(n) AS first, max(n) AS last FROM listwatch_log').get() }
  expect(Number(first)).toBeGreaterThan(3_900)
  expect(Number(last)).toBeGreaterThan(4_500)
})

test('rows whose key is NULL, or of another type than its column, are left out with one warning', async () => {
  const { path } = newFile(
    `CREATE TABLE t (id TEXT PRIMARY KEY, v); INSERT INTO t VALUES (NULL, 1), (NULL, 2), (x'61', 3), ('a', 4)`,
  )
  const warnings: string[] = []
  const source = sqliteSource({ connect: () => opened(path), table: 't' })
  for (const _ of [1, 2]) {
    const listing = { ...context(), pageSize: 10, warn: (text: string) => void warnings.push(text) }
    const objects: unknown[] = []
    for await (const page of source.list(listing)) objects.push(...page.events)
    expect(objects).toEqual([{ type: 'put', key: 'a', object: { id: 'a', v: 4 } }])
  }
  expect(warnings).toEqual(['rows of "t" are not mirrored: their key is NULL, or of another type than its column'])
})
