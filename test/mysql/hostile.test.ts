import mysql, { type Connection, type ConnectionOptions } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { propertiesOf } from '../../adapters/common/properties.js'
import { type MysqlTableOptions, mysqlSource } from '../../adapters/mysql/index.js'
import { createInformer } from '../../src/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeMysql } from '../servers/index.js'
import { context, listed, refusal } from '../support/source-calls.js'
import { useMysql } from './support.js'

interface Row {
  readonly id: string | number
  readonly n?: unknown
  readonly v: unknown
}

/** Options and statements of a connection that change how a program reads rows. */
const connections: readonly [title: string, options: ConnectionOptions, statement?: string][] = [
  ['rowsAsArray and nestTables', { rowsAsArray: true, nestTables: true }],
  ['no typeCast', { typeCast: false }],
  ['a typeCast of numbers', { typeCast: (field, next) => (field.type === 'LONGLONG' ? true : next()) }],
  ['named placeholders', { namedPlaceholders: true }],
  ['dates and big numbers as texts', { dateStrings: true, bigNumberStrings: true, decimalNumbers: true }],
  ['another character set and time zone', { charset: 'latin1', timezone: '+05:00' }],
  ['compressed packets', { compress: true }],
  ['modes', {}, `SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT'`],
  ['a limit of rows', {}, 'SET SESSION sql_select_limit = 1, max_join_size = 1'],
  ['a limit of time', {}, 'SET /*M! max_statement_time = 0.02 */ /*!80000 max_execution_time = 20 */'],
  ['a transaction that it has begun', {}, 'SET SESSION autocommit = 0, SESSION completion_type = 1'],
  ['TLS', { ssl: { rejectUnauthorized: false } }],
]

/** Runs a step before a statement of the connection. Later statements wait for it, too. */
function before(connection: Connection, isNow: (sql: string) => boolean, step: () => Promise<unknown>): Connection {
  const core: { query(options: { readonly sql: string }, done?: unknown): unknown } = Object(
    propertiesOf(connection)['connection'],
  )
  const query = core.query.bind(core)
  let steps = 0
  let ready = Promise.resolve()
  core.query = (options, done) => {
    const isStep = isNow(options.sql)
    if (!isStep && steps === 0) return query(options, done)
    const listeners: [string, () => void][] = []
    const run = (): void => {
      const command: { on(event: string, listener: () => void): void } = Object(query(options, done))
      for (const [event, listener] of listeners) command.on(event, listener)
    }
    steps++
    ready = ready
      .then(() => (isStep ? step() : undefined))
      .catch(() => {})
      .then(() => {
        steps--
        run()
      })
    return { on: (event: string, listener: () => void) => listeners.push([event, listener]) }
  }
  return connection
}

describeMysql('a source of', (server) => {
  const own = useMysql(server, {}, async (at) => {
    await at.sql('CREATE USER mirror; GRANT REPLICATION SLAVE ON *.* TO mirror; GRANT SELECT ON *.* TO mirror')
  })
  let databases = 0
  const database = async (setUp: string) => {
    const name = `hostile_${++databases}`
    await own.mysql.sql(`CREATE DATABASE ${name}`)
    const writer = await own.mysql.connect({ database: name, multipleStatements: true })
    await writer.query(setUp)
    const connect = (options: ConnectionOptions = {}) =>
      mysql.createConnection({ ...own.mysql.address, user: 'mirror', database: name, ...options })
    const mirror = async (connection: () => Promise<Connection>, options: Partial<MysqlTableOptions> = {}) => {
      const source = mysqlSource<Row>({
        connect: connection,
        table: 'items',
        timeoutMs: 3_000,
        integers: 'bigint',
        ...options,
      })
      const items = createInformer({ source, audit: false })
      const codes: string[] = []
      items.on('error', ({ code }) => void codes.push(code))
      onTestFinished(() => items.stop())
      await items.start().synced({ timeoutMs: 20_000 })
      const shows = async (): Promise<void> => {
        await items.waitFor(await source.mark(writer), { timeoutMs: 30_000 })
        const [rows] = await writer.query({ sql: 'SELECT CONCAT(id, "/", n) AS k FROM items', rowsAsArray: true })
        expect([...items.keys()].sort()).toEqual([rows].flat(2).map(String).sort())
      }
      return { source, items, codes, shows }
    }
    return { writer, connect, mirror }
  }
  const ITEMS = `CREATE TABLE items (id CHAR(9) CHARACTER SET latin1, n BIGINT, v VARCHAR(20), PRIMARY KEY (id, n));
    INSERT INTO items VALUES ('é', 1, ':x ?'), ('b', -2, 'two'), ('', 9007199254740993, NULL)`

  test.each(connections)(
    '[MY2] reads all rows, whose keys are exact, over a connection with %s',
    async (title, options, sql) => {
      const [tls] = await own.mysql.sql(`SHOW VARIABLES LIKE 'have_ssl'`)
      if (title === 'TLS' && tls?.['Value'] === 'DISABLED') return
      const { writer, connect, mirror } = await database(ITEMS)
      const connection = async () => {
        const client = await connect(options)
        if (sql !== undefined) await client.query(sql)
        return client
      }
      if (title === 'a typeCast of numbers') {
        const source = mysqlSource({ connect: connection, table: 'items' })
        expect((await refusal(source)).message).toBe(
          'the typeCast of the connection changes the values of the key column `n`',
        )
        return
      }
      const condition = `SLEEP(0.01) = 0 AND (v IS NULL OR v <> ':name ?') -- :x`
      const { shows, codes } = await mirror(connection, { integers: 'bigint', sql: condition })
      await shows()
      await writer.query(
        `UPDATE items SET n = n + 1; INSERT INTO items VALUES ('ß', 1, ''); DELETE FROM items WHERE id = 'b'`,
      )
      await shows()
      expect(codes).toEqual([])
    },
  )

  test.each([
    ['a list before its snapshot', /START/, 'ADD COLUMN w INT DEFAULT 7', false],
    ['a list before its rows', /^SELECT `id/, 'DROP COLUMN v', false],
    ['a batch before its snapshot', /START/, 'DROP COLUMN v', true],
    ['a batch before its rows', /^SELECT `id/, 'DROP COLUMN v', true],
  ])('[MY1] %s, if a column changes then, leads to the rows that there are', async (_, statement, change, isLater) => {
    const { writer, connect, mirror } = await database(
      'CREATE TABLE items (id INT PRIMARY KEY, n INT, v INT); INSERT INTO items VALUES (1, 1, 1)',
    )
    let isDone = isLater
    const isNow = (sql: string): boolean => {
      const isFirst = !isDone && statement.test(sql)
      isDone ||= isFirst
      return isFirst
    }
    // A source reads rows after the begin of a snapshot if a function of the user would convert what the begin returns.
    const { items, codes } = await mirror(async () =>
      before(await connect({ typeCast: statement.source === 'START' || ((_field, next) => next()) }), isNow, () =>
        writer.query(`SET SESSION lock_wait_timeout = 1; ALTER TABLE items ${change}`),
      ),
    )
    isDone &&= !isLater
    if (isLater) await writer.query('UPDATE items SET n = 2')
    await expect.poll(() => isDone).toBe(true)
    const shown = async (): Promise<unknown[]> => [items.list(), (await writer.query('SELECT * FROM items'))[0]]
    await expect
      .poll(async () => JSON.stringify((await shown())[0]) === JSON.stringify((await shown())[1]), { timeout: 20_000 })
      .toBe(true)
    expect(codes.filter((code) => !['VERSION_EXPIRED', 'UNAVAILABLE'].includes(code))).toEqual([])
  })

  test('[MY6] refuses a connection that it has received before, and a pool', async () => {
    const { connect } = await database(ITEMS)
    const one = await connect()
    const pool = mysql.createPool(own.mysql.address)
    onTestFinished(() => pool.end())
    for (const [connection, flaw] of [
      [async () => one, 'the connection was returned before'],
      [async () => Object(pool), 'the result is not a connection of mysql2; a pool cannot be used'],
    ] as const)
      expect((await refusal(mysqlSource({ connect: connection, table: 'items' }))).message).toContain(flaw)
  })

  test('connects again if a connection was closed right after its login', async () => {
    const { connect, mirror } = await database(ITEMS)
    let isFirst = true
    const { shows, codes } = await mirror(async () => {
      const connection = await connect()
      if (isFirst) connection.destroy()
      isFirst = false
      return connection
    })
    await shows()
    expect(codes).toEqual(['UNAVAILABLE'])
  })

  test('[MY1] lists a table of which more than maxDeltaRows keys were changed, and no other one', async () => {
    const { writer, connect, mirror } = await database(ITEMS)
    const few = await mirror(connect, { maxDeltaRows: 2 })
    const many = await mirror(connect)
    await writer.query(`UPDATE items SET v = 'few' WHERE id = 'b'`)
    await few.shows()
    expect(few.items.status.relists).toBe(0)
    // The lock prevents that a batch reads them before all have arrived.
    const updates = Array.from({ length: 9 }, (_, n) => `UPDATE items SET v = 'v${n}' WHERE n = 1;`).join('')
    await writer.query(`LOCK TABLES items WRITE; ${updates} DO SLEEP(0.5); UNLOCK TABLES`)
    await Promise.all([few.shows(), many.shows()])
    await expect.poll(() => few.items.status.relists).toBe(1)
    expect([many.items.status.relists, few.codes]).toEqual([0, ['VERSION_EXPIRED']])
  })

  test('reads a thousand long keys from a server with small packets', async () => {
    const { writer, connect, mirror } = await database('CREATE TABLE items (id VARBINARY(3000) PRIMARY KEY, n INT)')
    await own.mysql.sql('SET GLOBAL max_allowed_packet = 1048576')
    onTestFinished(async () => void (await own.mysql.sql('SET GLOBAL max_allowed_packet = 67108864')))
    const { items, codes, source } = await mirror(connect)
    await writer.query(
      `INSERT INTO items SELECT CONCAT(n, REPEAT('é', 1400)), n FROM (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 999) SELECT n FROM r) seq`,
    )
    await items.waitFor(await source.mark(writer), { timeoutMs: 30_000 })
    expect([items.size, items.status.relists, codes]).toEqual([999, 0, []])
  })

  test('[MY2] reads all keys of a transaction that the snapshot shows, although its GTID does not count as executed', async () => {
    if (own.mysql.isMariadb) return
    const { writer, connect, mirror } = await database(
      'CREATE TABLE items (id INT PRIMARY KEY, n INT); INSERT INTO items VALUES (1, 0), (2, 0)',
    )
    const [{ uuid } = {}] = await own.mysql.sql('SELECT @@server_uuid AS uuid')
    let isArmed = false
    let hidden = 0
    const commit = async (): Promise<void> => {
      isArmed = false
      await writer.query('UPDATE items SET n = 2')
      const [{ mark } = {}] = await own.mysql.sql('SELECT @@global.gtid_executed AS mark')
      hidden = Number(new RegExp(`${String(uuid)}:1-(\\d+)`).exec(String(mark))?.[1])
    }
    /** The server moves a GTID from `owned` to `executed` shortly after the commit is visible. */
    const late = (connection: Connection): Connection => {
      const core: { query(options: { readonly sql: string }, done: (error: unknown, rows: unknown) => void): unknown } =
        Object(propertiesOf(connection)['connection'])
      const query = core.query.bind(core)
      core.query = (options, done) => {
        if (!options.sql.includes('START')) return query(options, done)
        return query(options, (error, results) => {
          if (hidden === 0) return done(error, results)
          const [[[earlier]], begin, [[, later]], ...reads] = Object(results)
          const shown = `${String(uuid)}:1-${hidden}`
          const [before, executed] = [earlier, later].map((each) =>
            each.replace(shown, `${String(uuid)}:1-${hidden - 1}`),
          )
          done(error, [[[before]], begin, [[`${String(uuid)}:${hidden}#9`, executed]], ...reads])
          hidden = 0
        })
      }
      return connection
    }
    const { items } = await mirror(async () =>
      late(before(await connect(), (sql) => isArmed && /START/.test(sql), commit)),
    )
    const states: string[] = []
    items.subscribe({ update: () => void states.push(Array.from(items.list(), ({ n }) => String(n)).join('/')) })
    await expect.poll(() => items.status.state).toBe('live')
    isArmed = true
    await writer.query('UPDATE items SET n = 1 WHERE id = 1')
    await expect.poll(() => states.at(-1), { timeout: 20_000 }).toBe('2/2')
    expect(states).not.toContain('2/0')
  })

  test('[MY2] takes a snapshot after a rotation, which no transaction has reached', async () => {
    const { writer, connect, mirror } = await database(ITEMS)
    let isArmed = false
    const rotate = async (): Promise<void> => {
      isArmed = false
      await own.mysql.sql('FLUSH BINARY LOGS')
    }
    const { items, codes, shows } = await mirror(async () =>
      before(await connect(), (sql) => isArmed && /START/.test(sql), rotate),
    )
    await expect.poll(() => items.status.state).toBe('live')
    isArmed = true
    await writer.query('UPDATE items SET n = n + 1')
    await shows()
    expect([isArmed, codes]).toEqual([false, []])
  })

  test('leaves no connection if it stops at any moment', async () => {
    const { connect } = await database(ITEMS)
    const source = mysqlSource({ connect, table: 'items' })
    const { version } = await listed(source)
    const calls = Array.from({ length: 30 }, async (_, n) => {
      const stop = new AbortController()
      setTimeout(() => stop.abort(), n * 3)
      const calling = { ...context(stop.signal), pageSize: 1, after: version, onProgressRequest: () => {} }
      for await (const _page of n % 2 === 0 ? source.list(calling) : source.watch(calling));
    })
    await Promise.allSettled(calls)
    const count = async () =>
      (await own.mysql.sql(`SELECT id FROM information_schema.processlist WHERE user = 'mirror'`)).length
    await expect.poll(count, { timeout: 20_000 }).toBe(0)
  })

  test('leaves no socket to a server that is gone', async () => {
    const { connect, mirror } = await database(ITEMS)
    await using proxy = await startFaultProxy({ targetPort: own.mysql.port })
    const sockets: unknown[] = []
    const { items } = await mirror(async () => {
      const connection = await connect({ port: proxy.port })
      sockets.push(propertiesOf(propertiesOf(connection)['connection'])['stream'])
      return connection
    })
    await expect.poll(() => items.status.state).toBe('live')
    proxy.hold()
    await items.stop()
    expect(sockets.map((socket) => propertiesOf(socket)['destroyed'])).toEqual([true, true, true, true])
  })

  test('[MY5] stays live while a transaction that has its GTID since its begin is open', async () => {
    if (own.mysql.isMariadb) return
    const { writer, connect, mirror } = await database(ITEMS)
    const { items, codes, shows } = await mirror(connect)
    const slow = await own.mysql.connect()
    await slow.query(`SET gtid_next = '00000000-0000-0000-0000-000000000001:7'`)
    await slow.query('BEGIN')
    await writer.query(`UPDATE items SET v = 'beside'`)
    await new Promise((resolve) => setTimeout(resolve, 8_000))
    expect([items.status.state, codes]).toEqual(['live', []])
    await slow.query('COMMIT')
    await slow.query('SET gtid_next = AUTOMATIC')
    await shows()
    expect([items.status.relists, items.status.reconnects]).toEqual([0, 0])
  })

  test('[MY6] refuses a replica whose binlog lacks what it receives', async () => {
    const { connect } = await database(ITEMS)
    if (own.mysql.isMariadb) {
      await own.mysql.sql(`SET GLOBAL gtid_slave_pos = '5-9-1'`)
      onTestFinished(async () => void (await own.mysql.sql(`SET GLOBAL gtid_slave_pos = ''`)))
    } else {
      await own.mysql.stop()
      await own.mysql.start(['--log-replica-updates=OFF'])
      onTestFinished(async () => {
        await own.mysql.stop()
        await own.mysql.start()
      })
    }
    const { code, message } = await refusal(mysqlSource({ connect, table: 'items' }))
    expect(`${code}: ${message}`).toMatch(/^PROTOCOL: the binlog lacks .* set log_(slave|replica)_updates = ON$/)
  })
})
