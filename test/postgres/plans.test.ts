import { Client } from 'pg'
import { expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Database, mirror, useServer } from './support.js'

const ORDERS =
  'CREATE TABLE orders (id int PRIMARY KEY, n int); INSERT INTO orders SELECT g, 0 FROM generate_series(1, 10) g'

describePostgres('the plans of polls', (postgres) => {
  const at = useServer(postgres)

  /** Changes a row, and waits for it, so often that Postgres has chosen between generic plans and custom plans. */
  async function change(db: Database, seen: (n: number) => Promise<unknown>): Promise<void> {
    for (let n = 1; n <= 10; n++) {
      await db.sql(`UPDATE orders SET n = ${n} WHERE id = 1`)
      await seen(n)
    }
  }

  test('[P13] read the new rows of a large log, and not the whole log', async () => {
    const db = await at.installed(`${ORDERS}; CREATE TABLE other (id int)`, 'orders')
    const log = await db.log('orders')
    await db.sql(`INSERT INTO ${log} (xid, k1) SELECT '3', g FROM generate_series(1, 50000) g`)
    await db.sql(`ANALYZE ${log}`)
    const { informer } = await mirror(db, { table: 'orders' })
    const rowsRead = (): Promise<unknown> =>
      db.value('SELECT seq_tup_read::int FROM pg_stat_all_tables WHERE relid = $1::regclass::oid', [log])
    const before = await rowsRead()
    await change(db, async (n) => {
      await informer.until('1', (row) => row?.['n'] === n, { timeoutMs: 60_000 })
      const { version } = informer
      await db.sql('INSERT INTO other VALUES (1)')
      await waitUntil('a poll without changes', () => informer.version !== version)
    })
    await informer.stop()
    // A connection reports its statistics when it closes.
    const others = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
    await waitUntil('the end of the session', async () => Number(await db.value(others, [db.name])) <= 1)
    expect(await rowsRead()).toBe(before)
  })

  test('[P13] are made once, and used for all later polls', async () => {
    const clients: Client[] = []
    const db = await at.installed(ORDERS, 'orders')
    const client = (): Client => clients[clients.push(new Client(db.config())) - 1] as Client
    const { informer } = await mirror(db, { table: 'orders', connect: client })
    await change(db, (n) => informer.until('1', (row) => row?.['n'] === n, { timeoutMs: 60_000 }))
    const plans = `SELECT custom_plans::int FROM pg_prepared_statements WHERE name = 'listwatch_delta' AND generic_plans > 8`
    expect((await clients.at(-1)?.query(plans))?.rows).toEqual([{ custom_plans: 0 }])
  })
})
