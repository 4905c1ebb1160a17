import { cp, rm } from 'node:fs/promises'
import mysql from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { mysqlSource } from '../../adapters/mysql/index.js'
import { createInformer } from '../../src/index.js'
import { describeMysql } from '../servers/index.js'
import { MysqlServer } from '../servers/mysql.js'
import { context } from '../support/source-calls.js'
import { purge, useMysql } from './support.js'

/** A server of its own with a table, and a mirror of it whose connections can be cut off and led to another server. */
async function world(server: Parameters<typeof MysqlServer.create>[0]['server']) {
  const at = await MysqlServer.start({ server, args: ['--loose-slave-connections-needed-for-purge=0'] })
  onTestFinished(() => at[Symbol.asyncDispose]())
  const gate = { to: at, isOpen: true }
  const connections = new Set<mysql.Connection>()
  const source = mysqlSource<{ id: number; v: number }>({
    connect: async () => {
      if (!gate.isOpen) throw new Error('cut off')
      const connection = await mysql.createConnection(gate.to.address)
      connections.add(connection)
      return connection
    },
    table: 'items',
    timeoutMs: 3_000,
  })
  await at.sql('CREATE TABLE items (id INT PRIMARY KEY, v INT)')
  /** Transactions of one size, so that another history has the same positions. */
  const write = async (v: number, count = 1, of = gate.to): Promise<void> => {
    for (let n = 1; n <= count; n++) await of.sql(`REPLACE INTO items VALUES (${n}, ${v})`)
  }
  const items = createInformer({ source, audit: false })
  const codes: string[] = []
  items.on('error', ({ code }) => void codes.push(code))
  onTestFinished(() => items.stop())
  await items.start().synced({ timeoutMs: 60_000 })
  await write(1, 5)
  await items.waitFor(await source.mark(await at.connect()), { timeoutMs: 60_000 })
  const cutOff = (): void => {
    gate.isOpen = false
    for (const each of connections) each.destroy()
    connections.clear()
  }
  /** Leads the mirror to a server, and waits until it shows what the server has. */
  const reconnect = async (to = at): Promise<readonly [relists: number, hasForked: boolean]> => {
    Object.assign(gate, { to, isOpen: true })
    await expect
      .poll(
        async () => {
          const expected = await to.sql('SELECT id, v FROM items ORDER BY id')
          return JSON.stringify(items.list().toSorted((a, b) => a.id - b.id)) === JSON.stringify(expected)
        },
        { timeout: 60_000 },
      )
      .toBe(true)
    await write(99, 1, to)
    await items.waitFor(await source.mark(await to.connect()), { timeoutMs: 60_000 })
    expect(items.get('1')?.v).toBe(99)
    return [items.status.relists, codes.includes('EPOCH_CHANGED')]
  }
  return { at, items, source, write, cutOff, reconnect, codes }
}

const RESET = { mariadb: 'RESET MASTER', mysql: 'RESET BINARY LOGS AND GTIDS' }

describeMysql('a mirror of', (server) => {
  const shared = useMysql(server, {}, async (at) => {
    await at.sql(`CREATE TABLE plain (n INT); CREATE TABLE old (id INT PRIMARY KEY) ENGINE = MyISAM; CREATE TABLE ok (id INT PRIMARY KEY);
      CREATE TABLE keyed (id DATE PRIMARY KEY); CREATE TABLE greek (id VARCHAR(9) CHARACTER SET greek PRIMARY KEY); CREATE VIEW looked AS SELECT 1 AS id;
      CREATE USER reader; GRANT SELECT ON test.* TO reader; CREATE USER nothing`)
  })
  const reset = RESET[server.name.startsWith('mariadb') ? 'mariadb' : 'mysql']

  test('[MY4] a server that was killed while the mirror was connected continues without a list', async () => {
    const { at, write, reconnect } = await world(server)
    await write(2, 5)
    await at.kill()
    await at.start()
    await write(3, 2)
    expect(await reconnect()).toEqual([0, false])
  })

  test('[MY4] a server whose files of the binlog were purged meanwhile is listed once', async () => {
    const { at, write, cutOff, reconnect, codes } = await world(server)
    cutOff()
    await write(2, 3)
    await purge(at)
    expect(await reconnect()).toEqual([1, false])
    expect(codes).toContain('VERSION_EXPIRED')
  })

  test.each([
    ['shorter', 2, 0],
    ['of the same length', 5, 0],
    ['longer', 9, 0],
    ['in an earlier file', 9, 2],
  ])('[MY3] a server that has another history since, which is %s, is listed once', async (_, writes, rotations) => {
    const { at, write, items, source, cutOff, reconnect } = await world(server)
    for (let n = 0; n < rotations; n++) await at.sql('FLUSH BINARY LOGS')
    if (rotations > 0) await write(2, 1)
    await items.waitFor(await source.mark(await at.connect()), { timeoutMs: 60_000 })
    const after = items.version ?? ''
    cutOff()
    await at.sql(`${reset}; DROP TABLE items; ${reset}; CREATE TABLE items (id INT PRIMARY KEY, v INT)`)
    await write(7, writes)
    expect(await reconnect()).toEqual([1, true])
    // Nothing is yielded before the history has been compared.
    const watching = source.watch({ ...context(), after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    await expect(watching.next()).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  })

  test('[MY3] a server that begins another history while the mirror was connected is listed', async () => {
    const { at, write, reconnect } = await world(server)
    await at.sql(reset)
    await write(3, 5)
    expect((await reconnect())[0]).toBeGreaterThan(0)
  })

  test('[MY3] a server that was restored from an older copy, and has other transactions since, is listed once', async () => {
    const { at, write, items, source, cutOff, reconnect } = await world(server)
    await at.stop()
    const copy = `${at.dataDir}-copy`
    await cp(at.dataDir, copy, { recursive: true })
    await at.start()
    await write(2, 5)
    await items.waitFor(await source.mark(await at.connect()), { timeoutMs: 60_000 })
    cutOff()
    await at.stop()
    await rm(at.dataDir, { recursive: true })
    await cp(copy, at.dataDir, { recursive: true })
    await at.start()
    await write(4, 6)
    expect(await reconnect()).toEqual([1, true])
  })

  test.each([
    ['has all transactions continues without a list', false],
    ['lacks one is listed once', true],
  ])('[MY4] another server that %s', async (_, lacks) => {
    const { at, write, items, source, cutOff, reconnect } = await world(server)
    if (!lacks) await write(2, 2)
    await at.stop()
    const copy = await MysqlServer.create({ server, data: at.dataDir })
    onTestFinished(() => copy[Symbol.asyncDispose]())
    await copy.start()
    // Files of another server say nothing. MySQL compares a transaction, which it must have.
    if (copy.isMariadb) await purge(copy)
    await at.start()
    if (lacks) await write(3, 1)
    await items.waitFor(await source.mark(await at.connect()), { timeoutMs: 60_000 })
    cutOff()
    await at.stop()
    expect(await reconnect(copy)).toEqual(lacks ? [1, true] : [0, false])
  })

  test('[MY5] a table that another connection has locked keeps its last state, and shows the write after the lock', async () => {
    const { at, items, write, reconnect, codes } = await world(server)
    const locker = await at.connect()
    await locker.query('LOCK TABLES items WRITE')
    await locker.query('REPLACE INTO items VALUES (1, 50)')
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    expect([items.get('1')?.v, items.status.state, items.status.relists]).toEqual([1, 'live', 0])
    await locker.query('UNLOCK TABLES')
    await write(60, 1)
    expect([await reconnect(), codes]).toEqual([[0, false], []])
  })

  test.each([
    [
      'missing',
      'NOT_FOUND: there is no table `test`.`missing`, or the user may not read it; the user can read greek, keyed, looked, ',
    ],
    ['plain', 'PROTOCOL: `test`.`plain` has no primary key; add one'],
    ['old', 'PROTOCOL: `test`.`old` uses the engine MyISAM; only tables of InnoDB have consistent snapshots'],
    [
      'keyed',
      'PROTOCOL: the key column `id` of `test`.`keyed` has the type date; allowed are integers, CHAR, VARCHAR, BINARY and VARBINARY',
    ],
    ['greek', 'PROTOCOL: the key column `id` of `test`.`greek` has the character set greek; convert it to utf8mb4'],
    ['looked', 'PROTOCOL: `test`.`looked` is not a table, but a VIEW'],
    [
      'ok',
      'UNAUTHORIZED: Access denied; you need (at least one of) the REPLICATION SLAVE privilege(s) for this operation',
      { user: 'reader' },
    ],
    [
      'test.ok',
      'NOT_FOUND: there is no table `test`.`ok`, or the user may not read it; the user can read no tables',
      { user: 'nothing', database: '' },
    ],
    [
      'ok',
      "PROTOCOL: the connection has no database, so the table needs one: 'shop.ok' instead of 'ok'",
      { user: 'nothing', database: '' },
    ],
    ['ok', 'PROTOCOL: `test`.`ok` has no column `no`; it has id', {}, { columns: ['no'] }],
    ['ok', `PROTOCOL: sql: "no = 1" is refused by the server: Unknown column 'no' in `, {}, { sql: 'no = 1' }],
    ['ok', 'PROTOCOL: sql: "id =" is refused by the server: You have an error', {}, { sql: 'id =' }],
    ['ok', 'PROTOCOL: sql: "(id, 1)" is refused by the server: Operand should contain 1 col', {}, { sql: '(id, 1)' }],
    ['ok', 'PROTOCOL: sql: "SUM(id) > 1" is refused by the server: Invalid use of group', {}, { sql: 'SUM(id) > 1' }],
    [
      'ok',
      "UNAUTHORIZED: Access denied for user 'reader'@'127.0.0.1' (with a password)",
      { user: 'reader', password: 'wrong' },
    ],
  ])(
    '[MY6] names what is missing of the table %s: %s',
    async (table, expected, address: object = {}, options: object = {}) => {
      const { mysql: at } = shared
      const source = mysqlSource({
        connect: () => mysql.createConnection({ ...at.address, ...address }),
        table,
        ...options,
      })
      const informer = createInformer({ source })
      onTestFinished(() => informer.stop())
      const error = await informer
        .start()
        .synced({ timeoutMs: 10_000 })
        .catch((reason: unknown) => Object(reason))
      const message = `${error.code}: ${error.message}`
        .replace(/list of .* failed: /, '')
        .replace(/; listing again .*/, '')
      expect(message.slice(0, expected.length)).toBe(expected)
      expect(message).not.toContain('wrong')
    },
  )

  test('[MY6] a mark inside of an open transaction is refused, on a connection without autocommit too', async () => {
    const source = mysqlSource({ connect: () => mysql.createConnection(shared.mysql.address), table: 'ok' })
    const connection = await shared.mysql.connect()
    for (const sql of ['BEGIN', 'ROLLBACK; SET autocommit = 0; REPLACE INTO ok VALUES (1)']) {
      for (const each of sql.split('; ')) await connection.query(each)
      await expect(source.mark(connection)).rejects.toThrow('call it after the commit')
    }
    await connection.query('COMMIT')
    expect(await source.mark(connection)).toMatch(/^mym1\../)
  })
})
