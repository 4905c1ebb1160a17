import { expect, onTestFinished, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import {
  type Database,
  errorOf,
  expectMirrorEqualsTable,
  mirror,
  nakedDelta,
  snapshotOf,
  useServer,
} from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int)'

describePostgres('logical replication', (postgres) => {
  const at = useServer(postgres, { wal_level: 'logical', wal_retrieve_retry_interval: '100ms' })

  const publisher = (): Promise<Database> =>
    at.prepared(`${TABLE}; INSERT INTO t VALUES (1, 1), (2, 2); CREATE PUBLICATION p FOR ALL TABLES`)

  /** Lets a database of the same server follow another; returns when it has caught up. */
  async function follow(db: Database, from: Database): Promise<void> {
    const { host, port, user, database } = from.config()
    // Created by hand, because Postgres waits for itself if publisher and subscriber are one server.
    await from.sql(`SELECT pg_create_logical_replication_slot('${db.name}', 'pgoutput')`)
    await db.sql(`CREATE SUBSCRIPTION ${db.name} CONNECTION 'host=${host} port=${port} user=${user} dbname=${database}'
      PUBLICATION p WITH (create_slot = false, slot_name = '${db.name}')`)
    onTestFinished(async () => {
      await db.sql(`ALTER SUBSCRIPTION ${db.name} DISABLE`)
      await db.sql(`ALTER SUBSCRIPTION ${db.name} SET (slot_name = NONE); DROP SUBSCRIPTION ${db.name}`)
      const drop = `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '${from.name}' AND NOT active`
      await waitUntil('the slots to be gone', async () => {
        await from.sql(drop)
        const left = await from.value(`SELECT count(*)::int FROM pg_replication_slots WHERE database = '${from.name}'`)
        return left === 0
      })
    })
    await waitUntil(
      'the first copy',
      async () => (await db.value(`SELECT srsubstate = 'r' FROM pg_subscription_rel`)) === true,
    )
  }

  async function changed(from: Database, db: Database): Promise<void> {
    await from.sql('INSERT INTO t VALUES (3, 3); UPDATE t SET n = 42 WHERE id = 1; DELETE FROM t WHERE id = 2')
    await waitUntil('the changes', async () => (await db.value('SELECT sum(id * n)::int FROM t')) === 51)
  }

  test('into a table fires no trigger for statements: a log by these is silent, and its mirror fails instead of missing it', async () => {
    const [from, db] = [await publisher(), await at.installed(TABLE)]
    const { informer } = await mirror(db, { table: 't' })
    await follow(db, from)
    const snapshot = await snapshotOf(db)
    await changed(from, db)
    expect(await nakedDelta(db, await db.log('t'), snapshot)).toEqual([])
    await waitUntil('the failure', () => informer.status.state === 'failed')
    expect(informer.status.lastError).toMatchObject(failure('NOT_FOUND', 'pg install'))
  })

  test('into a table arrives by triggers for rows, which such a table gets', async () => {
    const [from, db] = [await publisher(), await at.prepared(TABLE)]
    await follow(db, from)
    await db.install('t')
    const rows = await mirror(db, { table: 't' })
    await changed(from, db)
    await expectMirrorEqualsTable(rows)
    expect([rows.informer.size, rows.informer.status.relists]).toEqual([2, 0])
  })

  test('into a table refuses triggers for statements', async () => {
    const [from, db] = [await publisher(), await at.prepared(TABLE)]
    await follow(db, from)
    expect((await errorOf(db.install('t', { level: 'statement' }))).message).toContain('replication')
  })

  test('of all tables of a database does not carry the logs, and does not keep them from being trimmed', async () => {
    const db = await publisher()
    await db.install('t')
    await db.sql(`UPDATE t SET n = 3; SELECT listwatch.trim('0 s'); UPDATE t SET n = 4; SELECT listwatch.trim('0 s')`)
    expect(await db.sql('SELECT tablename FROM pg_publication_tables')).toEqual([{ tablename: 't' }])
  })
})
