import { Client } from 'pg'
import { expect, test } from 'vitest'
import { describeServer, postgresVersions } from '../servers/index.js'
import { Pgbouncer } from '../servers/pgbouncer.js'
import { waitUntil } from '../servers/wait-until.js'
import { startForTests } from '../support/start-for-tests.js'
import {
  contextOf,
  type Database,
  errorOf,
  expectMirrorEqualsTable,
  expectMirrored,
  type Mirror,
  mirror,
  type Row,
  type TestSourceOptions,
  useServer,
} from './support.js'

const TABLE = `CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t SELECT g, '2026-03-01 12:00Z' FROM generate_series(1, 20) g`
/** All settings of a session with its own server process. */
const SETTINGS = `SELECT name, setting FROM pg_settings WHERE name IN ('search_path', 'datestyle', 'intervalstyle', 'bytea_output', 'extra_float_digits',
  'timezone', 'xmloption', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY 1`

const [postgres] = await postgresVersions()

describeServer('pgbouncer', 'behind a pooler', () => {
  if (postgres === undefined) throw new Error('there is no Postgres here: run npm run servers')
  const at = useServer(postgres)
  // All clients share one server connection, so that a client finds the settings that another left.
  const pooler = startForTests(() =>
    Pgbouncer.start({ targetPort: at.server.port, poolMode: 'transaction', poolSize: 1 }),
  )

  function pooled(db: Database, options: Partial<TestSourceOptions> = {}): Promise<Mirror> {
    return mirror(db, { table: 't', connect: () => new Client({ ...db.config(), port: pooler().port }), ...options })
  }

  /** Another application, behind the same pooler. */
  async function other(db: Database): Promise<Client> {
    return await db.connect({ port: pooler().port })
  }

  test('settings of a session break another application; those of a mirror reach no other session', async () => {
    const db = await at.installed(TABLE)
    const application = await other(db)
    const naive = await other(db)
    await naive.query(`SET search_path = ''`)
    expect(await errorOf(application.query('SELECT FROM t'))).toMatchObject({ code: '42P01' })
    await naive.query('RESET search_path')

    const { rows: before } = await application.query<Row>(SETTINGS)
    const rows = await pooled(db)
    await db.sql('UPDATE t SET at = now()')
    await expectMirrorEqualsTable(rows)
    expect((await application.query<Row>(SETTINGS)).rows).toEqual(before)
  })

  test('settings of a session of other applications do not reach a mirror that names its table with the schema', async () => {
    const db = await at.installed(TABLE)
    const application = await other(db)
    const { informer } = await pooled(db, { table: 'public.t' })
    await application.query(
      `SET datestyle = 'German, DMY'; SET timezone = 'Asia/Kathmandu'; SET search_path = 'nowhere'`,
    )
    await db.sql('UPDATE t SET at = $$2026-04-02 12:00Z$$ WHERE id = 1')
    await informer.until('1', (row) => Object(row?.['at']).toJSON() === '2026-04-02T12:00:00.000Z', {
      timeoutMs: 5_000,
    })
    await db.sql('TRUNCATE t; INSERT INTO t VALUES (7, $$2026-05-03 12:00Z$$)')
    await informer.until('7', (row) => Object(row?.['at']).toJSON() === '2026-05-03T12:00:00.000Z', {
      timeoutMs: 5_000,
    })
    await application.query('RESET ALL')
  })

  test.each(['ROLE', 'SESSION AUTHORIZATION'])(
    '[P30] SET %s of another application does not change what a mirror reads',
    async (what) => {
      const db = await at.installed(TABLE)
      const role = `${db.name}_other`
      await db.sql(`CREATE ROLE ${role}; ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (id = 1)`)
      await db.install('t', { grant: [role] })
      const rows = await pooled(db, { table: 'public.t', rls: 'row-local' })
      const application = await other(db)
      await application.query(`SET ${what} ${role}; SET row_security = off`)
      await db.sql('UPDATE t SET at = now()')
      await expectMirrorEqualsTable(rows)
      expect((await application.query('SELECT current_user AS role')).rows).toEqual([{ role }])
      await rows.informer.relist({ timeoutMs: 60_000 })
      expect([rows.informer.size, rows.errors]).toEqual([20, []])
      await application.query(`RESET ${what}; RESET ALL`)
    },
  )

  test('a mirror polls and does not listen', async () => {
    const db = await at.installed(TABLE)
    const rows = await pooled(db)
    await db.sql('DELETE FROM t WHERE id > 5')
    await expectMirrorEqualsTable(rows)
    expect(rows.source.waking).toBe('poll')
    const application = await other(db)
    expect((await application.query('SELECT pg_listening_channels()')).rows).toEqual([])
  })

  test('a mirror lists, resumes, relists and waits as without a pooler', async () => {
    const db = await at.installed(TABLE)
    const rows = await pooled(db)
    const tx = await other(db)
    await tx.query('BEGIN; UPDATE t SET at = now()')
    const mark = await rows.source.mark(tx)
    await tx.query('COMMIT')
    await rows.informer.waitFor(mark, { timeoutMs: 60_000 })
    await rows.source.head(contextOf())
    await db.sql('ALTER TABLE t ADD COLUMN more int DEFAULT 7')
    await expectMirrorEqualsTable(rows)
    expect([rows.informer.status.relists, rows.errors.length]).toEqual([1, 1])
  })

  test('a mirror leaves no prepared statement and no open transaction behind', async () => {
    const db = await at.installed(TABLE)
    const rows = await pooled(db)
    await expectMirrorEqualsTable(rows)
    const application = await other(db)
    expect((await application.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([])
    await rows.informer.stop()
    const sql = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = $1 AND state LIKE 'idle in transaction%'`
    await waitUntil('the last transaction to end', async () => (await db.value(sql, [db.name])) === 0)
  })

  test('a mirror waits for a locked table without an error', async () => {
    const db = await at.installed(TABLE)
    const rows = await pooled(db, { timeoutMs: 1_000 })
    const holder = await db.connect()
    await holder.query('BEGIN; LOCK TABLE t; SELECT pg_sleep(1.5); UPDATE t SET at = now(); COMMIT')
    await expectMirrorEqualsTable(rows)
    expect([rows.informer.status.relists, rows.errors]).toEqual([0, []])
  })

  test('one that keeps a server process for each session is served too', async () => {
    const db = await at.installed(TABLE)
    await using sessions = await Pgbouncer.start({ targetPort: at.server.port, poolMode: 'session' })
    const rows = await mirror(db, { table: 't', connect: () => new Client({ ...db.config(), port: sessions.port }) })
    await expectMirrored(rows, 'DELETE FROM t WHERE id > 5')
  })
})
