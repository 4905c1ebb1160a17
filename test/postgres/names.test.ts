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
import { startPgbouncer } from '../servers/pgbouncer.js'
import { waitUntil } from '../servers/wait-until.js'
import { lookupsOf, lookupsOfFunction, STATEMENT_LOG, type Statement, statementsIn } from './sql-names.js'
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
const TYPES = [
  'text',
  'oid',
  'int8',
  'bool',
  'xid8',
  'pg_snapshot',
  'jsonb',
  'regclass',
  'timestamptz',
  'interval',
  '"char"',
  'name',
  'int2',
]
const FUNCTIONS = [
  ['pg_current_snapshot()', 'pg_snapshot'],
  ['clock_timestamp()', 'timestamptz'],
  ['gen_random_uuid()', 'uuid'],
  ['pg_current_xact_id()', 'xid8'],
] as const

/** A schema with what pg_catalog has, whose functions and operators raise. */
const SHADOW = `CREATE SCHEMA shadow; GRANT USAGE ON SCHEMA shadow TO PUBLIC;
  DO $do$ DECLARE o record; BEGIN
    FOR o IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS args, p.oid::regprocedure AS what, p.prorettype::regtype AS result, p.proretset FROM pg_proc p
              WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' LOOP
      BEGIN
        EXECUTE format('CREATE FUNCTION shadow.%I(%s) RETURNS %s %s LANGUAGE plpgsql AS %L', o.proname, o.args, CASE WHEN o.proretset THEN 'SETOF' END, o.result,
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

/** Parts of statements, one of each kind. */
const EXPECTED = [
  'CREATE SCHEMA',
  'listwatch.lease_groups',
  'has_database_privilege',
  'LOCK TABLE',
  'LIMIT 0',
  'COPY (',
  'listwatch_where',
  'pg_stat_activity',
  'row_security_active',
  'listwatch.covers(',
  'listwatch.epoch()',
  'listwatch.tend()',
  'listwatch.mark()',
  'listwatch.seeded()',
  'listwatch.trim(',
  'listwatch.problems(',
  'listwatch.renew_lease(',
  'listwatch.leave_group(',
  'pg_notify',
  'has_heirs',
  'alike',
  'DO $',
  'DROP SCHEMA listwatch',
  'pg_replication_slots',
  'pg_prepared_xacts',
]

/** Statements, and what each one looks up on the search path. */
const KNOWN: readonly (readonly [sql: string, ...lookups: string[]])[] = [
  ['SELECT count(*)', 'function count'],
  ["SELECT substring(a, 1), 'a'::pg_catalog.text, extract(year FROM a), coalesce(a, b) FROM x.y", 'function substring'],
  ['SELECT * FROM f() u', 'function f'],
  ['COMMENT ON FUNCTION f(text) IS NULL', 'function f', 'type text'],
  ['CREATE FUNCTION x.f(a oid DEFAULT now()) RETURNS void', 'function now', 'type oid', 'type void'],
  ['CREATE TRIGGER t AFTER INSERT ON x.y EXECUTE FUNCTION f()', 'function f'],
  ["SELECT $1::text[], '1'::int, $2::bigint, NULL::\"char\", date '2000-01-01'", 'type text', 'type char', 'type date'],
  ['SELECT $1::json, $2::pg_catalog.json', 'type json'],
  [
    "SELECT 'pg_class'::pg_catalog.regclass, 'x.y'::pg_catalog.regclass, 'x'::pg_catalog.regnamespace",
    "relation 'pg_class'",
  ],
  ["SELECT 'text'::pg_catalog.regtype", "type 'text'"],
  ['WITH d AS (SELECT FROM d) SELECT FROM d, e', 'relation d', 'relation e'],
  ['WITH RECURSIVE d AS (SELECT FROM d) SELECT FROM d'],
  ['SELECT FROM d, (WITH d AS (SELECT) SELECT FROM d) s', 'relation d'],
  ['LOCK TABLE t', 'relation t'],
  ['COPY (SELECT FROM t) TO STDOUT', 'relation t'],
  ['CREATE TEMPORARY TABLE t AS SELECT FROM x.y; CREATE INDEX ON t (a)', 'relation t'],
  ['DROP TABLE x.y, t; DROP SCHEMA x; COMMENT ON TABLE u IS NULL', 'relation t', 'relation u'],
  ['SELECT a COLLATE "C"', 'collation C'],
  ['CREATE INDEX ON x.y (a text_ops)', 'operator text_ops'],
  ['SELECT a OPERATOR(pg_catalog.=) b, a = b', 'operator ='],
  ['SELECT a OPERATOR(public.=) b', 'operator public.='],
  ['SELECT -a, -1', 'operator -'],
  ['SELECT a = ANY (b), a OPERATOR(pg_catalog.=) ANY (b)', 'operator ='],
  ['SELECT a <> ALL (SELECT 1), a OPERATOR(pg_catalog.<>) ALL (SELECT 1)', 'operator <>'],
  ['SELECT a IN (1, 2), a NOT IN (SELECT 1)', 'operator IN', 'operator IN (SELECT …)'],
  ['SELECT a LIKE b, a NOT ILIKE b, a SIMILAR TO b', 'operator LIKE', 'operator ILIKE', 'operator SIMILAR'],
  ['SELECT a BETWEEN 1 AND 2, a NOT BETWEEN SYMMETRIC 1 AND 2', 'operator BETWEEN', 'operator NOT BETWEEN SYM'],
  ['SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a IS NULL', 'operator DISTINCT', 'operator NOT DISTINCT'],
  ['SELECT NULLIF(a, b), CASE a WHEN 1 THEN 2 END, CASE WHEN a THEN 1 END', 'operator NULLIF', 'operator CASE … WHEN'],
  ['SELECT FROM x.y JOIN x.z USING (a)', 'operator JOIN … USING'],
  ['SELECT FROM x.y NATURAL JOIN x.z', 'operator NATURAL JOIN'],
  ['SELECT a FROM x.y ORDER BY a USING <', 'operator <'],
  ['SELECT a FROM x.y WHERE EXISTS (SELECT) ORDER BY a LIMIT 1'],
  ["DO 'DECLARE a oid; BEGIN IF a = 1 THEN PERFORM f(); END IF; END'", 'operator =', 'function f', 'type oid'],
  [
    "DO 'DECLARE a pg_catalog.oid; b record; BEGIN FOR b IN SELECT FROM t LOOP a := g(a); END LOOP; END'",
    'relation t',
    'function g',
    'type record',
  ],
  ['SET LOCAL search_path = pg_catalog, pg_temp; SELECT f(a = b)', 'function f'],
  ["SET LOCAL search_path = pg_catalog, pg_temp; DO 'BEGIN PERFORM f(1 = 1); END'", 'function f'],
  ['SELECT a = b; SET LOCAL search_path = pg_catalog, pg_temp', 'operator ='],
  ['SET LOCAL search_path = pg_catalog, public; SELECT a = b', 'operator ='],
  ['SET LOCAL search_path = pg_catalog; SELECT a = b', 'operator ='],
]

test.each(KNOWN)('the lookups of %j are found', async (sql, ...lookups) => {
  const found = (await lookupsOf(sql)).map(({ kind, token }) => `${kind} ${token}`)
  expect([...new Set(found)].sort()).toEqual(lookups.sort())
})

test('operators of a function with a fixed search path, and the transition tables of a trigger, need no schema', async () => {
  const body = `CREATE FUNCTION x.f() RETURNS trigger LANGUAGE plpgsql AS 'DECLARE a int := 1; BEGIN IF a = 1 THEN INSERT INTO x.y SELECT FROM n; END IF; END'`
  expect(await lookupsOfFunction(body, { mayOmitOperators: true, relations: ['n'] })).toEqual([])
  expect(await lookupsOfFunction(body)).toMatchObject([{ token: '=', near: 'SELECT a = 1' }, { token: 'n' }])
})

test('the statements of a log are found with their roles, their further lines and their errors', () => {
  const log = `@@me/app/db@@LOG:  statement: SELECT 1;\n\tSELECT 2\n@@me/app/db@@LOG:  execute listwatch_delta: SELECT $1\n@@me/app/db@@DETAIL:  Parameters: $1 = '7'
@@me/[unknown]/db@@ERROR:  syntax error at or near "x" at character 1\n@@me/[unknown]/db@@STATEMENT:  x\n`
  expect(statementsIn(log).map(({ application, text }) => [application, text])).toEqual([
    ['app', 'SELECT 1;\nSELECT 2'],
    ['app', 'SELECT $1'],
    ['[unknown]', 'x'],
  ])
})

describePostgres('names in SQL', (postgres) => {
  const at = useServer(postgres, { ...STATEMENT_LOG, max_prepared_transactions: '2' })

  /** A database with the tables, which belong to one of the roles. */
  async function prepared(): Promise<{ readonly db: Database; readonly roles: Roles }> {
    const db = await at.database()
    // Without the traps of other tests, which would end a statement before the next one is sent.
    await db.sql(`ALTER DATABASE ${db.name} RESET search_path`)
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

  test('a function of the schema listwatch has a fixed search path, and names types, functions and relations with their schema', async () => {
    const { db, roles } = await prepared()
    await install(db, roles)
    const functions =
      await db.sql(`SELECT p.oid::regprocedure::text AS name, p.prosrc, pg_get_functiondef(p.oid) AS definition, l.lanname, p.prorettype = 'trigger'::regtype AS is_trigger,
        array_to_string(p.proconfig, ', ') AS config FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = 'listwatch'::regnamespace ORDER BY 1`)
    expect(functions.length).toBeGreaterThan(25)
    const faults: string[] = []
    for (const { name, prosrc, definition, lanname, is_trigger, config } of functions) {
      const options = { mayOmitOperators: true, relations: is_trigger === true ? ['n', 'o'] : [] }
      const isSql = lanname === 'sql'
      const lookups = isSql ? lookupsOf(String(prosrc), options) : lookupsOfFunction(String(definition), options)
      if (config !== 'search_path=pg_catalog, pg_temp') faults.push(`${name}: ${config}`)
      for (const { kind, token, near } of await lookups) faults.push(`${name}: the ${kind} ${token} in: ${near}`)
    }
    expect([...new Set(faults.map(withoutIds))]).toEqual([])
  })

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

  test('a mirror, leases and an installation call nothing of a schema that is on the search path before pg_catalog', async () => {
    const { db, roles } = await prepared()
    await db.sql(SHADOW)
    expect(
      Number(await db.value(`SELECT count(*)::int FROM pg_operator WHERE oprnamespace = 'shadow'::regnamespace`)),
    ).toBeGreaterThan(700)
    for (const role of [roles.installer, roles.reader, roles.leaser])
      await db.sql(`ALTER ROLE ${role} SET search_path = shadow, pg_catalog, public`)
    const owner = await db.connect({ user: roles.installer })
    expect((await errorOf(owner.query('SELECT 1 + 1'))).message).toBe('int4pl(integer,integer) of the schema shadow')
    await install(db, roles)
    const connection = { user: roles.reader }
    const rows = await mirror(db, { table: 'public.t', sql: WHERE, trimEveryMs: 1, connection })
    const own = await mirror(db, { table: 'public.secured', rls: 'row-local', connection })
    await owner.query('UPDATE public.t SET n = 7; DELETE FROM public.secured; TRUNCATE public.parted')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    await own.informer.fresh({ timeoutMs: 15_000 })
    await waitUntil('a trim', async () => Number(await db.value('SELECT count(*)::int FROM listwatch.mark')) > 0)
    expect([rows.informer.get('1')?.['n'], own.informer.size]).toEqual([7, 0])
    expect([rows.errors, own.errors, rows.source.waking]).toEqual([[], [], 'notify'])
    await Promise.all([rows.informer.stop(), own.informer.stop()])
    await renewOnce(db, roles.leaser)
    expect((await changeLogStatus(owner)).tables.flatMap(({ problems }) => problems)).toEqual([])
    await trimChangeLogs(owner)
    expect(await uninstallChangeLog(owner, { table: 'public.named' })).toBe(true)
    await uninstallChangeLog(owner, { all: true })
  })

  test('every statement that the library sends names its operators, types, functions and relations with their schema', async () => {
    const { db, roles } = await prepared()
    await install(db, roles)
    await readAll(db, roles)
    await useLeases(db, roles)
    await administer(db, roles)
    const own = statementsIn(await at.server.log()).filter(({ database, role }) => {
      return database === db.name && Object.values(roles).includes(role)
    })
    expect(EXPECTED.filter((part) => !own.some(({ text }) => text.includes(part)))).toEqual([])
    expect(await faultsOf(own)).toEqual([])
  })
})

describeServer('pgbouncer', 'names in SQL', () => {
  test('a statement that the library sends through a pooler names everything with its schema too', async () => {
    const [postgres] = await postgresVersions()
    if (postgres === undefined) throw new Error('there is no Postgres here: run npm run servers')
    const { binDir, env } = postgres
    await using server = await startPostgres({ binDir, env, settings: { ...STATEMENT_LOG, fsync: 'off' } })
    await using pooler = await startPgbouncer({ targetPort: server.port, poolMode: 'transaction' })
    const db = await freshDatabase(server, 'pooled')
    await db.sql('CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)')
    await db.install('t')
    const application = 'pooled mirror'
    const client = (): Client => new Client(db.config({ port: pooler.port, application_name: application }))
    const rows = await mirror(db, { table: 'public.t', sql: WHERE, trimEveryMs: 1, connect: client })
    await db.sql('UPDATE t SET n = 2')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    await listed(db.source({ table: 'public.t', connect: client }))
    const url = `postgres://postgres@127.0.0.1:${pooler.port}/${db.name}?application_name=${encodeURIComponent(application)}`
    await diagnosePostgres(url, { table: 'public.t' }, () => {})
    const own = statementsIn(await server.log()).filter((each) => each.application === application)
    expect(own.some(({ text }) => text.includes('SET LOCAL'))).toBe(true)
    expect(await faultsOf(own)).toEqual([])
  })
})

/** Reads as roles with and without rights, and in all ways that send statements of their own. */
async function readAll(db: Database, { reader, columns, stranger, installer }: Roles): Promise<void> {
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
  for (const options of refused) await errorOf(listed(db.source({ ...options, connection: { user: stranger } })))
  await errorOf(listed(db.source({ table: 'public.secured', connection })))
}

async function useLeases(db: Database, { leaser, stranger }: Roles): Promise<void> {
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
  await errorOf(refused.renew(record, [], stop.signal))
}

async function administer(db: Database, { installer, reader, stranger }: Roles): Promise<void> {
  const owner = await db.connect({ user: installer })
  const other = await db.connect({ user: stranger })
  await changeLogStatus(owner)
  await trimChangeLogs(owner, 0.5)
  await errorOf(installChangeLog(other, { table: 'public.t' }))
  for (const user of [reader, stranger, installer]) {
    for (const table of ['public.t', 'public.plain', 'nothing', 'public.parted']) {
      const { host, port } = db.config()
      await diagnosePostgres(`postgres://${user}@${host}:${port}/${db.name}`, { table, index: ['id'] }, () => {})
    }
  }
  const { host, port } = db.config()
  await openPostgres(`postgres://${reader}@${host}:${port}/${db.name}`, { table: 'public.t', index: ['n'] })
  await uninstallChangeLog(owner, { table: 'public.named' })
  await uninstallChangeLog(owner, { all: true })
  await changeLogStatus(owner)
  await errorOf(listed(db.source({ table: 'public.t', connection: { user: installer } })))
}

/** The lookups of statements, without those that differ only in the ids of objects. */
async function faultsOf(statements: readonly Statement[]): Promise<readonly string[]> {
  const texts = [...new Set(statements.map(({ text }) => withoutIds(text)))]
  const faults = await Promise.all(
    texts.map(async (text) => {
      const lookups = await lookupsOf(text)
      return lookups.map(({ kind, token, near }) => `the ${kind} ${token} in: ${near}`)
    }),
  )
  return [...new Set(faults.flat())]
}

function withoutIds(text: string): string {
  return text.replace(/\blog_[0-9a-f]{12}(?![0-9a-f])(_r_[0-9a-f]{12})?/g, 'log_0').replace(/\b[1-9]\d{4}\b/g, '16384')
}

/** One renewal of a new member, and its end. */
async function renewOnce(db: Database, user: string): Promise<void> {
  const pool = new Pool(db.config({ user }))
  const session = postgresLeases({ pool, group: 'g' }).open()
  onTestFinished(async () => {
    await session.close()
    await pool.end()
  })
  const record = { member: 'member000009', renewal: 0, members: [], holds: [] }
  expect((await session.renew(record, [], new AbortController().signal)).records).toHaveLength(1)
  await session.leave(record.member)
}
