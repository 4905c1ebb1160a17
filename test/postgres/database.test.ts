import { Client } from 'pg'
import { test } from 'vitest'
import { postgresDatabase } from '../../adapters/postgres/index.js'
import { describePostgres } from '../servers/index.js'
import {
  ACCOUNTS,
  type Account,
  AMOUNT,
  BANK_TIMEOUT_MS,
  COLLECTIONS,
  judgeBank,
  type Transfer,
} from '../support/bank.js'
import { useServer } from './support.js'

const FAULTS = [
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'consistent' AND datname = current_database()`,
  'BEGIN; LOCK savings, checking; CREATE TEMP TABLE kept AS SELECT * FROM savings; TRUNCATE savings; INSERT INTO savings (id, amount) SELECT id, amount FROM kept; DROP TABLE kept; COMMIT',
  'ALTER TABLE checking ADD COLUMN IF NOT EXISTS note text',
  'UPDATE savings SET amount = amount',
  'ALTER TABLE checking DROP COLUMN IF EXISTS note',
]

describePostgres('a database of Postgres', (postgres) => {
  const at = useServer(postgres)

  test(
    '[Q11] of a bank all readers, handlers and views see a constant sum, which two sources of one table do not',
    async ({ onTestFinished }) => {
      const db = await at.database()
      for (const table of COLLECTIONS) {
        await db.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, amount int NOT NULL);
          INSERT INTO ${table} SELECT id, ${AMOUNT} FROM generate_series(1, ${ACCOUNTS}) id`)
        await db.install(table, { bulk: 15 })
      }
      const connect = () => new Client(db.config({ application_name: 'consistent' }))
      const shop = postgresDatabase({ connect, pollIntervalMs: 200, holdMs: Infinity })
      const writer = async () => {
        const client = await db.connect()
        const change = (table: string, sign: string, id: number) =>
          client.query(`UPDATE ${table} SET amount = amount ${sign} 1 WHERE id = ${id}`)
        return async ({ from, to, debited, credited }: Transfer) => {
          try {
            await client.query('BEGIN')
            await change(from, '-', debited)
            await change(to, '+', credited)
            const mark = await shop.mark(client)
            await client.query('COMMIT')
            return mark
          } catch {
            await client.query('ROLLBACK') // A deadlock.
            return undefined
          }
        }
      }
      await judgeBank(
        {
          together: (table) => shop.table<Account>({ table }),
          apart: (table) => db.source<Account>({ table }),
          writer,
          faults: FAULTS.map((sql) => () => db.sql(sql).catch(() => db.sql('ROLLBACK'))), // A deadlock.
          rows: (table) => db.sql(`SELECT id, amount FROM ${table} ORDER BY id`),
        },
        onTestFinished,
      )
    },
    BANK_TIMEOUT_MS,
  )
})
