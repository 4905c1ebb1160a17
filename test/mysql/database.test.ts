import mysql, { type Connection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { mysqlDatabase, mysqlSource } from '../../adapters/mysql/index.js'
import { createInformer, groupInformers } from '../../src/index.js'
import { describeMysql } from '../servers/index.js'
import { ACCOUNTS, type Account, AMOUNT, BANK_TIMEOUT_MS, COLLECTIONS, judgeBank, sqlWriter } from '../support/bank.js'
import { useMysql } from './support.js'

const FAULTS = [
  'ALTER TABLE checking ADD COLUMN note VARCHAR(9)',
  'UPDATE savings SET amount = amount + 0, id = id',
  'FLUSH BINARY LOGS',
  'ALTER TABLE checking DROP COLUMN note',
  'OPTIMIZE TABLE savings',
]

describeMysql('a database of', (server) => {
  const own = useMysql(server)
  let databases = 0

  /** A database of its own whose tables a user of its own mirrors. */
  async function database(setUp: string) {
    const name = `of_database_${++databases}`
    await own.mysql.sql(`CREATE DATABASE ${name}; CREATE USER ${name}; GRANT REPLICATION SLAVE ON *.* TO ${name};
      GRANT SELECT ON ${name}.* TO ${name}`)
    const sql = async (text: string) => {
      const connection = await own.mysql.connect({ database: name, multipleStatements: true })
      try {
        return await connection.query(text)
      } finally {
        connection.destroy()
      }
    }
    await sql(setUp)
    const ids = async (): Promise<unknown[]> =>
      (await own.mysql.sql(`SELECT id FROM information_schema.processlist WHERE user = '${name}'`)).map(({ id }) => id)
    const disconnect = async (): Promise<void> => {
      for (const id of await ids()) await own.mysql.sql(`KILL ${String(id)}`).catch(() => {})
    }
    const connect = () => mysql.createConnection({ ...own.mysql.address, user: name, database: name })
    return { name, connect, sql, ids, disconnect }
  }

  test(
    '[Q1][Q2] of a bank all readers, handlers, views and followers see a constant sum, which two sources of one table do not',
    async ({ onTestFinished }) => {
      const ids = Array.from({ length: ACCOUNTS }, (_, n) => `(${n + 1}, ${AMOUNT})`).join()
      const { name, connect, sql, disconnect } = await database(
        COLLECTIONS.map(
          (table) =>
            `CREATE TABLE ${table} (id INT PRIMARY KEY, amount INT NOT NULL); INSERT INTO ${table} VALUES ${ids};`,
        ).join(''),
      )
      const shop = mysqlDatabase({ connect, holdMs: Infinity })
      const open = (): Promise<Connection> => own.mysql.connect({ database: name, multipleStatements: true })
      const writer = sqlWriter<Connection>(open, async (client) => {
        await client.query('COMMIT')
        return await shop.mark(client)
      })
      const restart = async (): Promise<void> => {
        await own.mysql.kill()
        await own.mysql.start()
      }
      const [add, ...others] = FAULTS.map((text) => () => sql(text))
      await judgeBank(
        {
          together: (table) => shop.table<Account>({ table, columns: ['amount'] }),
          apart: (table) => mysqlSource<Account>({ connect, table }),
          writer,
          faults: [...(add === undefined ? [] : [add]), disconnect, restart, ...others],
          rows: async (table) =>
            (await own.mysql.sql(`SELECT id, amount FROM ${name}.${table} ORDER BY id`)).map((row) => ({ ...row })),
        },
        onTestFinished,
      )
    },
    BANK_TIMEOUT_MS,
  )

  async function tables(count: number, options: { readonly holdMs?: number } = {}) {
    const names = Array.from({ length: count }, (_, n) => `t${n}`)
    const at = await database(names.map((name) => `CREATE TABLE ${name} (id INT PRIMARY KEY, n INT);`).join(''))
    const shop = mysqlDatabase({ connect: at.connect, ...options })
    const informers = names.map((table) => createInformer({ source: shop.table<{ n: number }>({ table }) }))
    for (const informer of informers) informer.on('error', () => {})
    const group = groupInformers(informers)
    onTestFinished(() => group.stop())
    await group.start().synced({ timeoutMs: 60_000 })
    const write = async (n: number, to = names): Promise<string> => {
      const statements = to.map((table) => `REPLACE INTO ${table} VALUES (1, ${n});`)
      await at.sql(`BEGIN; ${statements.join('')} COMMIT`)
      return await shop.mark(await own.mysql.connect())
    }
    const rows = (): (number | undefined)[] => informers.map((informer) => informer.get('1')?.n)
    const relists = (): number[] => informers.map(({ status }) => status.relists)
    return { ...at, informers, write, rows, relists }
  }

  test('[Q10] twenty tables have two connections, which are opened again without a list, and each takes the mark of a write to any', async () => {
    const { informers, write, rows, relists, ids, disconnect } = await tables(20)
    await expect.poll(async () => (await ids()).length, { timeout: 20_000 }).toBe(2)
    await informers[19]?.waitFor(await write(1, ['t0']), { timeoutMs: 20_000 })
    expect(rows().slice(0, 2)).toEqual([1, undefined])
    await disconnect()
    await informers[0]?.waitFor(await write(2), { timeoutMs: 20_000 })
    expect([new Set(rows()), new Set(relists())]).toEqual([new Set([2]), new Set([0])])
  })

  test.each([
    ['truncated', 'TRUNCATE t1', [1, undefined, 1]],
    ['altered', 'ALTER TABLE t1 ADD COLUMN more INT', [1, 1, 1]],
    ['replaced', 'CREATE TABLE other LIKE t1; RENAME TABLE t1 TO was, other TO t1', [1, undefined, 1]],
    [
      'altered by a session that does not log',
      'SET sql_log_bin = 0; ALTER TABLE t1 CHANGE n m INT; SET sql_log_bin = 1; UPDATE t1 SET id = 3',
      [1, undefined, 1],
    ],
  ])('[Q5] a table that was %s is listed, and the others are not', async (_, sql, expected) => {
    const at = await tables(3, { holdMs: Infinity })
    await at.informers[0]?.waitFor(await at.write(1), { timeoutMs: 20_000 })
    await at.sql(sql)
    await expect.poll(at.relists, { timeout: 20_000 }).toEqual([0, 1, 0])
    await at.informers[0]?.fresh({ timeoutMs: 20_000 })
    expect(at.rows()).toEqual(expected)
    await at.informers[2]?.waitFor(await at.write(2, ['t0', 't2']), { timeoutMs: 20_000 })
    expect(at.rows()).toEqual([2, expected[1], 2])
    expect(at.relists()).toEqual([0, 1, 0])
  })

  test('[Q6] a table that was dropped leaves, and the others continue', async () => {
    const { informers, write, rows, relists, sql } = await tables(3, { holdMs: Infinity })
    await sql('DROP TABLE t1')
    await informers[2]?.waitFor(await write(3, ['t0', 't2']), { timeoutMs: 20_000 })
    expect(rows()).toEqual([3, undefined, 3])
    expect(relists().filter((_, n) => n !== 1)).toEqual([0, 0])
    expect(informers[1]?.health()).toMatchObject({ isReady: false })
  })
})
