import mysql from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { type MysqlTableOptions, mysqlDatabase } from '../../adapters/mysql/index.js'
import { createInformer, groupInformers, type Informer } from '../../src/index.js'
import { describeMysql } from '../servers/index.js'
import type { MysqlServer } from '../servers/mysql.js'
import { useMysql } from './support.js'

type Row = Readonly<Record<string, unknown>>
/** Writes, by the title of their test: to `ITEMS`, if they are a text. */
type Cases = Readonly<Record<string, string | Case>>
type Case = { readonly tables?: string; readonly writes: string; readonly lists?: Lists }
type Lists = number | { readonly mariadb: number; readonly mysql: number }

const ITEMS = `CREATE TABLE items (id INT PRIMARY KEY, v VARCHAR(40), u INT UNIQUE);
  INSERT INTO items VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)`
const FAMILY = `CREATE TABLE parents (id INT PRIMARY KEY, name VARCHAR(9));
  CREATE TABLE items (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE CASCADE);
  CREATE TABLE others (id INT PRIMARY KEY, v INT); INSERT INTO others VALUES (1, 1);
  INSERT INTO parents VALUES (1, 'a'), (2, 'b'); INSERT INTO items VALUES (1, 1), (2, 1), (3, 2)`

/** Each character set of keys, and a character that few others have. The servers allow no more columns in a key. */
const CHARSETS = {
  ascii: `'~'`,
  latin1: `'é'`,
  latin2: `'ł'`,
  latin7: `'š'`,
  cp1250: `'ř'`,
  cp1251: `'Ж'`,
  cp1256: `'ش'`,
  cp1257: `'ž'`,
  koi8r: `'я'`,
  macroman: `'Ω'`,
  ucs2: `'日'`,
  utf16: `'😀'`,
  utf16le: `'😀'`,
  utf32: `'😀'`,
  utf8mb3: `'日'`,
  utf8mb4: `'😀'`,
}

/** Writes that a mirror must have in full, and the number of lists for them. */
const cases: Cases = {
  'INSERT, UPDATE and DELETE': `INSERT INTO items (id) VALUES (4); UPDATE items SET v = 'x'; DELETE FROM items WHERE id = 2`,
  'REPLACE that deletes another row by a unique column': `REPLACE INTO items VALUES (1, 'new', 2), (7, 'seven', 3)`,
  'ON DUPLICATE KEY UPDATE': `INSERT INTO items VALUES (9, 'n', 1) ON DUPLICATE KEY UPDATE id = 9, v = 'moved'`,
  'a change of keys': 'UPDATE items SET id = id + 10; UPDATE items SET id = 5 WHERE id = 12',
  'a multi-table UPDATE and DELETE': {
    tables: `CREATE TABLE items (id INT PRIMARY KEY, p INT); CREATE TABLE others LIKE items; INSERT INTO items VALUES (1, 1), (3, 1); INSERT INTO others VALUES (1, 1)`,
    writes:
      'UPDATE items, others SET items.p = NULL, others.p = 2 WHERE items.id = 3; DELETE items, others FROM items, others',
  },
  'ROLLBACK, a savepoint and a failed statement': `BEGIN; DELETE FROM items; ROLLBACK; BEGIN; DELETE FROM items WHERE id = 1; SAVEPOINT s; DELETE FROM items; ROLLBACK TO s; INSERT IGNORE INTO items VALUES (8, 'x', 2); COMMIT`,
  'binlog_row_image = MINIMAL': `SET SESSION binlog_row_image = MINIMAL; UPDATE items SET v = 'm' WHERE id = 1; UPDATE items SET id = 20 WHERE id = 2; DELETE FROM items WHERE id = 3`,
  'binlog_row_image = NOBLOB': `SET SESSION binlog_row_image = NOBLOB; UPDATE items SET v = 'm'; UPDATE items SET id = 20 WHERE id = 2`,
  'a large transaction': `INSERT INTO items (id, v) SELECT seq.n + 10, REPEAT('x', 40) FROM (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r) seq; UPDATE items SET v = 'y'`,
  CASCADE: {
    tables: FAMILY,
    writes: 'DELETE FROM parents WHERE id = 1; UPDATE parents SET id = 5 WHERE id = 2',
    lists: { mariadb: 1, mysql: 0 },
  },
  'a change of a parent that cascades to no row': {
    tables: FAMILY,
    writes: `INSERT INTO parents VALUES (7, 'c'); UPDATE others SET v = 3`,
  },
  TRUNCATE: { writes: 'TRUNCATE items; INSERT INTO items (id) VALUES (6)', lists: 1 },
  'ALTER TABLE': { writes: 'ALTER TABLE items ADD w INT DEFAULT 7 FIRST, DROP v; UPDATE items SET w = id', lists: 1 },
  'an exchange of two tables': {
    writes:
      'CREATE TABLE other LIKE items; INSERT INTO other (id) VALUES (77); RENAME TABLE items TO was, other TO items',
    lists: 1,
  },
  'DDL of a table whose name only begins like it': `CREATE TABLE items_2 (id INT PRIMARY KEY); TRUNCATE items_2; DROP TABLE items_2; ANALYZE TABLE items; CREATE OR REPLACE VIEW v AS SELECT * FROM items;
     CREATE DATABASE IF NOT EXISTS elsewhere; CREATE TABLE elsewhere.items (id INT PRIMARY KEY); INSERT INTO elsewhere.items VALUES (9); DROP DATABASE elsewhere`,
  'XA COMMIT': `XA START 'x'; UPDATE items SET v = 'xa' WHERE id = 1; INSERT INTO items (id) VALUES (30); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'; XA START 'y', 'b', 3; UPDATE items SET v = 'one' WHERE id = 2; XA END 'y', 'b', 3; XA COMMIT 'y', 'b', 3 ONE PHASE`,
  'XA ROLLBACK': `XA START 'x'; DELETE FROM items; XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x'`,
  'a trigger': {
    tables: `${ITEMS}; CREATE TABLE log (id INT PRIMARY KEY); CREATE TRIGGER t AFTER INSERT ON log FOR EACH ROW UPDATE items SET v = NEW.id`,
    writes: 'INSERT INTO log VALUES (5), (6)',
  },
  'keys of texts with several parts': {
    tables: `CREATE TABLE items (a VARCHAR(20) COLLATE utf8mb4_general_ci, n BIGINT UNSIGNED, v INT, PRIMARY KEY (a, n)); INSERT INTO items VALUES ('a/b', 1, 1), ('ö\\\\', 18446744073709551615, 1), ('', 0, 1)`,
    writes: `SET SESSION binlog_row_image = MINIMAL; UPDATE items SET a = UPPER(a), v = v + 1; UPDATE items SET n = n - 1 WHERE v = 2 AND n > 1; DELETE FROM items WHERE a = ''; INSERT INTO items VALUES ('😀', 3, 3), ('x ', 1, 1); UPDATE items SET a = 'x' WHERE v = 1`,
  },
  'keys of CHAR, latin1 and negative numbers': {
    tables: `CREATE TABLE items (a CHAR(9) CHARACTER SET latin1, t TINYINT, m MEDIUMINT, s SMALLINT UNSIGNED, v INT, PRIMARY KEY (a, t, m, s)); INSERT INTO items VALUES ('é', -128, -8388608, 65535, 1), ('', 127, 8388607, 0, 1)`,
    writes: `UPDATE items SET v = 2; UPDATE items SET m = -1 WHERE t = 127; INSERT INTO items VALUES ('z  ', 0, 0, 0, 0)`,
  },
  'keys of every character set': {
    tables: `CREATE TABLE items (${Object.keys(CHARSETS)
      .map((charset, n) => `${charset} ${n % 2 === 0 ? 'CHAR' : 'VARCHAR'}(4) CHARACTER SET ${charset}`)
      .join()}, v INT, PRIMARY KEY (${Object.keys(CHARSETS).join()}));
    INSERT INTO items VALUES (${Object.values(CHARSETS).join()}, 1), (${Object.values(CHARSETS).fill(`'x'`).join()}, 1)`,
    writes: `UPDATE items SET v = 2; INSERT INTO items VALUES (${Object.values(CHARSETS)
      .map((character) => `CONCAT(${character}, ' b')`)
      .join()}, 4); UPDATE items SET utf16 = 'y' WHERE ascii = 'x'`,
  },
  'keys of bytes': {
    tables: `CREATE TABLE items (a BINARY(4), b VARBINARY(300), v INT, PRIMARY KEY (a, b)); INSERT INTO items VALUES (x'00', x'', 1), (x'ff00ff00', x'0000', 1)`,
    writes: `UPDATE items SET v = 2; UPDATE items SET b = x'01' WHERE a = x'00000000'`,
  },
  'columns of all types before the key': {
    tables: `CREATE TABLE items (d DECIMAL(20,5), f FLOAT, e ENUM('a','b'), s SET('a','b'), b BIT(9), j JSON, l LONGTEXT, bl BLOB, dt DATETIME(3), ti TIME(6), ts TIMESTAMP(2) NULL, y YEAR, g GEOMETRY, da DATE, vc VARCHAR(300), id INT PRIMARY KEY);
    INSERT INTO items VALUES (-1.5, 1.5, 'b', 'a,b', b'100000001', '{"a":[1]}', REPEAT('é', 300), x'00ff', '2026-01-01 00:00:00.123', '-10:00:00.5', '2026-01-01', 2026, ST_GeomFromText('POINT(1 2)'), '2026-01-01', 'v', 1), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2)`,
    writes: `UPDATE items SET d = 2, j = '{"b":2}' WHERE id = 1; UPDATE items SET vc = 'w', j = '[]' WHERE id = 2; INSERT INTO items (id) VALUES (3)`,
  },
  'a virtual column before the key': {
    tables: `CREATE TABLE items (w INT AS (id + 1) VIRTUAL, s INT AS (id * 2) STORED, id INT PRIMARY KEY, v INT); INSERT INTO items (id, v) VALUES (1, 1), (2, 2)`,
    writes: 'UPDATE items SET v = 5; UPDATE items SET id = 9 WHERE id = 1',
  },
  'names with quotes and dots': {
    tables: 'CREATE TABLE `it.e``ms` (`k ``1` INT PRIMARY KEY, `order` INT); INSERT INTO `it.e``ms` VALUES (1, 1)',
    writes: 'INSERT INTO `it.e``ms` VALUES (2, 2); UPDATE `it.e``ms` SET `order` = 5',
  },
}

const ofProduct: Readonly<Record<'mariadb' | 'mysql', Cases>> = {
  mariadb: {
    log_bin_compress: `SET GLOBAL log_bin_compress = ON, log_bin_compress_min_len = 10; UPDATE items SET v = REPEAT('z', 40); DELETE FROM items WHERE id = 2; INSERT INTO items VALUES (4, REPEAT('y', 40), 4); SET GLOBAL log_bin_compress = OFF`,
    'a statement as text': { writes: `SET SESSION binlog_format = STATEMENT; UPDATE items SET v = 's'`, lists: 1 },
    'DDL in SET STATEMENT': { writes: 'SET STATEMENT lock_wait_timeout = 5 FOR TRUNCATE items', lists: 1 },
    'a sequence and a temporary table of the same name': `CREATE SEQUENCE seq; SELECT NEXTVAL(seq); CREATE TEMPORARY TABLE items (id INT); INSERT INTO items VALUES (1); DROP TEMPORARY TABLE items; UPDATE items SET v = NEXTVAL(seq)`,
  },
  mysql: {
    binlog_transaction_compression: `SET SESSION binlog_transaction_compression = ON; UPDATE items SET v = 'zstd'; DELETE FROM items WHERE id = 3`,
    'a partial update of JSON': {
      tables: `CREATE TABLE items (j JSON, id INT PRIMARY KEY); INSERT INTO items VALUES ('{"a": 1, "b": [1, 2, 3]}', 1)`,
      writes: `SET SESSION binlog_row_value_options = PARTIAL_JSON; UPDATE items SET j = JSON_SET(j, '$.b[1]', 7)`,
    },
    'a GTID with a tag': `SET gtid_next = 'AUTOMATIC:tagged'; UPDATE items SET v = 'tag'; SET gtid_next = AUTOMATIC; UPDATE items SET v = 'none' WHERE id = 2`,
  },
}

function tableOf(sql: string): string {
  return sql.includes('`it.e``ms`') ? '`it.e``ms`' : 'items'
}

/** Rows as texts, in an order that depends on nothing but the rows. */
function textsOf(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).sort()
}

const READ = { supportBigNumbers: true, bigNumberStrings: false } as const
let databases = 0

/** A database of its own, with a mirror of each table, and a connection that writes. */
async function databaseWith(server: MysqlServer, setUp: string, options: readonly MysqlTableOptions[]) {
  const database = `of_test_${++databases}`
  await server.sql(`CREATE DATABASE ${database}`)
  const writer = await server.connect({ database, multipleStatements: true, ...READ })
  await writer.query(setUp)
  const shop = mysqlDatabase({ connect: () => mysql.createConnection({ ...server.address, database }) })
  const informers: Informer<Row, object>[] = options.map((each) =>
    createInformer({ source: shop.table<Row>(each), audit: false }),
  )
  const errors: string[] = []
  for (const each of informers) each.on('error', ({ code, message }) => void errors.push(`${code}: ${message}`))
  const group = groupInformers(informers)
  onTestFinished(async () => {
    await group.stop()
    writer.destroy()
    await server.sql(`DROP DATABASE ${database}`)
  })
  await group.start().synced({ timeoutMs: 20_000 })
  const rowsOf = async (table: string): Promise<Row[]> => {
    const [rows] = await writer.query(`SELECT * FROM ${table}`)
    return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : []
  }
  return { writer, shop, informers, errors, rowsOf, database }
}

describeMysql('the changes of', (server) => {
  const own = useMysql(server, {}, async (at) => void (await at.sql('SET GLOBAL sql_quote_show_create = OFF')))
  const flavor = server.name.startsWith('mariadb') ? 'mariadb' : 'mysql'

  for (const [title, each] of Object.entries({ ...cases, ...ofProduct[flavor] }))
    test(`[MY1] ${title}: the mirror has the same rows, and lists only if the binlog does not name them`, async () => {
      const { tables: setUp = ITEMS, writes, lists = 0 }: Case = typeof each === 'string' ? { writes: each } : each
      const table = tableOf(setUp)
      const { writer, shop, informers, errors, rowsOf } = await databaseWith(own.mysql, setUp, [
        { table, integers: 'bigint' },
      ])
      const [items] = informers
      await writer.query(writes)
      await items?.waitFor(await shop.mark(writer), { timeoutMs: 10_000 })
      const expected = textsOf((await rowsOf(table)).map(bigints))
      await expect.poll(() => textsOf((items?.list() ?? []).map(bigints))).toEqual(expected)
      expect([items?.status.relists, errors], errors.join()).toEqual([
        typeof lists === 'number' ? lists : lists[flavor],
        errors.filter((each) => /^VERSION_EXPIRED/.test(each)),
      ])
    })
})

/** JSON has no bigints. */
function bigints(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : typeof value === 'number' ? String(value) : value,
    ]),
  )
}
