import type { Connection } from 'mysql2/promise'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BinlogStart, openBinlog } from '../../adapters/mysql/binlog/binlog-stream.js'
import type { BinlogItem, KeyKind, LoggedTable, LoggedTransaction } from '../../adapters/mysql/binlog/binlog-types.js'
import { isKnownCharset } from '../../adapters/mysql/binlog/key-text.js'
import { TransactionReader } from '../../adapters/mysql/binlog/transaction-reader.js'
import { coreOf, type MysqlCore } from '../../adapters/mysql/connection/mysql-client.js'
import {
  parseDomainGtid,
  parseGtid,
  parseGtidPosition,
  parseGtidSet,
  withDomainGtid,
  withGtid,
} from '../../adapters/mysql/gtid.js'
import { systemClock } from '../../src/contract/clock.js'
import { describeMysql } from '../servers/index.js'
import type { MysqlServer } from '../servers/mysql.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { useMysql } from './support.js'

const signed: KeyKind = { type: 'integer', isUnsigned: false }

function logged(table: string, columnCount: number, more: Partial<LoggedTable> = {}): LoggedTable {
  return { database: 'test', table, columnCount, key: [{ ordinal: 0, kind: signed }], ...more }
}

const last: LoggedTable = logged('last', 1)
let lastNumber = 0

async function endOf(mysql: MysqlServer): Promise<{ file: string; position: number }> {
  const [row] = await mysql.sql(mysql.isMariadb ? 'SHOW MASTER STATUS' : 'SHOW BINARY LOG STATUS')
  return { file: String(row?.['File']), position: Number(row?.['Position']) }
}

interface Opening {
  readonly from: BinlogStart
  readonly reader?: TransactionReader
  readonly serverId?: number
  readonly client?: Connection
  readonly signal?: AbortSignal
  readonly heartbeatTimeoutMs?: number
}

async function open(mysql: MysqlServer, opening: Opening) {
  const end = new AbortController()
  onTestFinished(() => end.abort())
  return openBinlog(innerOf(opening.client ?? (await mysql.connect())), {
    reader: new TransactionReader(),
    serverId: 1_000 + Math.floor(Math.random() * 1e9),
    heartbeatTimeoutMs: 5_000,
    signal: end.signal,
    clock: systemClock,
    ...opening,
  })
}

function innerOf(client: Connection): MysqlCore {
  return coreOf(client) ?? expect.unreachable('a connection of mysql2 has an inner one')
}

async function itemsFrom(mysql: MysqlServer, from: BinlogStart, reader = new TransactionReader()) {
  await mysql.sql(`INSERT INTO last VALUES (${++lastNumber})`)
  const items: BinlogItem[] = []
  reader.watch(last)
  for await (const batch of await open(mysql, { from, reader })) {
    items.push(...batch)
    const end = items.findIndex((item) => 'tables' in item && keysOf(item, 'test/last').includes(String(lastNumber)))
    if (end !== -1) return items.slice(0, end).filter(({ type }) => type !== 'heartbeat')
  }
  return []
}

function keysOf(item: LoggedTransaction, id: string): readonly string[] {
  const rows = item.tables.get(id)
  return rows !== undefined && 'keys' in rows ? [...rows.keys] : []
}

/** The transactions in the log from a position to now, as `table: keys` and `table! why it has to be listed`. */
async function changesFrom(mysql: MysqlServer, from: BinlogStart, tables: readonly LoggedTable[]): Promise<string[]> {
  const reader = new TransactionReader()
  for (const table of tables) reader.watch(table)
  const items = await itemsFrom(mysql, from, reader)
  return items.flatMap((item) => (item.type === 'transaction' && !isOfLast(item) ? [textOf(item)] : []))
}

/** The table that ends each part of the log. */
const isOfLast = ({ tables }: LoggedTransaction): boolean => [...tables.keys()].join() === 'test/last'

function textOf({ tables }: LoggedTransaction): string {
  const texts = [...tables].map(([id, rows]) => {
    const name = id.replace('test/', '')
    return 'keys' in rows ? `${name}: ${[...rows.keys].join(' ')}` : `${name}! ${rows.list}`
  })
  return texts
    .filter((text) => !text.startsWith('last'))
    .sort()
    .join(', ')
}

const setUp = `CREATE TABLE last (n INT PRIMARY KEY); CREATE TABLE t (id INT PRIMARY KEY, k VARCHAR(8), v INT);
  CREATE TABLE n (id INT, k VARCHAR(8), v INT, PRIMARY KEY (k, id)) CHARACTER SET utf8mb4`

/** For each type of a key: how it is read, values, and an expression for the key's text. */
const keyTypes: readonly [type: string, kind: KeyKind, values: readonly string[], text?: string][] = [
  ...['TINYINT', 'SMALLINT', 'MEDIUMINT', 'INT', 'BIGINT'].flatMap((type, index): [string, KeyKind, string[]][] => {
    const most = 2n ** ([8n, 16n, 24n, 32n, 64n][index] ?? 0n) - 1n
    return [
      [type, signed, [-(most + 1n) / 2n, -1n, 0n, most / 2n].map(String)],
      [`${type} UNSIGNED`, { type: 'integer', isUnsigned: true }, [0n, most / 2n + 1n, most].map(String)],
    ]
  }),
  ['BIGINT', signed, ['-9007199254740993', '-9007199254740992', '9007199254740991', '9007199254740993']],
  ['CHAR(3) CHARACTER SET utf8mb4', text('utf8mb4'), ["''", "'a '", "'é😀ß'"]],
  ['CHAR(255) CHARACTER SET utf8mb3', text('utf8mb3'), ["REPEAT('é', 255)"]],
  ['VARCHAR(9) CHARACTER SET utf8mb4', text('utf8mb4'), ["'a '", "'日本😀'", "'a/b\\\\'"]],
  ['VARCHAR(300) CHARACTER SET utf8mb3', text('utf8mb3'), ["REPEAT('日', 300)", "'x'"]],
  ...['ucs2', 'utf16', 'utf16le', 'utf32'].map((charset): [string, KeyKind, string[]] => {
    return [`VARCHAR(9) CHARACTER SET ${charset}`, text(charset), ["'日 '", "''", charset === 'ucs2' ? "'é'" : "'😀'"]]
  }),
  ['CHAR(9) CHARACTER SET utf16', text('utf16'), ["'日 '"]],
  ['BINARY(4)', { type: 'binary' }, ["x'00'", "x'0120'", "x'01020304'"], 'LOWER(HEX(k))'],
  ['BINARY(255)', { type: 'binary' }, ["x'ff'"], 'LOWER(HEX(k))'],
  ['VARBINARY(300)', { type: 'binary' }, ["''", "x'0100'", "REPEAT(x'ab', 300)"], 'LOWER(HEX(k))'],
]

function text(charset: string): KeyKind {
  return { type: 'text', charset }
}

const singleByte = 'ascii cp1250 cp1251 cp1256 cp1257 koi8r latin1 latin2 latin7 macroman'

const columns = `c1 TINYINT, c2 MEDIUMINT, c3 FLOAT, c4 DOUBLE, c5 DECIMAL(30, 10), c6 DECIMAL(10, 5), c7 BIT(1), c8 BIT(64),
  c9 DATE, c10 TIME, c11 TIME(1), c12 TIME(6), c13 DATETIME, c14 DATETIME(3), c15 TIMESTAMP(5) NULL, c16 YEAR, c17 CHAR(255),
  c18 BINARY(16), c19 VARCHAR(9), c20 VARCHAR(900), c21 TINYBLOB, c22 BLOB, c23 MEDIUMTEXT, c24 LONGBLOB, c25 JSON,
  c26 ENUM('a', 'b'), c27 SET('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), c28 POINT`
const values = `1, -2, 3.5, 4.5, 12345678901234567890.5, -5, b'1', b'101', CURDATE(), '-10:11:12', '10:11:12.3', '10:11:12.345678',
  NOW(), NOW(), NOW(), 2020, REPEAT('é', 255), 'bin', 'v', REPEAT('x', 900), 'tiny', REPEAT('z', 60000), REPEAT('m', 70000),
  REPEAT('l', 200000), '{"a": "1234567890", "b": [1]}', 'b', 'a,i', POINT(1, 2)`

describeMysql('the changes in the binary log', (server) => {
  const own = useMysql(server)

  /** Runs statements one after the other in a session of their own. */
  async function changesOf(run: readonly string[], tables: readonly LoggedTable[]): Promise<string[]> {
    const from = await endOf(own.mysql)
    const session = await own.mysql.connect({ multipleStatements: true })
    for (const each of run) await session.query(each)
    return await changesFrom(own.mysql, from, tables)
  }

  beforeAll(async () => void (await own.mysql.sql(setUp)))

  test('have keys of each type as the texts of their values', async () => {
    const { mysql } = own
    const from = await endOf(mysql)
    const reader = new TransactionReader()
    const expected: unknown[] = []
    for (const [index, [type, kind, inserted, key = 'k']] of keyTypes.entries()) {
      const rows = inserted.map((value) => `(1, ${value})`).join()
      await mysql.sql(`CREATE TABLE k${index} (a INT, k ${type} PRIMARY KEY); INSERT INTO k${index} VALUES ${rows}`)
      const found = await mysql.sql(`SELECT CAST(${key} AS CHAR CHARACTER SET utf8mb4) AS k FROM k${index}`)
      expected.push([type, found.map((row) => String(row['k'])).sort()])
      reader.watch(logged(`k${index}`, 2, { key: [{ ordinal: 1, kind }] }))
    }
    const transactions = (await itemsFrom(mysql, from, reader)).filter((item) => item.type === 'transaction')
    const keys = keyTypes.map(([type], index) => [
      type,
      transactions.flatMap((item) => keysOf(item, `test/k${index}`)).sort(),
    ])
    expect(keys).toEqual(expected)
  })

  test('have keys in each known character set', async () => {
    const { mysql } = own
    for (const charset of singleByte.split(' ')) {
      const codes = Array.from({ length: charset === 'ascii' ? 126 : 255 }, (_, index) => index + 1)
      const bytes = codes.map((code) => `_${charset} x'${code.toString(16).padStart(2, '0')}'`)
      const characters = bytes.map((byte) => `SELECT CONVERT(${byte} USING utf8mb4) AS k`).join(' UNION ALL ')
      const known = (await mysql.sql(characters)).map((row) => row['k'])
      // Bytes without a meaning do not survive a conversion.
      const rows = bytes.filter((_, index) => known[index] !== '?' || codes[index] === 63).map((byte) => `(1, ${byte})`)
      await mysql.sql(`DROP TABLE IF EXISTS cs; CREATE TABLE cs (a INT, k VARCHAR(1) CHARACTER SET ${charset})`)
      const from = await endOf(mysql)
      await mysql.sql(`INSERT INTO cs VALUES ${rows.join()}`)
      const found = await mysql.sql('SELECT k FROM cs')
      const reader = new TransactionReader()
      reader.watch(logged('cs', 2, { key: [{ ordinal: 1, kind: text(charset) }] }))
      const items = await itemsFrom(mysql, from, reader)
      const keys = items.flatMap((item) => (item.type === 'transaction' ? keysOf(item, 'test/cs') : []))
      expect([charset, isKnownCharset(charset), keys.length > 120]).toEqual([charset, true, true])
      expect([charset, ...keys].sort()).toEqual([charset, ...found.map((row) => String(row['k']))].sort())
    }
  })

  test('have a key behind columns of every type', async () => {
    const more = own.mysql.isMariadb
      ? ', u UUID, i INET6, vc VARCHAR(99) COMPRESSED, bc BLOB COMPRESSED'
      : ', ve VECTOR(3)'
    const moreValues = own.mysql.isMariadb ? ", UUID(), '::1', 'abc', 'def'" : ", STRING_TO_VECTOR('[1,2,3]')"
    const count = 29 + (own.mysql.isMariadb ? 4 : 1)
    const table = logged('wide', count, { key: [{ ordinal: count - 1, kind: signed }] })
    await own.mysql.sql(`CREATE TABLE wide (${columns}${more}, id INT PRIMARY KEY)`)
    const inserted = `INSERT INTO wide VALUES (${values}${moreValues}, 1), (${values}${moreValues}, 2); INSERT INTO wide (id) VALUES (3)`
    const run = [inserted, 'UPDATE wide SET c1 = 9, id = id + 10 ORDER BY id DESC', 'DELETE FROM wide']
    const changes = ['wide: 1 2', 'wide: 3', 'wide: 3 13 2 12 1 11', 'wide: 11 12 13']
    for (const image of ['FULL', 'NOBLOB', 'MINIMAL'])
      expect(await changesOf([`SET SESSION binlog_row_image = '${image}'`, ...run], [table])).toEqual(changes)
    if (own.mysql.isMariadb) return
    const update = "UPDATE wide SET c25 = JSON_SET(c25, '$.a', '123456789'), c1 = 9, id = id + 10"
    const partial = ["SET SESSION binlog_row_value_options = 'PARTIAL_JSON'", inserted, update]
    expect(await changesOf(partial, [table])).toEqual(['wide: 1 2', 'wide: 3', 'wide: 1 11 2 12 3 13'])
  })

  test('are listed for a child if a foreign key may have changed it without rows in the log', async () => {
    await own.mysql.sql(`CREATE TABLE pa (a INT, id INT PRIMARY KEY);
      CREATE TABLE ch (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES pa (id) ON DELETE CASCADE ON UPDATE CASCADE);
      CREATE TABLE gr (id INT PRIMARY KEY, p INT, s INT, FOREIGN KEY (p) REFERENCES ch (id) ON DELETE CASCADE,
        FOREIGN KEY (s) REFERENCES gr (id) ON DELETE SET NULL)`)
    const parent = (table: string, ordinal: number) => ({ database: 'test', table, referenced: new Set([ordinal]) })
    const pa = logged('pa', 2, { key: [{ ordinal: 1, kind: signed }] })
    const ch = logged('ch', 2, { cascadesFrom: [parent('pa', 1)] })
    const gr = logged('gr', 3, { cascadesFrom: [parent('pa', 1), parent('ch', 0), parent('gr', 0)] })
    const why = '! a foreign key may have changed its rows'
    const found = await changesOf(
      [
        'INSERT INTO pa VALUES (1, 1), (2, 2), (3, 3), (4, 4)',
        'BEGIN; INSERT INTO ch VALUES (1, 1), (2, 2), (3, 3); INSERT INTO gr VALUES (1, 1, NULL), (2, 2, 1), (3, 3, 1); COMMIT',
        'UPDATE pa SET a = 9 WHERE id = 1',
        'UPDATE pa SET id = 10 WHERE id = 1',
        'DELETE FROM gr WHERE id = 1',
        'REPLACE INTO pa VALUES (7, 2)',
        'BEGIN; UPDATE ch SET p = 4 WHERE id = 3; DELETE FROM pa WHERE id = 4; COMMIT',
      ],
      [pa, ch, gr],
    )
    expect(found).toEqual([
      'pa: 1 2 3 4',
      'ch: 1 2 3, gr: 1 2 3',
      'pa: 1',
      `ch${why}, pa: 1 10`,
      `gr${why}`,
      `ch${why}, gr${why}, pa: 2`,
      `ch${why}, gr${why}, pa: 4`,
    ])
    // Without knowledge of the parents, each of their changes counts.
    const from = ['UPDATE pa SET a = 8 WHERE id = 10', 'INSERT INTO ch VALUES (8, 10)']
    const anyParent = { ...ch, cascadesFrom: 'any' as const }
    expect(await changesOf(from, [anyParent])).toEqual([`ch${why}`, 'ch: 8'])
  })

  test('list a table whose key is not in the log, and one that a transaction changes much', async () => {
    const byK = logged('u', 3, { key: [{ ordinal: 1, kind: signed }] })
    await own.mysql.sql('CREATE TABLE u (id INT PRIMARY KEY, k INT NOT NULL UNIQUE, v INT)')
    const minimal = "INSERT INTO u VALUES (1, 1, 1); SET SESSION binlog_row_image = 'MINIMAL'; UPDATE u SET v = 2"
    const why = 'u! the binary log does not have its key (binlog_row_image)'
    expect(await changesOf([minimal], [byK])).toEqual(['u: 1', why])
    const from = await endOf(own.mysql)
    await own.mysql.sql('INSERT INTO u VALUES (2, 2, 1), (3, 3, 1), (4, 4, 1)')
    const reader = new TransactionReader(2)
    reader.watch(byK)
    const [item] = (await itemsFrom(own.mysql, from, reader)).filter((each) => each.type === 'transaction')
    expect(item && textOf(item)).toBe('u! a transaction with more than 2 rows')
  })
})

describeMysql('a stream of the binary log', (server) => {
  const own = useMysql(server)
  beforeAll(async () => void (await own.mysql.sql(setUp)))

  const positionOf = (item: BinlogItem): BinlogStart | undefined => {
    if (item.type === 'heartbeat') return undefined
    return { file: item.file, position: item.type === 'transaction' ? item.end : item.position }
  }

  test('continues at each position, has checksums that do not depend on its start, and ends at the end of the log', async () => {
    const { mysql } = own
    const from = await endOf(mysql)
    for (const each of ['(1)', '(2)', '(3)']) await mysql.sql(`INSERT INTO t (id) VALUES ${each}; FLUSH BINARY LOGS`)
    await mysql.sql('DELETE FROM t')
    const end = await endOf(mysql)
    const items = await itemsFrom(mysql, from)
    expect(items.map(positionOf)).toContainEqual(end)
    const begun = items.filter((item) => item.type === 'format' && item.file !== from.file)
    expect(begun.filter((item) => 'position' in item && item.position > 4).length).toBe(3)
    const restarts = items.filter((item) => item.type !== 'heartbeat')
    expect(restarts.length).toBeGreaterThan(12)
    for (const [index, item] of restarts.entries()) {
      const rest = await itemsFrom(mysql, positionOf(item) ?? from)
      // A stream begins with the format of its file.
      expect(rest[0]).toMatchObject({ type: 'format', file: item.file })
      const later = items.slice(index + 1)
      expect(rest.slice(1).filter(isTransaction)).toEqual(later.filter(isTransaction))
      if (item.type !== 'transaction') continue
      // A version is proved by the last event before it.
      const [, repeated] = await itemsFrom(mysql, { file: item.file, position: item.start })
      expect(repeated).toMatchObject({ type: 'transaction', start: item.start, end: item.end, crc: item.crc })
    }
    const formats = [...items, ...(await itemsFrom(mysql, end))].filter(({ type }) => type === 'format')
    expect(new Set(formats.map((format) => JSON.stringify({ ...format, position: 0 }))).size).toBe(4)
  })

  test('begins after the transactions that are given by their GTIDs', async () => {
    const { mysql } = own
    const isMariadb = mysql.isMariadb
    const variable = isMariadb ? '@@gtid_binlog_pos' : '@@GLOBAL.gtid_executed'
    const [row] = await mysql.sql(`SELECT ${variable} AS gtids`)
    const gtids = String(row?.['gtids'])
    const position = parseGtidPosition(gtids) ?? new Map()
    const set = parseGtidSet(gtids) ?? new Map()
    const from = isMariadb ? { afterPosition: position } : { after: set }
    if (!isMariadb)
      await mysql.sql("SET GTID_NEXT = 'AUTOMATIC:tag'; INSERT INTO t (id) VALUES (70); SET GTID_NEXT = 'AUTOMATIC'")
    else
      await mysql.sql('SET SESSION gtid_domain_id = 7; INSERT INTO t (id) VALUES (70); SET SESSION gtid_domain_id = 0')
    await mysql.sql('INSERT INTO t (id) VALUES (71)')
    const [first, second, ...more] = (await itemsFrom(mysql, from)).filter(isTransaction)
    expect(more).toEqual([])
    const texts = [first?.gtid ?? '', second?.gtid ?? '']
    expect(texts[0]).toMatch(isMariadb ? /^7-\d+-1$/ : /:tag:1$/)
    // Without the second one.
    const parsed = parseGtid(texts[0] ?? '')
    const domain = parseDomainGtid(texts[0] ?? '')
    const after: BinlogStart = isMariadb
      ? { afterPosition: domain === undefined ? position : withDomainGtid(position, domain) }
      : { after: parsed === undefined ? set : withGtid(set, parsed) }
    expect((await itemsFrom(mysql, after)).filter(isTransaction)).toEqual([second])
  })

  test('is read with and without checksums', async () => {
    const { mysql } = own
    const from = await endOf(mysql)
    for (const checksum of ['NONE', 'CRC32'])
      await mysql.sql(`SET GLOBAL binlog_checksum = ${checksum}; REPLACE INTO t (id, v) VALUES (80, RAND() * 1e6)`)
    const found = (await itemsFrom(mysql, from)).filter(isTransaction)
    expect(found.map(({ crc }) => typeof crc)).toEqual(['undefined', 'number'])
  })

  test('rejects with the code that says how to recover', async () => {
    const { mysql } = own
    const { file, position } = await endOf(mysql)
    await mysql.sql("INSERT INTO t (id) VALUES (90); CREATE USER reader IDENTIFIED BY 'secret'")
    await mysql.sql('FLUSH BINARY LOGS')
    const now = await endOf(mysql)
    const rejection = async (opening: Opening) => {
      const stream = await open(mysql, opening)
      for (;;) await stream.next()
    }
    const refused = (opening: Opening) => expect(rejection(opening)).rejects
    await refused({ from: { ...now, position: now.position + 1_000 } }).toMatchObject({ code: 'EPOCH_CHANGED' })
    const client = await mysql.connect({ user: 'reader', password: 'secret', database: '' })
    await refused({ from: now, client }).toMatchObject({ code: 'UNAUTHORIZED' })
    const future: BinlogStart = mysql.isMariadb
      ? { afterPosition: parseGtidPosition(`0-${mysql.port}-999999`) ?? new Map() }
      : {
          after:
            parseGtidSet(`${String((await mysql.sql('SELECT @@server_uuid AS id'))[0]?.['id'])}:1-999999`) ?? new Map(),
        }
    await refused({ from: future }).toMatchObject({ code: 'EPOCH_CHANGED' })
    const first = rejection({ from: now, serverId: 77 })
    first.catch(() => {})
    await waitUntil('the first reader', async () => (await dumps(mysql)) === 1)
    await open(mysql, { from: now, serverId: 77 }).then((stream) => stream.next())
    await expect(first).rejects.toMatchObject(failure('UNAVAILABLE', 'same server'))
    // The server keeps a file that a reader has open.
    await waitUntil('the removal of the earlier files', async () => {
      await mysql.sql(`PURGE BINARY LOGS TO '${now.file}'`)
      return (await mysql.sql('SHOW BINARY LOGS')).length === 1
    })
    await refused({ from: { file, position } }).toMatchObject({ code: 'VERSION_EXPIRED' })
    const old: BinlogStart = mysql.isMariadb
      ? { afterPosition: parseGtidPosition(`0-${mysql.port}-1`) ?? new Map() }
      : { after: new Map() }
    await refused({ from: old }).toMatchObject({ code: 'VERSION_EXPIRED' })
  })

  test('ends at once with its signal, and leaves no connection', async () => {
    const { mysql } = own
    await waitUntil('earlier readers to end', async () => (await dumps(mysql)) === 0)
    const end = new AbortController()
    const stream = await open(mysql, { from: await endOf(mysql), signal: end.signal, heartbeatTimeoutMs: 600 })
    const items: BinlogItem[] = []
    const read = (async () => {
      for await (const batch of stream) items.push(...batch)
    })()
    read.catch(() => {})
    await waitUntil('heartbeats', () => items.filter(({ type }) => type === 'heartbeat').length > 1)
    const before = performance.now()
    end.abort()
    await expect(read).rejects.toThrow()
    expect(performance.now() - before).toBeLessThan(100)
    await waitUntil('the server to notice', async () => (await dumps(mysql)) === 0)
  })

  test('does not read ahead of its consumer without bound', async () => {
    const { mysql } = own
    const from = await endOf(mysql)
    await mysql.sql(
      'CREATE TABLE many (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); INSERT INTO many (v) VALUES (REPEAT("x", 200))',
    )
    for (let size = 1; size < 200_000; size *= 2) await mysql.sql('INSERT INTO many (v) SELECT v FROM many')
    const reader = new TransactionReader()
    reader.watch(logged('many', 2))
    const client = await mysql.connect()
    const stream = await open(mysql, { from, client, reader })
    const first = await stream.next()
    const { stream: socket } = innerOf(client)
    let read = -1
    await waitUntil('the socket to be paused', async () => {
      const isSame = socket.bytesRead === read
      read = socket.bytesRead ?? 0
      await new Promise((resolve) => setTimeout(resolve, 300))
      return isSame && read > 10_000
    })
    expect(read).toBeLessThan(30_000_000)
    const keys = new Set<string>()
    const collect = (batch: readonly BinlogItem[]) => {
      for (const item of batch)
        if (item.type === 'transaction') for (const key of keysOf(item, 'test/many')) keys.add(key)
      return keys.size
    }
    for (let batch = first.value; collect(batch) < 262_144; ) batch = (await stream.next()).value
    expect(keys.size).toBe(262_144)
  })

  test('is unavailable if the server is silent, or gone', async () => {
    const { mysql } = own
    const next = async (stream: Awaited<ReturnType<typeof open>>) => {
      for (;;) await stream.next()
    }
    const silent = await open(mysql, { from: await endOf(mysql), heartbeatTimeoutMs: 500 })
    await silent.next()
    mysql.signal('SIGSTOP')
    try {
      await expect(next(silent)).rejects.toMatchObject(failure('UNAVAILABLE', '500 ms'))
    } finally {
      mysql.signal('SIGCONT')
    }
    const killed = await open(mysql, { from: await endOf(mysql) })
    await killed.next()
    const rejected = expect(next(killed)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await mysql.kill()
    await rejected
  })
})

function isTransaction(item: BinlogItem): item is LoggedTransaction {
  return item.type === 'transaction' && !isOfLast(item)
}

async function dumps(mysql: MysqlServer): Promise<number> {
  const rows = await mysql.sql('SHOW PROCESSLIST')
  return rows.filter((row) => String(row['Command']).startsWith('Binlog Dump')).length
}
