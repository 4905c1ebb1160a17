import { expect, onTestFinished, test } from 'vitest'
import { changeLogStatus, installChangeLog, trimChangeLogs } from '../../adapters/postgres/index.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Database, dropRoles, errorOf, expectMirrored, mirror, useServer } from './support.js'

const TABLE = `CREATE TABLE t (id int PRIMARY KEY, n int, secret text); INSERT INTO t SELECT g, 0, 'x' FROM generate_series(1, 20) g`

describePostgres('a role that mirrors', (postgres) => {
  const at = useServer(postgres)

  async function withRole(): Promise<{ readonly db: Database; readonly role: string }> {
    const db = await at.prepared(TABLE)
    const role = `${db.name}_reader`
    await db.sql(`CREATE ROLE ${role} LOGIN`)
    onTestFinished(() => dropRoles(db, role))
    return { db, role }
  }

  test('[P10] with default_transaction_read_only seeds a new epoch, checks its condition, and trims', async () => {
    const { db, role } = await withRole()
    await db.install('t', { grant: [role] })
    await db.sql(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
    // What crash recovery does.
    await db.sql('DELETE FROM listwatch.state')
    const more = { connection: { user: role }, timeoutMs: 1e10 }
    const rows = await mirror(db, { table: 't', columns: ['id', 'n'], sql: 'n >= 0', trimEveryMs: 1, ...more })
    await expectMirrored(rows, 'UPDATE t SET n = 1 WHERE id = 1')
    await waitUntil('a trim', async () => Number(await db.value('SELECT count(*)::int FROM listwatch.mark')) > 0)
    expect(rows.errors).toEqual([])
  })

  test('[P10] with time-outs of its own for sessions and transactions is not cut off', async () => {
    const { db, role } = await withRole()
    await db.install('t', { grant: [role] })
    const version = Number(await db.value(`SELECT current_setting('server_version_num')::int`))
    await db.sql(`ALTER ROLE ${role} SET idle_session_timeout = '300ms'; ALTER ROLE ${role} SET track_activities = off`)
    if (version >= 170_000) await db.sql(`ALTER ROLE ${role} SET transaction_timeout = '100ms'`)
    const connection = { user: role }
    // Evaluated for each row of the list: 20 times 100 ms. The server is silent for longer than timeoutMs.
    await db.sql(`CREATE FUNCTION slow(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_sleep(0.1);
      RETURN n; END'`)
    const silent = { sql: 'slow(n) >= 0', timeoutMs: 800 }
    const rows = await mirror(db, { table: 't', ...silent, pollIntervalMs: 1_000, wake: 'poll', connection })
    const pause = performance.now() + 1_500
    await waitUntil('longer than the time-out', () => performance.now() > pause)
    await db.sql('UPDATE t SET n = 42 WHERE id = 1')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    expect([rows.informer.size, rows.informer.get('1')?.['n']]).toEqual([20, 42])
    expect([rows.errors, rows.informer.status.reconnects]).toEqual([[], 0])
  })

  test('[P10] with rights on columns only mirrors these columns', async () => {
    const { db, role } = await withRole()
    await db.sql(`GRANT SELECT (id, n) ON t TO ${role}`)
    await db.install('t', { grant: [role] })
    const reader = await db.connect({ user: role })
    expect((await errorOf(reader.query('SELECT secret FROM t'))).message).toContain('permission denied')
    const options = { table: 't', columns: ['id', 'n'], sql: 'n >= 0', connection: { user: role } }
    const rows = await mirror(db, options)
    await expectMirrored(rows, 'UPDATE t SET n = 1 WHERE id = 1; DELETE FROM t WHERE id = 2')
    await expectMirrored(rows, 'TRUNCATE t; INSERT INTO t VALUES (1, 7)')
    await db.sql(`ALTER TABLE t ALTER COLUMN n TYPE int USING n + 1`)
    await waitUntil('the rewrite', () => rows.informer.get('1')?.['n'] === 8)
  })

  test('gets an error that names the owner of the table, if it installs and owns nothing', async () => {
    const { db, role } = await withRole()
    await db.install('t')
    await db.sql(`GRANT CREATE ON DATABASE ${db.name} TO ${role}`)
    const error = await errorOf(installChangeLog(await db.connect({ user: role }), { table: 't' }))
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(error.message).toMatch(
      /the table t belongs to "?postgres"?: run it as that role, or after GRANT "?postgres"? TO/,
    )
    expect(error.message).not.toContain('ON DATABASE')
  })

  test('gets an error that names the missing grant, if it owns the table and may not create the schema', async () => {
    const { db, role } = await withRole()
    await db.sql(`ALTER TABLE t OWNER TO ${role}`)
    const error = await errorOf(installChangeLog(await db.connect({ user: role }), { table: 't' }))
    expect(error.message).toMatch(new RegExp(`GRANT CREATE ON DATABASE "?${db.name}"? TO "?${role}"?$`))
  })

  /** Functions and an operator whose signatures fit calls of the adapter better than those of Postgres do. */
  const TRAPS = [
    ['unnest(xid8[])', 'SETOF xid8'],
    ['unnest(oid[])', 'SETOF oid'],
    ['to_json(text[])', 'json'],
    ['obj_description(regclass, text)', 'text'],
    ['has_table_privilege(regclass, text)', 'boolean'],
    ['lower(name)', 'text'],
    ['format(text, name, name)', 'text'],
    ['concat_ws(text, name, text)', 'text'],
    ['concat_ws(text, text, xid8, bigint)', 'text'],
    ['json_build_object(text, text, text, boolean)', 'json'],
    ['make_interval(secs int)', 'interval'],
    ['same(varchar, text)', 'boolean'],
  ] as const

  test('[P19] runs no function that another role has put on its search path', async () => {
    const { db, role } = await withRole()
    const functions = TRAPS.map(
      ([signature, result]) =>
        `CREATE FUNCTION public.${signature} RETURNS ${result} LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$`,
    )
    await db.sql(`${functions.join('; ')}; CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = text, FUNCTION = same);
      ALTER TABLE t ALTER id TYPE varchar(9); ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (n < 5)`)
    await db.install('t', { grant: [role] })
    const options = { table: 't', sql: 'n >= 0', rls: 'row-local', connection: { user: role } } as const
    const rows = await mirror(db, options)
    await db.sql('UPDATE t SET n = n + 1')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    expect([rows.informer.size, rows.informer.get('7')?.['n'], rows.errors]).toEqual([20, 1, []])
    expect((await errorOf(mirror(db, { table: 'T9' }))).message).toMatch(/there is no table/)
    const owner = await db.connect()
    expect((await changeLogStatus(owner)).tables).toMatchObject([{ problems: [] }])
    await trimChangeLogs(owner)
  })
})

describePostgres('a database that is not in UTF-8', (postgres) => {
  const at = useServer(postgres)

  async function databaseIn(encoding: string): Promise<Database> {
    const admin = await at.database()
    const name = `${admin.name}_${encoding.toLowerCase()}`
    await admin.sql(`CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
    const db = admin.sibling(name)
    onTestFinished(async () => {
      await admin.sql(`DROP DATABASE ${name} WITH (FORCE)`)
    })
    return db
  }

  test.each(['LATIN1', 'LATIN2', 'KOI8R'])('%s is installed in, and mirrored', async (encoding) => {
    const db = await databaseIn(encoding)
    const text = encoding === 'KOI8R' ? 'привет' : 'äöü'
    await db.sql(`CREATE TABLE t (id text PRIMARY KEY, s text); INSERT INTO t VALUES ('${text}', '${text}')`)
    await db.install('t')
    const rows = await mirror(db, { table: 't' })
    await expectMirrored(rows, `UPDATE t SET s = s || s`)
    expect(rows.informer.get(text)).toEqual({ id: text, s: text + text })
  })

  test('[P32] but in SQL_ASCII has invalid rows, if they are not UTF-8, and the others are mirrored', async () => {
    const db = await databaseIn('SQL_ASCII')
    await db.sql(
      `CREATE TABLE t (id text PRIMARY KEY, s text); INSERT INTO t VALUES ('ü', '😀'), ('bad', E'\\xe4'), (E'\\xe4', '')`,
    )
    await db.install('t')
    const { informer } = await mirror(db, { table: 't' })
    expect([[...informer.entries()], informer.invalid.size]).toEqual([[['ü', { id: 'ü', s: '😀' }]], 2])
    expect(informer.invalid.get('bad')?.message).toContain('not UTF-8')
    await db.sql(
      `UPDATE t SET s = 'good' WHERE id = 'bad'; UPDATE t SET s = E'\\xff' WHERE id = 'ü'; DELETE FROM t WHERE id = E'\\xe4'`,
    )
    await informer.fresh({ timeoutMs: 15_000 })
    expect([...informer.invalid.keys()]).toEqual(['ü'])
    expect([informer.get('ü')?.['s'], informer.get('bad')?.['s']]).toEqual(['😀', 'good'])
  })
})
