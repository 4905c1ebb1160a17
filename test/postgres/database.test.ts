import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type PostgresDatabase, postgresDatabase } from '../../adapters/postgres/index.js'
import { createInformer, derive, groupInformers, type Informer } from '../../src/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { describePostgres } from '../servers/index.js'
import { type Database, useServer } from './support.js'
import { TrappedClient } from './traps.js'

interface Account {
  readonly id: number
  readonly amount: number
}

const ACCOUNTS = 20
const SUM = 2 * 100 * ACCOUNTS
/** Longer with an environment variable: ten minutes of the nightly run. */
const SECONDS = Number(process.env['LISTWATCH_BANK_SECONDS'] ?? 8)
const TABLES = ['savings', 'checking'] as const

function databaseOf(db: Database, options: { holdMs?: number; application_name?: string } = {}): PostgresDatabase {
  const { holdMs = Infinity, ...connection } = options
  return postgresDatabase({ connect: () => new TrappedClient(db.config(connection)), pollIntervalMs: 200, holdMs })
}

async function bank(db: Database): Promise<void> {
  for (const table of TABLES) {
    await db.sql(`CREATE TABLE ${table} (id int PRIMARY KEY, amount int NOT NULL);
      INSERT INTO ${table} SELECT id, 100 FROM generate_series(1, ${ACCOUNTS}) id`)
    await db.install(table, { bulk: 15 })
  }
}

/** What all accounts of both tables have, as readers see them now. */
function sumOf(informers: readonly Informer<Account, object>[]): number {
  let sum = 0
  for (const informer of informers) for (const { amount } of informer.list()) sum += amount
  return sum
}

/** Counts the looks, and those that see a sum that the bank never had. */
function watched(informers: readonly Informer<Account, object>[]) {
  const counts = { looks: 0, wrong: 0 }
  const look = (): void => {
    if (informers.some(({ status }) => !status.isSynced)) return
    counts.looks++
    if (sumOf(informers) !== SUM) counts.wrong++
  }
  for (const informer of informers) informer.subscribe({ update: look, add: look, delete: look })
  return { counts, look }
}

describePostgres('a database of Postgres', (postgres) => {
  const at = useServer(postgres)

  test(
    '[Q11] of a bank all readers, handlers and views see a constant sum, which two sources of one table do not',
    async ({ onTestFinished }) => {
      const db = await at.database()
      await bank(db)
      const shop = databaseOf(db, { application_name: 'consistent' })
      const random = new SeededRandom(1)
      const started = (make: (table: string) => Parameters<typeof createInformer<Account, object>>[0]['source']) =>
        TABLES.map((table) => createInformer<Account, object, Account>({ source: make(table) }))
      const together = started((table) => shop.table<Account>({ table }))
      const apart = started((table) => db.source<Account>({ table }))
      const [savings, checking] = together
      if (savings === undefined || checking === undefined) throw new Error('there are two tables')
      const both = derive({
        from: savings,
        reads: [checking],
        each: ({ amount }, key) => amount + (checking.get(key)?.amount ?? 0),
      })
      const group = groupInformers([...together, ...apart, both])
      const errors: string[] = []
      for (const each of [...together, ...apart]) each.on('error', ({ message }) => void errors.push(message))
      onTestFinished(() => group.stop())
      await group.start().synced({ timeoutMs: 60_000 })
      const [ours, theirs] = [watched(together), watched(apart)]
      let isOver = false
      let transfers = 0
      const transfer = async (): Promise<void> => {
        const client = await db.connect()
        while (!isOver) {
          const [from, to] = random.next() < 0.5 ? TABLES : TABLES.toReversed()
          const ids = [1 + Math.floor(random.next() * ACCOUNTS), 1 + Math.floor(random.next() * ACCOUNTS)]
          await client.query('BEGIN')
          const change = (table: string | undefined, sign: string, id = 1) =>
            client.query(`UPDATE ${table} SET amount = amount ${sign} 1 WHERE id = ${id}`)
          try {
            await change(from, '-', ids[0])
            await change(to, '+', ids[1])
            await client.query('COMMIT')
            transfers++
          } catch {
            await client.query('ROLLBACK') // A deadlock.
          }
          await sleep(4)
        }
      }
      const faults: readonly string[] = [
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'consistent' AND datname = current_database()`,
        'BEGIN; LOCK savings, checking; CREATE TEMP TABLE kept AS SELECT * FROM savings; TRUNCATE savings; INSERT INTO savings (id, amount) SELECT id, amount FROM kept; DROP TABLE kept; COMMIT',
        'ALTER TABLE checking ADD COLUMN IF NOT EXISTS note text',
        'UPDATE savings SET amount = amount',
        'ALTER TABLE checking DROP COLUMN IF EXISTS note',
      ]
      const fail = async (): Promise<void> => {
        for (let fault = 0; !isOver; fault++) {
          await sleep(700)
          await db.sql(faults[fault % faults.length] ?? '').catch(() => db.sql('ROLLBACK')) // A deadlock.
        }
      }
      const read = async (): Promise<void> => {
        for (; !isOver; await sleep(1)) {
          ours.look()
          theirs.look()
          // The view changes in the same step.
          const sum = both.list().reduce((all, each) => all + each, 0)
          if (sum !== SUM) ours.counts.wrong++
        }
      }
      const running = Promise.all([transfer(), transfer(), transfer(), transfer(), fail(), read()])
      await sleep(SECONDS * 1_000)
      isOver = true
      await running
      const client = await db.connect()
      await client.query('BEGIN; UPDATE savings SET amount = amount - 1 WHERE id = 1')
      await client.query('UPDATE checking SET amount = amount + 1 WHERE id = 1')
      const mark = await shop.mark(client)
      await client.query('COMMIT')
      await savings.waitFor(mark, { timeoutMs: 60_000 })
      const relists = savings.status.relists + checking.status.relists
      if (SECONDS > 60)
        console.log({ transfers, relists, errors: errors.length, ours: ours.counts, theirs: theirs.counts })
      for (const [table, informer] of [
        ['savings', savings],
        ['checking', checking],
      ] as const) {
        const rows = await db.sql(`SELECT id, amount FROM ${table} ORDER BY id`)
        const shown = informer.list().map(({ id, amount }) => ({ id, amount }))
        expect(shown.sort((a, b) => a.id - b.id)).toEqual(rows)
      }
      expect(ours.counts).toMatchObject({ wrong: 0 })
      expect(ours.counts.looks).toBeGreaterThan(100)
      expect(theirs.counts.wrong).toBeGreaterThan(0)
      expect([relists, errors.length, transfers].every((count) => count > 0)).toBe(true)
    },
    SECONDS * 1_000 + 120_000,
  )
})
