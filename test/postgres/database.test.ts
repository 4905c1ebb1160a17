import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { postgresDatabase } from '../../adapters/postgres/index.js'
import { createInformer, groupInformers } from '../../src/index.js'
import { describeListerWatcher } from '../../testing/index.js'
import { postgresHarness } from '../conformance/postgres-harness.js'
import { describePostgres } from '../servers/index.js'
import { ACCOUNTS, type Account, AMOUNT, BANK_TIMEOUT_MS, COLLECTIONS, judgeBank, sqlWriter } from '../support/bank.js'
import { useServer } from './support.js'

const FAULTS = [
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'consistent' AND datname = current_database()`,
  'BEGIN; LOCK savings, checking; CREATE TEMP TABLE kept AS SELECT * FROM savings; TRUNCATE savings; INSERT INTO savings (id, amount) SELECT id, amount FROM kept; DROP TABLE kept; COMMIT',
  'ALTER TABLE checking ADD COLUMN IF NOT EXISTS note text',
  'UPDATE savings SET amount = amount',
  'ALTER TABLE checking DROP COLUMN IF EXISTS note',
]

describePostgres('a database of Postgres', async (postgres) => {
  const at = useServer(postgres, { fsync: 'on' })
  await describeListerWatcher('one of its tables', postgresHarness(at, true))

  test(
    '[Q11] of a bank all readers, handlers, views and followers see a constant sum, which two sources of one table do not',
    async ({ onTestFinished }) => {
      const db = await at.database()
      for (const table of COLLECTIONS) {
        await db.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, amount int NOT NULL);
          INSERT INTO ${table} SELECT id, ${AMOUNT} FROM generate_series(1, ${ACCOUNTS}) id`)
        await db.install(table, { bulk: 15 })
      }
      const connect = () => new Client(db.config({ application_name: 'consistent' }))
      const shop = postgresDatabase({ connect, pollIntervalMs: 200, holdMs: Infinity })
      const query = async (sql: string) => {
        const client = await db.connect()
        try {
          return await client.query(sql)
        } finally {
          await client.end()
        }
      }
      const writer = sqlWriter(
        () => db.connect(),
        async (client) => {
          const mark = await shop.mark(client)
          await client.query('COMMIT')
          return mark
        },
      )
      await judgeBank(
        {
          together: (table) => shop.table<Account>({ table }),
          apart: (table) => db.source<Account>({ table }),
          writer,
          faults: [...FAULTS.map((sql) => () => query(sql)), () => at.server.restart('immediate')],
          rows: async (table) => (await query(`SELECT id, amount FROM ${table} ORDER BY id`)).rows,
        },
        onTestFinished,
      )
    },
    BANK_TIMEOUT_MS,
  )

  /** Informers over tables of one database, started, and the connections of all of them. */
  async function tables(count: number, options: { holdMs?: number } = {}, prefix = 't') {
    const db = await at.database()
    const names = Array.from({ length: count }, (_, n) => prefix + n)
    await db.sql(names.map((name) => `CREATE TABLE ${name} (id int PRIMARY KEY, n int);`).join(''))
    for (const name of names) await db.install(name, { bulk: 15 })
    const connect = () => new Client(db.config({ application_name: 'tables' }))
    const shop = postgresDatabase({ connect, pollIntervalMs: 200, ...options })
    const informers = names.map((table) => createInformer({ source: shop.table<{ n: number }>({ table }) }))
    for (const informer of informers) informer.on('error', () => {})
    const group = groupInformers(informers)
    onTestFinished(() => group.stop())
    await group.start().synced({ timeoutMs: 60_000 })
    const write = async (n: number, to = names): Promise<string> => {
      const tx = await db.connect()
      await tx.query('BEGIN')
      for (const table of to)
        await tx.query(`INSERT INTO ${table} VALUES (1, ${n}) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n`)
      const mark = await shop.mark(tx)
      await tx.query('COMMIT')
      return mark
    }
    const rows = (): (number | undefined)[] => informers.map((informer) => informer.get('1')?.n)
    const relists = (): number[] => informers.map(({ status }) => status.relists)
    const ofAll = `FROM pg_stat_activity WHERE application_name = 'tables' AND datname = current_database()`
    const connections = async (): Promise<number> => Number(await db.value(`SELECT count(*) ${ofAll}`))
    const disconnect = () => db.sql(`SELECT pg_terminate_backend(pid) ${ofAll}`)
    return { db, informers, write, rows, relists, connections, disconnect }
  }

  test('[Q10] fifty tables with long names have one connection, which is opened again without a list, and each takes the mark of a write to any', async () => {
    const prefix = 'a_name_of_more_than_47_characters_and_a_parameter$6_'
    const { informers, write, rows, relists, connections, disconnect } = await tables(50, {}, prefix)
    await expect.poll(connections).toBe(1)
    await informers[49]?.waitFor(await write(1, [`${prefix}0`]), { timeoutMs: 20_000 })
    await informers[49]?.waitFor(await write(1, []), { timeoutMs: 20_000 }) // By a probe.
    expect(informers[0]?.status.reconnects).toBe(0)
    expect(rows().slice(0, 2)).toEqual([1, undefined])
    await disconnect()
    await informers[0]?.waitFor(await write(2), { timeoutMs: 20_000 })
    expect([new Set(rows()), new Set(relists())]).toEqual([new Set([2]), new Set([0])])
  })

  test.each([
    ['truncated', 'TRUNCATE t1', [1, undefined, 1]],
    ['altered', 'ALTER TABLE t1 ADD COLUMN more int', [1, 1, 1]],
    ['changed in bulk', 'INSERT INTO t1 SELECT g, 5 FROM generate_series(2, 40) g', [1, 1, 1]],
  ])('[Q5] a table that was %s is listed, and the others are not', async (_, sql, expected) => {
    const { db, informers, write, rows, relists } = await tables(3, { holdMs: Infinity })
    await informers[0]?.waitFor(await write(1), { timeoutMs: 20_000 })
    await db.sql(sql)
    await expect.poll(relists, { timeout: 20_000 }).toEqual([0, 1, 0])
    await informers[0]?.fresh({ timeoutMs: 20_000 })
    expect(rows()).toEqual(expected)
    await informers[2]?.waitFor(await write(2), { timeoutMs: 20_000 })
    expect(rows()).toEqual([2, 2, 2])
    expect(relists()).toEqual([0, 1, 0])
  })

  test('[Q6] a table that was dropped leaves, and the others continue', async () => {
    const { db, informers, write, rows, relists } = await tables(3, { holdMs: Infinity })
    await db.sql('DROP TABLE t1')
    await informers[2]?.waitFor(await write(3, ['t0', 't2']), { timeoutMs: 20_000 })
    const others = <V>(values: readonly V[]): readonly V[] => values.filter((_, n) => n !== 1)
    const reconnects = informers.map(({ status }) => status.reconnects)
    expect(rows()).toEqual([3, undefined, 3])
    expect(others(relists())).toEqual([0, 0])
    expect(others(reconnects)).toEqual([0, 0])
    expect(informers[1]?.health()).toMatchObject({ isReady: false })
  })

  test('a table that is locked by DDL holds its database up, and the watch continues then', async () => {
    const { db, informers, write, rows } = await tables(2)
    const ddl = await db.connect()
    await ddl.query('BEGIN; LOCK t1 IN ACCESS EXCLUSIVE MODE')
    const mark = await write(4, ['t0'])
    await expect(informers[0]?.waitFor(mark, { timeoutMs: 6_000 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await ddl.query('LOCK t0 IN ACCESS EXCLUSIVE MODE; COMMIT') // A poll that waits for t1 does not hold t0.
    await informers[0]?.waitFor(mark, { timeoutMs: 20_000 })
    expect(rows()).toEqual([4, undefined])
    expect(informers.map(({ status }) => status.reconnects)).toEqual([0, 0])
  })
})
