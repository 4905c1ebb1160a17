import { describe, expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import {
  type Database,
  expectMirrorEqualsTable,
  type Mirror,
  mirror,
  type TestSourceOptions,
  useServer,
} from './support.js'

const FILL = `INSERT INTO orders SELECT g, 't' || g % 3, g FROM generate_series(1, 20) g`
const ORDERS = `CREATE TABLE orders (id bigint PRIMARY KEY, tenant text NOT NULL DEFAULT 'acme', total int);
  ${FILL}`
/** Sessions whose last statement was the probe of a poll. */
const PROBES = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%isSame%'`

describePostgres('statements', (postgres) => {
  const at = useServer(postgres, { max_prepared_transactions: '5' })

  async function mirrored(
    setup = ORDERS,
    installation: { readonly bulk?: number; readonly level?: 'row' | 'statement' } = {},
    options: Partial<TestSourceOptions> = {},
  ): Promise<Mirror & { readonly db: Database }> {
    const db = await at.installed(setup, { table: 'orders', ...installation })
    return { ...(await mirror(db, { table: 'orders', ...options })), db }
  }

  const writes: Readonly<Record<string, string>> = {
    INSERT: 'INSERT INTO orders VALUES (21), (22)',
    UPDATE: 'UPDATE orders SET total = total + 1 WHERE id < 5',
    DELETE: 'DELETE FROM orders WHERE id < 5',
    'DELETE of all rows': 'DELETE FROM orders',
    'COPY FROM': `COPY orders FROM PROGRAM 'printf "30\\tacme\\t1\\n31\\tacme\\t2\\n"'`,
    'ON CONFLICT DO UPDATE, both ways': 'INSERT INTO orders VALUES (1), (99) ON CONFLICT (id) DO UPDATE SET total = 0',
    'ON CONFLICT DO NOTHING': 'INSERT INTO orders VALUES (1), (99) ON CONFLICT DO NOTHING',
    'writes in common table expressions': `WITH gone AS (DELETE FROM orders WHERE id < 4 RETURNING id), moved AS (UPDATE orders SET tenant = 'm' WHERE id > 18)
       INSERT INTO orders SELECT id + 100 FROM gone`,
    'MERGE with all three arms': `MERGE INTO orders o USING (VALUES (1, 'delete'), (2, 'update'), (50, 'insert')) v(id, what) ON o.id = v.id
       WHEN MATCHED AND what = 'delete' THEN DELETE WHEN MATCHED THEN UPDATE SET total = -1 WHEN NOT MATCHED THEN INSERT VALUES (v.id)`,
    'a changed key': 'UPDATE orders SET id = id + 1000 WHERE id <= 3',
    'keys that change places': 'UPDATE orders SET id = -id; UPDATE orders SET id = 21 + id',
    'a row deleted and inserted again': 'BEGIN; DELETE FROM orders WHERE id = 1; INSERT INTO orders VALUES (1); COMMIT',
    'a savepoint that is kept': 'BEGIN; SAVEPOINT s; UPDATE orders SET total = 7; RELEASE s; COMMIT',
    'a savepoint that is rolled back': `BEGIN; UPDATE orders SET total = 8 WHERE id = 1; SAVEPOINT s; DELETE FROM orders; ROLLBACK TO s;
       UPDATE orders SET total = 9 WHERE id = 2; COMMIT`,
    'a block with an exception': `DO $$ BEGIN BEGIN DELETE FROM orders; RAISE 'no'; EXCEPTION WHEN OTHERS THEN UPDATE orders SET total = 3 WHERE id = 3; END; END $$`,
    'session_replication_role = replica': `SET session_replication_role = replica; UPDATE orders SET total = 5; RESET session_replication_role`,
    'a prepared transaction': `BEGIN; UPDATE orders SET total = 6; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'`,
  }

  test.each(['statement', 'row'] as const)('what is written by triggers for each %s arrives', async (level) => {
    const { db, ...orders } = await mirrored(ORDERS, { level })
    for (const [name, sql] of Object.entries(writes)) {
      await db.sql(`BEGIN; DELETE FROM orders; ${FILL}; COMMIT`)
      await expectMirrorEqualsTable(orders)
      for (const each of sql.includes('PREPARE') || sql.startsWith('SET') ? sql.split(';') : [sql]) await db.sql(each)
      await expectMirrorEqualsTable(orders)
      expect(orders.informer.status.relists, name).toBe(0)
    }
  })

  test('keys swapped in one statement under a deferrable primary key arrive', async () => {
    const { db, ...orders } =
      await mirrored(`CREATE TABLE orders (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, name text);
      INSERT INTO orders VALUES (1, 'one'), (2, 'two'), (3, 'three')`)
    await db.sql('UPDATE orders SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE 4 END')
    await db.sql(`BEGIN; INSERT INTO orders VALUES (1, 'second one'); DELETE FROM orders WHERE name = 'two'; COMMIT`)
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.get('1')).toEqual({ id: 1, name: 'second one' })
  })

  test('cascades of foreign keys arrive, and that of TRUNCATE by one relist', async () => {
    const { db, ...orders } = await mirrored(`CREATE TABLE customers (id int PRIMARY KEY);
      CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers ON DELETE CASCADE ON UPDATE CASCADE);
      INSERT INTO customers VALUES (1), (2), (3); INSERT INTO orders VALUES (10, 1), (11, 1), (20, 2), (30, 3)`)
    await db.sql('UPDATE customers SET id = 9 WHERE id = 1')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.get('11')).toEqual({ id: 11, customer: 9 })
    await db.sql('DELETE FROM customers WHERE id = 9')
    await expectMirrorEqualsTable(orders)
    expect([orders.informer.size, orders.informer.status.relists]).toEqual([2, 0])
    await db.sql('TRUNCATE customers CASCADE')
    await expectMirrorEqualsTable(orders)
    expect([orders.informer.size, orders.informer.status.relists]).toEqual([0, 1])
  })

  test('what is rolled back is never shown, TRUNCATE neither', async () => {
    const { db, ...orders } = await mirrored()
    await db.sql('BEGIN; UPDATE orders SET total = 0; INSERT INTO orders VALUES (77); ROLLBACK')
    await db.sql('BEGIN; TRUNCATE orders; ROLLBACK')
    await expectMirrorEqualsTable(orders)
    expect([orders.fold.changes.length, orders.informer.status.relists]).toEqual([20, 0])
  })

  test('a statement that touches no row leaves no trace in the log and takes no transaction id', async () => {
    const { db } = await mirrored()
    const rows = await db.sql(
      'BEGIN; UPDATE orders SET total = 0 WHERE false; SELECT pg_current_xact_id_if_assigned() AS xid',
    )
    await db.sql('COMMIT')
    expect(rows).toEqual([{ xid: null }])
    expect(await db.value(`SELECT count(*)::int FROM ${await db.log('orders')}`)).toBe(0)
  })

  test('a statement that changes exactly `bulk` rows arrives without a relist', async () => {
    const { db, ...orders } = await mirrored(ORDERS, { bulk: 10 })
    await db.sql('UPDATE orders SET total = 0 WHERE id <= 10')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.status.relists).toBe(0)
  })

  test.each([
    'UPDATE orders SET total = 0',
    'DELETE FROM orders',
    'INSERT INTO orders SELECT g FROM generate_series(21, 40) g',
  ])('a statement above `bulk` logs one row and arrives by one relist: %s', async (statement) => {
    const { db, ...orders } = await mirrored(ORDERS, { bulk: 10 })
    await db.sql(statement)
    expect(await db.sql(`SELECT op FROM ${await db.log('orders')}`)).toEqual([{ op: 'T' }])
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.status.relists).toBe(1)
  })

  test('exactly maxDeltaRows changed keys arrive without a relist, more than maxDeltaRows changed keys by one', async () => {
    const { db, ...orders } = await mirrored(ORDERS, {}, { maxDeltaRows: 10 })
    await db.sql('UPDATE orders SET total = 0 WHERE id <= 10')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.status.relists).toBe(0)
    await db.sql('UPDATE orders SET total = 1 WHERE id <= 11')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.status.relists).toBe(1)
  })

  test('a transaction that began before others and commits after them is not missed, and delays no other', async () => {
    const { db, ...orders } = await mirrored()
    const slow = await db.connect()
    await slow.query('BEGIN; UPDATE orders SET total = -1 WHERE id = 1')
    await db.sql('UPDATE orders SET total = -2 WHERE id = 2')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.get('2')).toMatchObject({ total: -2 })
    await slow.query('COMMIT')
    await expectMirrorEqualsTable(orders)
    expect(orders.informer.get('1')).toMatchObject({ total: -1 })
  })

  test('a transaction that commits after later ones is not missed without a wake-up', async () => {
    const { db, ...orders } = await mirrored(ORDERS, {}, { wake: 'poll' })
    const slow = await db.connect()
    await slow.query('BEGIN; UPDATE orders SET total = -1 WHERE id = 1')
    await db.sql('UPDATE orders SET total = -2 WHERE id = 2')
    await waitUntil('the later one', () => orders.informer.get('2')?.['total'] === -2)
    await waitUntil('polls that expect no change', async () => (await db.sql(PROBES)).length > 0)
    await slow.query('COMMIT')
    await waitUntil('the earlier one', () => orders.informer.get('1')?.['total'] === -1)
  })

  test('a look reads the rows that changed, and not the table, even if Postgres has no statistics', async () => {
    const { db, informer } = await mirrored('CREATE TABLE orders (id int PRIMARY KEY, n int DEFAULT 0)')
    await db.sql('INSERT INTO orders SELECT g FROM generate_series(1, 50000) g')
    await waitUntil('the rows', () => informer.size === 50_000)
    const scans = (): Promise<unknown> =>
      db.value(`SELECT seq_tup_read::int FROM pg_stat_user_tables WHERE relname = 'orders'`)
    const before = await scans()
    for (let n = 1; n <= 10; n++) {
      await db.sql(
        `UPDATE orders SET n = ${n} WHERE id % 1000 = 0 AND id = ANY (ARRAY (SELECT 1000 * generate_series(1, 50)))`,
      )
      await informer.until('1000', (row) => row?.['n'] === n, { timeoutMs: 60_000 })
    }
    await informer.stop()
    // A connection reports its statistics when it closes.
    const others = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
    await waitUntil('the mirror to be gone', async () => Number(await db.value(others, [db.name])) <= 1)
    expect(await scans()).toBe(before)
  })

  describe('the application_name of a mirror', () => {
    const names = `SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

    test('is listwatch when the client does not set one', async () => {
      const { db } = await mirrored()
      expect(await db.sql(names)).toContainEqual({ application_name: 'listwatch' })
    })

    test('is the one that the client sets', async () => {
      const { db } = await mirrored(ORDERS, {}, { connection: { application_name: 'orders-api' } })
      const found = await db.sql(names)
      expect(found).toContainEqual({ application_name: 'orders-api' })
      expect(found).not.toContainEqual({ application_name: 'listwatch' })
    })
  })
})
