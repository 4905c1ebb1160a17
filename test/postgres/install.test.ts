import type { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from '../../adapters/postgres/index.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import {
  contextOf,
  type Database,
  dropRoles,
  errorOf,
  expectMirrored,
  hasty,
  mirror,
  mirrorOf,
  type Row,
  useServer,
} from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)'

/** Everything that an installation could leave behind, by name; and the rights on the table. */
const OBJECTS = `SELECT 'relation' AS kind, oid::regclass::text AS name FROM pg_class WHERE oid >= 16384 AND relkind <> 't' AND relname::text NOT LIKE 'pg\\_toast%'
  UNION ALL SELECT 'function', oid::regprocedure::text FROM pg_proc WHERE oid >= 16384
  UNION ALL SELECT 'schema', nspname FROM pg_namespace WHERE oid >= 16384 AND nspname::text NOT LIKE 'pg\\_%'
  UNION ALL SELECT 'trigger', tgname FROM pg_trigger WHERE oid >= 16384 AND NOT tgisinternal
  UNION ALL SELECT 'type', oid::regtype::text FROM pg_type WHERE oid >= 16384
  UNION ALL SELECT 'comment', description FROM pg_description WHERE objoid >= 16384
  UNION ALL SELECT 'right', relacl::text FROM pg_class WHERE oid >= 16384 AND relacl IS NOT NULL
  ORDER BY 1, 2`

describePostgres('installing', (postgres) => {
  const at = useServer(postgres)

  describe('twice', () => {
    test('leaves one log, the new one, with the new options', async () => {
      const db = await at.installed(TABLE)
      const first = await db.log('t')
      await db.install('t', { wake: 'each', level: 'row', bulk: 2 ** 31 })
      const { tables } = await changeLogStatus(await db.connect())
      expect(tables).toMatchObject([{ table: 't', wake: 'each', level: 'row', problems: [] }])
      expect(await db.value('SELECT to_regclass($1)', [first])).toBe(null)
    })

    test('makes mirrors read the table once more, and nothing else', async () => {
      const db = await at.installed(TABLE)
      const rows = await mirror(db, { table: 't' })
      await db.install('t')
      await expectMirrored(rows, 'UPDATE t SET n = 42 WHERE id = 1')
      expect(rows.errors.map(({ code }) => code)).toEqual(['VERSION_EXPIRED'])
    })

    test('keeps the epoch, and so the marks that are under way', async () => {
      const db = await at.installed(TABLE)
      const epoch = await db.value('SELECT listwatch.epoch()')
      await db.install('t')
      expect(await db.value('SELECT listwatch.epoch()')).toBe(epoch)
    })

    test('at the same time happens one after the other', async () => {
      const db = await at.prepared(TABLE)
      await Promise.all([db.install('t'), db.install('t'), db.install('t')])
      expect((await changeLogStatus(await db.connect())).tables).toMatchObject([{ problems: [] }])
    })
  })

  test('that fails leaves nothing behind', async () => {
    const db = await at.prepared('CREATE TABLE t (id numeric PRIMARY KEY)')
    const before = await db.sql(OBJECTS)
    expect((await errorOf(db.install('t'))).message).toContain('numeric')
    expect(await db.sql(OBJECTS)).toEqual(before)
  })

  describe('behind a lock of another session', () => {
    async function held(): Promise<{ readonly db: Database; readonly holder: Client }> {
      const db = await at.installed(TABLE)
      const holder = await db.connect()
      await holder.query('BEGIN; UPDATE t SET n = 7 WHERE id = 1')
      return { db, holder }
    }

    test('waits in turns, between which other writers pass', async () => {
      const { db, holder } = await held()
      const installing = installChangeLog(await hasty(db, '2s'), { table: 't', wake: 'each' })
      const waiting = `SELECT count(*)::int FROM pg_locks WHERE relation = 't'::regclass::oid AND NOT granted`
      await waitUntil('the lock to be waited for', async () => (await db.value(waiting)) === 1)
      await db.sql('UPDATE t SET n = 8 WHERE id = 2')
      await holder.query('COMMIT')
      await installing
      expect((await changeLogStatus(await db.connect())).tables).toMatchObject([{ wake: 'each', problems: [] }])
    })

    test('fails after the last attempt, names the table, and has changed nothing', async () => {
      const { db, holder } = await held()
      const error = await errorOf(installChangeLog(await hasty(db, '50ms'), { table: 't', wake: 'each' }))
      expect(error.message).toMatch(/^t is locked by another session; nothing was changed/)
      expect((await changeLogStatus(await db.connect())).tables).toMatchObject([{ wake: 'bucket', problems: [] }])
      const lost = errorOf(installChangeLog(await db.connect(), { table: 't' }))
      const ended = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 't'::regclass::oid AND NOT granted`
      await waitUntil('the end of its connection', async () => (await db.sql(ended)).length > 0)
      expect(await lost).toMatchObject({ code: 'UNAVAILABLE' })
      await holder.query('ROLLBACK')
    })
  })

  test('that is ended by a deadlock with a reader is tried again', async () => {
    const db = await at.installed(TABLE)
    await db.sql(`ALTER DATABASE ${db.name} SET deadlock_timeout = '100ms'`)
    const reader = await db.connect()
    await reader.query(`SET deadlock_timeout = '10s'; BEGIN; SELECT FROM ${await db.log('t')}`)
    const removing = uninstallChangeLog(await db.connect(), { table: 't' })
    const waiting = `SELECT count(*)::int FROM pg_locks WHERE relation = '${await db.log('t')}'::regclass::oid AND NOT granted`
    await waitUntil('the lock of the log to be waited for', async () => (await db.value(waiting)) === 1)
    await reader.query('SELECT FROM t; COMMIT')
    expect(await removing).toBe(true)
  })

  test('needs no superuser: the owner of the table, who may create in the database, will do', async () => {
    const db = await at.prepared(TABLE)
    const owner = `${db.name}_owner`
    await db.sql(`CREATE ROLE ${owner} LOGIN; GRANT CREATE ON DATABASE ${db.name} TO ${owner};
      GRANT CREATE ON SCHEMA public TO ${owner}; ALTER TABLE t OWNER TO ${owner}`)
    const client = await db.connect({ user: owner })
    await client.query(installChangeLogSql({ table: 't' }))
    const rows = await mirror(db, { table: 't', connection: { user: owner } })
    await expectMirrored(rows, 'UPDATE t SET n = 42 WHERE id = 1')
    await uninstallChangeLog(client, { all: true })
    await Promise.all([rows.informer.stop(), client.end()])
    await db.sql(`ALTER TABLE t OWNER TO postgres`)
    await dropRoles(db, owner)
  })

  describe('a table whose log is removed', () => {
    test('is unchanged after the removal, and so is the database after the removal of all', async () => {
      const db = await at.prepared(TABLE)
      const before = await db.sql(OBJECTS)
      await db.install('t', { grant: [] })
      await db.sql('UPDATE t SET n = 42')
      await uninstallChangeLog(await db.connect(), { all: true })
      expect(await db.sql(OBJECTS)).toEqual(before)
    })

    test('of a database without an installation is NOT_FOUND', async () => {
      const db = await at.prepared(TABLE)
      expect(await errorOf(uninstallChangeLog(await db.connect(), { all: true }))).toMatchObject({ code: 'NOT_FOUND' })
    })

    test('with partitions is left as it was, with all of them', async () => {
      const db = await at.prepared(`CREATE TABLE t (id int PRIMARY KEY) PARTITION BY RANGE (id);
        CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (100)`)
      const before = await db.sql(OBJECTS)
      await db.install('t')
      await db.sql('CREATE TABLE high PARTITION OF t FOR VALUES FROM (100) TO (200)')
      await db.sql(uninstallChangeLogSql({ all: true }))
      await db.sql('DROP TABLE high')
      expect(await db.sql(OBJECTS)).toEqual(before)
    })
  })

  describe('with grant', () => {
    async function granted(): Promise<Database & { readonly role: string }> {
      const db = await at.prepared(`${TABLE}; CREATE TABLE secret (id int PRIMARY KEY)`)
      const role = `${db.name}_reader`
      await db.sql(`CREATE ROLE ${role} LOGIN`)
      await db.install('secret')
      return Object.assign(db, { role })
    }

    test('the role can mirror the table; without it, the error names the command', async () => {
      const db = await granted()
      await db.install('t')
      const options = { table: 't', connection: { user: db.role }, trimEveryMs: 1 }
      const { informer, errors } = mirrorOf(db, options)
      informer.start()
      const error = await errorOf(informer.synced({ timeoutMs: 60_000 }))
      const hint = `; as the owner of the table run: npx listwatch pg install <url> --table t --grant ${db.role}`
      expect(error).toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining(hint) })
      await informer.stop()
      expect(errors).not.toEqual([])

      await db.install('t', { grant: [db.role] })
      const rows = await mirror(db, options)
      await expectMirrored(rows, 'UPDATE t SET n = 42 WHERE id = 1; DELETE FROM t WHERE id = 2')
      await rows.source.head(contextOf())
      const tx = await db.connect({ user: db.role })
      await tx.query('BEGIN')
      await rows.source.mark(tx)
      expect([rows.informer.status.relists, rows.errors]).toEqual([0, []])
    })

    const forbidden = [
      ['write to the table', () => 'UPDATE t SET n = 1'],
      ['write to the log', (log: string) => `DELETE FROM ${log}`],
      ['write the epoch', () => 'UPDATE listwatch.state SET epoch = gen_random_uuid()::text'],
      ['read the marks', () => 'SELECT FROM listwatch.mark'],
      ['read the logs of other tables', (_: string, other: string) => `SELECT FROM ${other}`],
      ['read other tables', () => 'SELECT FROM secret'],
      ['trim to any position', () => `SELECT listwatch.trim('0 s')`],
      ['do what only writers do', (log: string) => `SELECT listwatch.tidy('${log}', 1)`],
      ['install', () => `SELECT listwatch.install('t')`],
      ['install again', () => `SELECT listwatch.reinstall('t')`],
      ['uninstall', () => `SELECT listwatch.uninstall('t')`],
      [
        'grant',
        (_: string, other: string, role: string) => `SELECT listwatch.grant_to('secret', '${other}', '${role}')`,
      ],
      ['make objects in the schema', () => 'CREATE TABLE listwatch.x (id int)'],
    ] as const

    test.each(forbidden)('the role cannot %s', async (_name, sql) => {
      const db = await granted()
      await db.install('t', { grant: [db.role] })
      const reader = await db.connect({ user: db.role })
      const statement = sql(await db.log('t'), await db.log('secret'), db.role)
      expect(await errorOf(reader.query(statement))).toMatchObject({ code: '42501' })
    })

    test('taken away from a running mirror makes it fail, and leaves what it shows readable', async () => {
      const db = await granted()
      await db.install('t', { grant: [db.role] })
      const { informer } = await mirror(db, { table: 't', connection: { user: db.role } })
      await db.sql(`REVOKE SELECT ON t FROM ${db.role}`)
      await waitUntil('the failure', () => informer.status.state === 'failed')
      expect(informer.status.lastError).toMatchObject({ code: 'UNAUTHORIZED' })
      expect(informer.size).toBe(2)
    })
  })

  describe('the status', () => {
    async function statusOf(db: Database): Promise<Row> {
      return { ...(await changeLogStatus(await db.connect())) }
    }

    test('of a database without an installation has no schema version', async () => {
      expect(await statusOf(await at.prepared(TABLE))).toMatchObject({ schemaVersion: undefined, tables: [] })
    })

    test('says how large each log is, who reads it, and how long a transaction has been open', async () => {
      const db = await at.prepared(TABLE)
      await db.sql(`CREATE ROLE ${db.name}_reader`)
      await db.install('t', { grant: [`${db.name}_reader`] })
      await db.sql('UPDATE t SET n = 42')
      const open = await db.connect()
      await open.query('BEGIN; SELECT pg_sleep(0.05)')
      const { tables, oldestTransactionMs, schemaVersion } = await statusOf(db)
      expect({ tables, schemaVersion }).toMatchObject({
        schemaVersion: 3,
        tables: [{ table: 't', logRows: 2, keyColumns: ['id'], readers: [`${db.name}_reader`], problems: [] }],
      })
      expect(oldestTransactionMs).toBeGreaterThanOrEqual(50)
      await open.query('ROLLBACK')
    })

    test('[P4] says what makes a log miss changes', async () => {
      const db = await at.installed(TABLE)
      await db.sql('ALTER TABLE t DISABLE TRIGGER zz_listwatch_u; ALTER TABLE t ENABLE TRIGGER zz_listwatch_d')
      expect(await statusOf(db)).toMatchObject({
        tables: [
          {
            problems: [
              expect.stringMatching(/zz_listwatch_u is disabled: changes are missed; run: npx listwatch pg install/),
              expect.stringMatching(
                /zz_listwatch_d does not fire if session_replication_role is replica .*: changes are missed; run/,
              ),
            ],
          },
        ],
      })
    })
  })
})
