import { Client, Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installLeases,
  postgresLeases,
  trimChangeLogs,
  uninstallChangeLog,
} from '../../adapters/postgres/index.js'
import { diagnosePostgres } from '../../cli/doctor/postgres.js'
import { openPostgres } from '../../cli/sources/open-postgres.js'
import { startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres, describeServer, postgresVersions } from '../servers/index.js'
import { Pgbouncer } from '../servers/pgbouncer.js'
import { waitUntil } from '../servers/wait-until.js'
import {
  contextOf,
  type Database,
  dropRoles,
  errorOf,
  expectMirrorEqualsTable,
  freshDatabase,
  listed,
  mirror,
  useServer,
} from './support.js'

/** Tables whose logs and triggers differ, all of the schema public. */
const TABLES = `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN code AS text; CREATE DOMAIN short_code AS code;
  CREATE TABLE t (id int PRIMARY KEY, n int, secret text); INSERT INTO t SELECT g, 0, 'x' FROM generate_series(1, 20) g;
  CREATE TABLE parted (id bigint, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (id);
  CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
  CREATE TABLE several (tenant varchar(9) COLLATE "C", seq smallint, m mood, id uuid DEFAULT gen_random_uuid(), "a ""b" "char", PRIMARY KEY (tenant, seq, m));
  CREATE TABLE domains (id short_code NOT NULL, fixed char(4) NOT NULL, PRIMARY KEY (id, fixed));
  CREATE TABLE named (id int NOT NULL, at date NOT NULL, UNIQUE (id, at));
  CREATE TABLE secured (id int PRIMARY KEY, n int); INSERT INTO secured VALUES (1, 1), (2, 9);
  ALTER TABLE secured ENABLE ROW LEVEL SECURITY; CREATE POLICY low ON secured USING (n OPERATOR(pg_catalog.<) 5);
  CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE heir () INHERITS (parent); CREATE TABLE keyless (id int); CREATE TABLE plain (id int PRIMARY KEY);
  CREATE VIEW seen AS SELECT id FROM t;
  CREATE FUNCTION is_kept(n int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_catalog.pg_sleep(0.1); RETURN true; END'`
/** A condition of a user that looks nothing up. */
const WHERE = 'n OPERATOR(pg_catalog.>=) 0'

/** Names that the objects of the schema listwatch use. */
const TYPES = 'text oid int8 bool xid8 pg_snapshot jsonb regclass timestamptz interval "char" name int2'.split(' ')
const FUNCTIONS = [
  ['pg_current_snapshot()', 'pg_snapshot'],
  ['clock_timestamp()', 'timestamptz'],
  ['gen_random_uuid()', 'uuid'],
  ['pg_current_xact_id()', 'xid8'],
] as const

/**
 * A schema with what pg_catalog has. Its functions and operators raise, and return a type that no expression takes, so
 * that a statement fails without a call of them too.
 */
const SHADOW = `CREATE SCHEMA shadow; GRANT USAGE ON SCHEMA shadow TO PUBLIC; CREATE TYPE shadow.no_value AS ();
  DO $do$ DECLARE o record; BEGIN
    FOR o IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS args, p.oid::regprocedure AS what, p.proretset FROM pg_proc p
              WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' LOOP
      BEGIN
        EXECUTE format('CREATE FUNCTION shadow.%I(%s) RETURNS %s shadow.no_value LANGUAGE plpgsql AS %L', o.proname, o.args, CASE WHEN o.proretset THEN 'SETOF' END,
          format('BEGIN RAISE EXCEPTION %L; END', o.what || ' of the schema shadow'));
      EXCEPTION WHEN OTHERS THEN -- A type that only Postgres itself uses.
      END;
    END LOOP;
    FOR o IN SELECT p.oprname, p.oprkind, p.oprleft::regtype AS l, p.oprright::regtype AS r, f.proname AS fn FROM pg_operator p JOIN pg_proc f ON f.oid = p.oprcode
              WHERE p.oprnamespace = 'pg_catalog'::regnamespace LOOP
      BEGIN
        EXECUTE format('CREATE OPERATOR shadow.%s (%s RIGHTARG = %s, FUNCTION = shadow.%I)', o.oprname, CASE WHEN o.oprkind = 'b' THEN format('LEFTARG = %s,', o.l) END, o.r, o.fn);
      EXCEPTION WHEN OTHERS THEN
      END;
    END LOOP;
    FOR o IN SELECT relname AS name FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
       UNION SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typcategory <> 'A' LOOP
      EXECUTE format('CREATE TABLE shadow.%I ()', o.name);
    END LOOP;
  END $do$`

const ROLES = ['installer', 'reader', 'columns', 'leaser', 'stranger'] as const
type Roles = Readonly<Record<(typeof ROLES)[number], string>>

describePostgres('names in SQL', (postgres) => {
  const at = useServer(postgres, { max_prepared_transactions: '2' })

  /** A database with the tables, which belong to one of the roles. */
  async function prepared(): Promise<{ readonly db: Database; readonly roles: Roles }> {
    const db = await at.database()
    const roles = Object.fromEntries(ROLES.map((role) => [role, `${db.name}_${role}`])) as Roles
    await db.sql(`${Object.values(roles)
      .map((role) => `CREATE ROLE ${role} LOGIN`)
      .join('; ')};
      GRANT CREATE ON DATABASE ${db.name} TO ${roles.installer}; GRANT ALL ON SCHEMA public TO ${roles.installer};
      SET ROLE ${roles.installer}; ${TABLES}; RESET ROLE; GRANT SELECT (id, n) ON t TO ${roles.columns}`)
    onTestFinished(() => dropRoles(db, ...Object.values(roles)))
    return { db, roles }
  }

  /** Installs on all tables, with each option. */
  async function install(db: Database, { installer, reader, columns, leaser }: Roles): Promise<void> {
    const owner = await db.connect({ user: installer })
    const grant = [reader, columns]
    await installChangeLog(owner, { table: 'public.t', grant, wake: 'bucket' })
    await installChangeLog(owner, { table: 'public.secured', grant, level: 'row' })
    await installChangeLog(owner, { table: 'public.parted', grant: [reader], wake: 'each' })
    await installChangeLog(owner, { table: 'public.several', wake: 'none', bulk: 1_000 })
    await installChangeLog(owner, { table: 'public.domains', level: 'statement' })
    await installChangeLog(owner, { table: 'public.named', key: ['id', 'at'] })
    await installLeases(owner, { grant: [leaser], groups: ['g'] })
  }

  test('the schema listwatch depends on nothing of other schemas but the tables, and the types and collations of their keys', async () => {
    const { db, roles } = await prepared()
    await db.sql(`ALTER ROLE ${roles.installer} SET search_path = lookalikes, pg_catalog, public; CREATE SCHEMA lookalikes; GRANT USAGE ON SCHEMA lookalikes TO PUBLIC;
      ${TYPES.map((type) => `CREATE DOMAIN lookalikes.${type} AS pg_catalog.${type}`).join('; ')};
      ${FUNCTIONS.map(([call, type]) => `CREATE FUNCTION lookalikes.${call} RETURNS pg_catalog.${type} LANGUAGE sql AS 'SELECT pg_catalog.${call}'`).join('; ')}`)
    await install(db, roles)
    // A rule, a default and a constraint depend on what their expressions call; a column depends on its type.
    const foreign =
      await db.sql(`SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) AS what, pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS on_what
      FROM pg_depend d, LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) o, LATERAL pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r
     WHERE (o.schema = 'listwatch' OR o.identity LIKE '%listwatch.%') AND r.schema = 'lookalikes'`)
    expect(foreign).toEqual([])
  })

  test('[P21] no statement of the library calls anything of a schema that is on the search path before pg_catalog', async () => {
    const outcomes: unknown[] = []
    for (const path of ['public', 'shadow, pg_catalog, public']) {
      const { db, roles } = await prepared()
      await db.sql(SHADOW)
      const operators = await db.value(
        `SELECT count(*)::int FROM pg_operator WHERE oprnamespace = 'shadow'::regnamespace`,
      )
      expect(Number(operators)).toBeGreaterThan(700)
      for (const role of Object.values(roles)) await db.sql(`ALTER ROLE ${role} SET search_path = ${path}`)
      await install(db, roles)
      const all = [await readAll(db, roles), await useLeases(db, roles), await administer(db, roles)]
      const withoutNames = (text: string): string => text.replaceAll(db.name, 'db').replaceAll(path, 'public')
      outcomes.push(withoutNames(JSON.stringify(all, null, 1)).replaceAll(/\b\d{5}\b/g, '16384'))
    }
    expect(outcomes[1]).toBe(outcomes[0])
  })
})

describeServer('pgbouncer', 'names in SQL', () => {
  test('a mirror through a pooler calls nothing of a schema that is on the search path before pg_catalog', async () => {
    const [postgres] = await postgresVersions()
    if (postgres === undefined) throw new Error('there is no Postgres here: run npm run servers')
    const { binDir, env } = postgres
    await using server = await startPostgres({ binDir, env, settings: { fsync: 'off' } })
    await using pooler = await Pgbouncer.start({ targetPort: server.port, poolMode: 'transaction' })
    const db = await freshDatabase(server, 'pooled')
    await db.sql(`CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1); ${SHADOW}`)
    await db.install('t')
    await db.sql(`ALTER DATABASE ${db.name} SET search_path = shadow, pg_catalog, public`)
    const connect = (): Client => new Client(db.config({ port: pooler.port }))
    const rows = await mirror(db, { table: 'public.t', sql: WHERE, trimEveryMs: 1, connect })
    await db.sql('UPDATE t SET n = 2')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    expect([rows.informer.get('1')?.['n'], rows.errors]).toEqual([2, []])
    const { findings } = await diagnosePostgres(urlOf(db, 'postgres', pooler.port), { table: 'public.t' }, () => {})
    expect(findings.map(({ name }) => name)).toEqual(['pooler'])
  })
})

const urlOf = (db: Database, user: string, port = db.config().port): string =>
  `postgres://${user}@127.0.0.1:${port}/${db.name}`

const refusal = async (promise: Promise<unknown>): Promise<string> => String(await errorOf(promise))

/** Reads as roles with and without rights, and in all ways that send statements of their own. */
async function readAll(db: Database, { reader, columns, stranger, installer }: Roles): Promise<unknown> {
  // What crash recovery does.
  await db.sql('DELETE FROM listwatch.state')
  const connection = { user: reader }
  const rows = await mirror(db, { table: 'public.t', sql: WHERE, trimEveryMs: 1, connection })
  const writer = await db.connect({ user: installer })
  await writer.query('BEGIN; UPDATE public.t SET n = 1')
  const mark = await rows.source.mark(writer)
  await writer.query('COMMIT')
  await rows.informer.waitFor(mark, { timeoutMs: 15_000 })
  await rows.informer.fresh({ timeoutMs: 15_000 })
  const { signal } = new AbortController()
  await rows.source.head(contextOf(signal))
  await waitUntil('a trim', async () => Number(await db.value('SELECT count(*)::int FROM listwatch.mark')) > 0)
  await rows.informer.stop()
  await db.source({ table: 'public.t', connection }).head(contextOf(signal))
  const own = await mirror(db, { table: 'public.secured', rls: 'row-local', connection })
  await db.sql('UPDATE secured SET n = 3')
  await expectMirrorEqualsTable(own, { role: reader })
  await own.informer.stop()
  for (const table of ['parted', 'several', 'domains', 'named'])
    await listed(db.source({ table: `public.${table}`, connection: { user: installer } }))
  // A condition that takes long: a list checks on a second connection whether the server still runs its COPY.
  const slow = { table: 'public.t', sql: 'public.is_kept(n)', columns: ['n'], timeoutMs: 400 }
  await listed(db.source({ ...slow, connection: { user: columns } }))
  const refused = [
    { table: 'T9' },
    { table: 'public.t' },
    { table: 'public.plain' },
    { table: 'public.keyless' },
    { table: 'public.parent' },
    { table: 'public.seen' },
    { table: 'public.t', sql: 'n OPERATOR(pg_catalog.>=) none' },
  ]
  const refusals = [await refusal(listed(db.source({ table: 'public.secured', connection })))]
  for (const options of refused)
    refusals.push(await refusal(listed(db.source({ ...options, connection: { user: stranger } }))))
  return [refusals, rows.errors, own.errors, rows.source.waking]
}

async function useLeases(db: Database, { leaser, stranger }: Roles): Promise<unknown> {
  const sessions = [leaser, leaser, stranger].map((user) => {
    const pool = new Pool(db.config({ user }))
    const listen = (): Client => new Client(db.config({ user }))
    const session = postgresLeases({ pool, connect: listen, group: 'g', leaseMs: 900 }).open()
    onTestFinished(async () => {
      await session.close()
      await pool.end()
    })
    return session
  })
  const [one, two, refused] = sessions
  if (one?.watch === undefined || two === undefined || refused === undefined) throw new Error('no session listens')
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const record = { member: 'member000001', renewal: 0, members: [], holds: [] }
  const other = { ...record, member: "member'00002" }
  let changes = 0
  one.watch(() => changes++, stop.signal)
  await one.renew(record, [], stop.signal)
  for (let renewal = 0; changes < 2; renewal++)
    await two.renew({ ...other, renewal, holds: renewal % 2 === 0 ? [] : ['a'] }, [], stop.signal)
  await one.renew({ ...record, renewal: 1 }, [{ member: other.member, renewal: 0 }], stop.signal)
  await two.leave(other.member)
  return await refusal(refused.renew(record, [], stop.signal))
}

async function administer(db: Database, { installer, reader, stranger }: Roles): Promise<unknown> {
  const owner = await db.connect({ user: installer })
  const other = await db.connect({ user: stranger })
  const outcomes: unknown[] = [(await changeLogStatus(owner)).tables.flatMap(({ problems }) => problems)]
  await trimChangeLogs(owner, 0.5)
  outcomes.push(await refusal(installChangeLog(other, { table: 'public.t' })))
  for (const user of [reader, stranger, installer])
    for (const table of ['public.t', 'public.plain', 'nothing', 'public.parted'])
      outcomes.push(await diagnosePostgres(urlOf(db, user), { table, index: ['id'] }, () => {}))
  await openPostgres(urlOf(db, reader), { table: 'public.t', index: ['n'] })
  outcomes.push(await uninstallChangeLog(owner, { table: 'public.named' }))
  await uninstallChangeLog(owner, { all: true })
  const source = db.source({ table: 'public.t', connection: { user: installer } })
  return [...outcomes, await changeLogStatus(owner), await refusal(listed(source))]
}
