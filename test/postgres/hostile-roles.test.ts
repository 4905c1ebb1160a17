import { parse } from 'libpg-query'
import { type Client, Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  installLeases,
  postgresLeases,
  trimChangeLogs,
  uninstallChangeLog,
} from '../../adapters/postgres/index.js'
import { diagnosePostgres } from '../../cli/doctor/postgres.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import {
  alarmUnless,
  attempt,
  installVersion1,
  isAlarmRaised,
  outcomeOf,
  ownedTable,
  ownerOf,
  ownerOfTwo,
  PARTITIONED,
  pooledClient,
  prepared as preparedAt,
  RENEWAL,
  roleOf,
  TABLE,
  TRAPPED_WRITES,
  trapType,
  workers,
} from './hostile.js'
import {
  type Database,
  expectMirrorEqualsTable,
  expectMirrored,
  listed,
  mirror,
  mirrorOf,
  useServer,
} from './support.js'

/** What the alarm causes in a transaction that is read-only. */
const ALARMED = /nextval/
const SESSIONS_THAT_WAIT = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

/** A function that raises the alarm. Postgres calls it when it plans a statement, because it is immutable and constant. */
function trapFunction(schema: string, attacker: string): string {
  return `CREATE FUNCTION ${schema}.raise() RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN ${alarmUnless(attacker)} RETURN 4711; END $$`
}

/** A type whose cast is a function in SQL. Postgres replaces its call by its body, and calls what the body calls at planning. */
function inlinedTrap(schema: string, attacker: string, context: 'ASSIGNMENT' | 'IMPLICIT' = 'ASSIGNMENT') {
  return [
    trapFunction(schema, attacker),
    `CREATE TYPE ${schema}.trap AS (v int)`,
    `CREATE FUNCTION ${schema}.trap_of(int) RETURNS ${schema}.trap LANGUAGE sql IMMUTABLE AS 'SELECT ROW($1)::${schema}.trap'`,
    `CREATE FUNCTION ${schema}.to_int8(${schema}.trap) RETURNS int8 LANGUAGE sql IMMUTABLE AS 'SELECT ${schema}.raise()'`,
    `CREATE CAST (${schema}.trap AS int8) WITH FUNCTION ${schema}.to_int8(${schema}.trap) AS ${context}`,
  ]
}

describePostgres('a hostile role', (postgres) => {
  const at = useServer(postgres)
  const version = Number.parseInt(postgres.version, 10)
  const prepared = (setup: string): Promise<Database> => preparedAt(at, setup)

  /** A role that owns the schema listwatch, with the logs of the tables t and u, and is not a superuser. */
  async function ownedSchema(): Promise<{ readonly db: Database; readonly owner: string; readonly client: Client }> {
    const { db, owner, client } = await ownerOfTwo(at)
    for (const table of ['t', 'u']) await installChangeLog(client, { table })
    await client.query(trapFunction(owner, owner))
    return { db, owner, client }
  }

  describe('that owns a mirrored table does not become the installer', () => {
    const owned = async (level: 'statement' | 'row', context: 'ASSIGNMENT' | 'IMPLICIT' = 'ASSIGNMENT') =>
      await ownedTable(await prepared(TABLE), level, (...args) => inlinedTrap(...args, context))

    describe.each(['statement', 'row'] as const)('by triggers of level %s', (level) => {
      test.each(TRAPPED_WRITES)('through a cast that is called when the trigger is planned: %s', async (write) => {
        const { db, client, changeType } = await owned(level)
        await client.query(changeType)
        expect(await attempt(client, [write])).toEqual([])
        expect(await isAlarmRaised(db)).toBe(false)
        expect(await db.sql(`SELECT DISTINCT op FROM ${await db.log('t')}`)).toEqual([{ op: 'T' }])
      })

      test.each([
        ['such a cast', inlinedTrap],
        ['a cast in PL/pgSQL', trapType],
      ])('through %s in a session that has plans of the triggers', async (_, trapOf) => {
        const { db, owner, client, changeType } = await ownedTable(await prepared(TABLE), level, trapOf)
        for (let n = 0; n < 7; n++)
          await client.query(
            'INSERT INTO t VALUES (40, 0); UPDATE t SET n = 1 WHERE id = 40; UPDATE t SET id = 41 WHERE id = 40; DELETE FROM t WHERE id = 41',
          )
        await client.query(changeType)
        // A plan of the session may be for the old type: then the statements fail.
        await attempt(client, [...TRAPPED_WRITES, 'DISCARD PLANS', ...TRAPPED_WRITES])
        await attempt(await db.connect({ user: owner }), ['DELETE FROM t'])
        expect(await isAlarmRaised(db)).toBe(false)
      })
    })

    test('nor a role that mirrors it, whose statement is parsed after the change of the type', async () => {
      const { db, client, changeType } = await owned('statement', 'IMPLICIT')
      const { informer, errors } = await mirror(db, { table: 't', connect: () => pooledClient(db) })
      await client.query(`BEGIN; UPDATE t SET n = 0; ${changeType}; COMMIT`)
      await waitUntil('the failure', () => Object(informer.status.lastError).code === 'NOT_FOUND')
      expect(errors.filter(({ message }) => ALARMED.test(message))).toEqual([])
      expect(await isAlarmRaised(db)).toBe(false)
    })
  })

  describe('that replaces a mirrored table by a view', () => {
    async function viewOf(grant: (reader: string) => string) {
      const db = await prepared(TABLE)
      const owner = await ownerOf(db, 't')
      const reader = await roleOf(db, 'reader')
      await db.sql(`GRANT USAGE ON SCHEMA ${owner} TO PUBLIC; ${grant(reader)}`)
      await db.install('t', { grant: [reader] })
      const client = await db.connect({ user: owner })
      await client.query(trapFunction(owner, owner))
      const replaced = `ALTER TABLE t RENAME TO t_old; CREATE VIEW public.t AS SELECT ${owner}.raise()::int AS id, 1 AS n;
        GRANT SELECT ON public.t TO PUBLIC`
      return { db, reader, client, replaced }
    }

    const READERS = [
      ['a superuser', '', () => 'postgres'],
      ['a reader', '', (reader: string) => reader],
      ['a reader of some columns', 'GRANT SELECT (id) ON t TO ', (reader: string) => reader],
    ] as const

    describe.each(READERS)('runs nothing as %s', (_, grant, userOf) => {
      const setup = (): ReturnType<typeof viewOf> => viewOf((reader) => (grant === '' ? 'SELECT' : grant + reader))
      const columns = grant === '' ? {} : { columns: ['id'] }

      test('that has an open watch', async ({ skip }) => {
        const { db, reader, client, replaced } = await setup()
        skip(!(await hasRestriction(db)), 'the server cannot refuse views')
        const { informer, errors } = await mirror(db, { table: 't', ...columns, connection: { user: userOf(reader) } })
        await client.query(`BEGIN; ${replaced}; COMMIT; UPDATE t_old SET n = 0`)
        await waitUntil('the failure', () => /not a table/.test(String(informer.status.lastError)))
        expect(errors.filter(({ message }) => ALARMED.test(message))).toEqual([])
        expect([informer.size, await isAlarmRaised(db)]).toEqual([9, false])
      })

      test('whose list waits for a lock', async ({ skip }) => {
        const { db, reader, client, replaced } = await setup()
        skip(!(await hasRestriction(db)), 'the server cannot refuse views')
        await client.query(`BEGIN; ${replaced}`)
        const { informer, errors } = mirrorOf(db, { table: 't', ...columns, connection: { user: userOf(reader) } })
        informer.start()
        await waitUntil('a wait for the lock', async () => Number(await db.value(SESSIONS_THAT_WAIT)) > 0)
        await client.query('COMMIT')
        await waitUntil('the failure', () => /not a table/.test(String(informer.status.lastError)))
        expect(errors.filter(({ message }) => ALARMED.test(message))).toEqual([])
        expect([informer.size, await isAlarmRaised(db)]).toEqual([0, false])
      })
    })

    async function hasRestriction(db: Database): Promise<boolean> {
      return Boolean(await db.value(`SELECT current_setting('restrict_nonsystem_relation_kind', true) IS NOT NULL`))
    }
  })

  describe('that owns the schema or an object in it does not become a superuser', () => {
    test('by creating the schema while the installation waits', async () => {
      const db = await prepared(TABLE)
      const squatter = await roleOf(db, 'squatter')
      await db.sql(`CREATE SCHEMA AUTHORIZATION ${squatter}; GRANT CREATE ON DATABASE ${db.name} TO ${squatter};
        ALTER DATABASE ${db.name} SET default_transaction_isolation = 'repeatable read'`)
      const client = await db.connect({ user: squatter })
      await client.query(`BEGIN; CREATE SCHEMA listwatch; CREATE TABLE listwatch.floor (snap pg_catalog.pg_snapshot NOT NULL);
        CREATE FUNCTION ${squatter}.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${alarmUnless(squatter)} RETURN NEW; END $$;
        CREATE TRIGGER x BEFORE INSERT ON listwatch.floor FOR EACH ROW EXECUTE FUNCTION ${squatter}.f()`)
      const installation = outcomeOf(installChangeLog(await db.connect(), { table: 't' }))
      await waitUntil('a wait for the lock', async () => Number(await db.value(SESSIONS_THAT_WAIT)) > 0)
      await client.query('COMMIT')
      expect(await installation).toMatchObject(failure('UNAUTHORIZED', `the schema listwatch belongs to "${squatter}"`))
      expect(await isAlarmRaised(db)).toBe(false)
    })

    test('by a mark that the planner takes', async () => {
      const { db, owner, client } = await ownedSchema()
      await client.query(
        `CREATE OR REPLACE FUNCTION listwatch.mark() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN ${alarmUnless(owner)} RETURN 'pgm1'; END $$`,
      )
      const superuser = await db.connect()
      await superuser.query('BEGIN; UPDATE t SET n = 0')
      const marked = await outcomeOf(db.source({ table: 't' }).mark(superuser))
      expect(await isAlarmRaised(db)).toBe(false)
      expect(marked).toMatchObject(failure('UNAUTHORIZED', `"${owner}"`))
    })

    test('by functions of leases', async () => {
      const { db, owner, client } = await ownedSchema()
      await installLeases(client)
      const functions = [
        ['renew_lease(text, text, int8, text, text[], int8[]) RETURNS text', `'{}'`],
        ['leave_group(text, text) RETURNS void', ''],
        ['assert_group(text) RETURNS void', ''],
      ]
      await client.query('DROP FUNCTION listwatch.renew_lease, listwatch.leave_group, listwatch.assert_group')
      for (const [signature, result] of functions)
        await client.query(
          `CREATE FUNCTION listwatch.${signature} LANGUAGE plpgsql AS $$ BEGIN ${alarmUnless(owner)} RETURN ${result}; END $$`,
        )
      const pool = new Pool(db.config())
      pool.on('error', () => {})
      onTestFinished(() => pool.end())
      const session = postgresLeases({ pool, group: 'g' }).open()
      onTestFinished(() => session.close())
      const record = { member: 'member000001', renewal: 0, members: [], holds: [] }
      const outcomes = [
        await outcomeOf(session.renew(record, [], new AbortController().signal)),
        await outcomeOf(session.leave(record.member)),
      ]
      expect(await isAlarmRaised(db)).toBe(false)
      const refused = failure('UNAUTHORIZED', `"${owner}"`)
      expect(outcomes).toMatchObject([refused, refused])
    })

    test.each([
      ['the functions', []],
      ['one function', ['FUNCTION trim(interval, int8)']],
      ['one table', ['TABLE floor']],
      ['one sequence', ['SEQUENCE claimed']],
    ])('by %s, after the schema was given to a superuser', async (_, kept) => {
      const { db, owner, client } = await ownedSchema()
      for (const body of [
        `system_id() RETURNS text LANGUAGE plpgsql AS $$ BEGIN ${alarmUnless(owner)} RETURN 'x'; END $$`,
        `schema_version() RETURNS int4 LANGUAGE plpgsql AS $$ BEGIN ${alarmUnless(owner)} RETURN 3; END $$`,
      ])
        await client.query(`CREATE OR REPLACE FUNCTION listwatch.${body}`)
      await db.sql('ALTER SCHEMA listwatch OWNER TO postgres')
      if (kept.length > 0) {
        await db.sql(`GRANT CREATE ON SCHEMA listwatch TO ${owner}`)
        await db.sql(`DO $$ DECLARE o record; BEGIN
          FOR o IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = 'listwatch'::regnamespace LOOP
            EXECUTE format('ALTER FUNCTION %s OWNER TO postgres', o.name); END LOOP;
          FOR o IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'listwatch'::regnamespace AND relkind = 'r' LOOP
            EXECUTE format('ALTER TABLE %s OWNER TO postgres', o.name); END LOOP;
          FOR o IN SELECT oid::regclass AS name FROM pg_class c WHERE relnamespace = 'listwatch'::regnamespace AND relkind = 'S'
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i') LOOP
            EXECUTE format('ALTER SEQUENCE %s OWNER TO postgres', o.name); END LOOP;
          END $$`)
        for (const each of kept) await db.sql(`ALTER ${each.replace(' ', ' listwatch.')} OWNER TO ${owner}`)
      }
      const superuser = await db.connect()
      const source = db.source({ table: 't' })
      const outcomes = {
        install: await outcomeOf(installChangeLog(superuser, { table: 't' })),
        leases: await outcomeOf(installLeases(superuser)),
        uninstall: await outcomeOf(uninstallChangeLog(superuser, { table: 't' })),
        all: await outcomeOf(uninstallChangeLog(superuser, { all: true })),
        status: await outcomeOf(changeLogStatus(superuser)),
        trim: await outcomeOf(trimChangeLogs(superuser, 0)),
        list: await outcomeOf(listed(source)),
      }
      const url = `postgres://postgres@127.0.0.1:${at.server.port}/${db.name}`
      const { findings } = await diagnosePostgres(url, { table: 't' }, () => {})
      expect(await isAlarmRaised(db)).toBe(false)
      for (const [name, outcome] of Object.entries(outcomes))
        expect([name, outcome]).toMatchObject([name, failure('UNAUTHORIZED', owner)])
      expect(JSON.stringify(findings)).toContain(owner)
    })
    test.each(['SET ROLE', 'an option of the connection'])('by a superuser that acts as another: %s', async (how) => {
      const { db, owner, client } = await ownedSchema()
      const reader = await roleOf(db, 'reader')
      await db.sql(`GRANT SELECT ON t TO ${reader}`)
      await client.query(`CREATE OR REPLACE FUNCTION listwatch.epoch() RETURNS text LANGUAGE plpgsql AS
          $$ BEGIN PERFORM set_config('role', 'none', true); ${alarmUnless(reader)} RETURN listwatch.seeded(); END $$;
        CREATE OR REPLACE FUNCTION listwatch.mark() RETURNS text LANGUAGE plpgsql AS
          $$ BEGIN PERFORM set_config('role', 'none', true); ${alarmUnless(reader)} RETURN 'pgm1'; END $$;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA listwatch TO PUBLIC`)
      const options = `-c role=${reader}`
      const superuser = await db.connect(how === 'SET ROLE' ? {} : { options })
      if (how === 'SET ROLE') await superuser.query(`SET ROLE ${reader}`)
      await superuser.query('BEGIN; SELECT pg_current_xact_id()')
      const source = db.source({ table: 't', connection: { options } })
      const outcomes = [await outcomeOf(source.mark(superuser)), await outcomeOf(listed(source))]
      expect(await isAlarmRaised(db)).toBe(false)
      const refused = failure('UNAUTHORIZED', `"${owner}"`)
      expect(outcomes).toMatchObject([refused, refused])
    })

    test('by a member of a superuser', async () => {
      const { db, owner, client } = await ownedSchema()
      const member = await roleOf(db, 'member')
      await db.sql(`GRANT postgres TO ${member}`)
      await client.query(`CREATE OR REPLACE FUNCTION listwatch.mark() RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM set_config('role', 'postgres', true); ${alarmUnless(member)} RETURN 'pgm1'; END $$`)
      const tx = await db.connect({ user: member })
      await tx.query('BEGIN; SELECT pg_current_xact_id()')
      const outcome = await outcomeOf(db.source({ table: 't' }).mark(tx))
      expect([await isAlarmRaised(db), outcome]).toMatchObject([false, failure('UNAUTHORIZED', `"${owner}"`)])
    })
  })

  describe('that may use leases of one group', () => {
    async function withLease(): ReturnType<typeof workers> {
      const all = await workers(at)
      await (await all.db.connect({ user: all.b })).query(RENEWAL.replace(`'g'`, `'group-b'`))
      return all
    }
    const theft = `SELECT listwatch.renew_lease('group-b', 'thief', 0, '{}', '{m}', '{0}')`
    const members = (db: Database): Promise<unknown> =>
      db.value(`SELECT array_agg(group_name || ' ' || member ORDER BY member) FROM listwatch.leases`)

    test('cannot use another one by an index whose expression runs in an ANALYZE of a superuser', async () => {
      const { db, a } = await withLease()
      await db.sql(`CREATE SCHEMA AUTHORIZATION ${a}`)
      const client = await db.connect({ user: a })
      await client.query(`CREATE FUNCTION ${a}.steal() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
          IF session_user <> '${a}' THEN PERFORM pg_catalog.nextval('public.alarm'); ${theft.replace('SELECT', 'PERFORM')}; END IF;
          EXCEPTION WHEN insufficient_privilege THEN NULL; END $$;
        CREATE FUNCTION ${a}.f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM ${a}.steal(); RETURN $1; END $$;
        CREATE TABLE ${a}.x (n int); INSERT INTO ${a}.x SELECT generate_series(1, 10); CREATE INDEX ON ${a}.x (${a}.f(n))`)
      await db.sql(`ANALYZE ${a}.x`)
      expect([await isAlarmRaised(db), await members(db)]).toEqual([true, ['group-b m']])
    })

    test.skipIf(version < 16)('has no right by a membership whose rights it does not inherit', async () => {
      const { db, a, b } = await withLease()
      await db.sql(`GRANT ${b} TO ${a} WITH INHERIT FALSE`)
      const client = await db.connect({ user: a })
      expect(await outcomeOf(client.query(theft))).toMatchObject({ code: '42501' })
      expect(await members(db)).toEqual(['group-b m'])
      expect(await attempt(client, [`SET ROLE ${b}`, theft])).toEqual([])
    })

    test('leaves no right to a role that is created later with its name', async () => {
      const { db, admin, b } = await withLease()
      const connected = `SELECT count(*)::int FROM pg_stat_activity WHERE usename = '${b}'`
      await db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${b}'`)
      await waitUntil('the end of its session', async () => (await db.value(connected)) === 0)
      await db.sql(`DROP OWNED BY ${b}; DROP ROLE ${b}; CREATE ROLE ${b} LOGIN`)
      await installLeases(admin, { grant: [b], groups: ['group-c'] })
      const client = await db.connect({ user: b })
      expect(await outcomeOf(client.query(theft))).toMatchObject({ code: '42501' })
      expect(await attempt(client, [RENEWAL.replace(`'g'`, `'group-c'`)])).toEqual([])
      expect(await members(db)).toEqual(['group-b m', 'group-c m'])
    })
  })

  describe('that may only connect', () => {
    /** Makes temporary objects that depend on objects of the schema. */
    async function dependents(db: Database, table: string): Promise<void> {
      const client = await db.connect({ user: await roleOf(db, 'stranger') })
      const log = await db.log(table)
      const made = await attempt(client, [
        `CREATE TEMP VIEW of_log AS SELECT * FROM ${log}`,
        `CREATE TEMP TABLE of_row (c ${log})`,
        `CREATE TEMP VIEW of_function AS SELECT pg_typeof(${log}_t())`,
        'CREATE TEMP VIEW of_state AS SELECT 1 AS n FROM listwatch.state',
        'CREATE TEMP VIEW of_mark AS SELECT listwatch.mark()',
        'CREATE TEMP TABLE of_default (c text DEFAULT listwatch.mark())',
        `CREATE FUNCTION pg_temp.f(${log}) RETURNS int LANGUAGE sql RETURN 1`,
      ])
      expect(made.filter((message) => !message.includes('trigger'))).toEqual([])
    }

    test('stops no installation and no uninstallation by temporary objects that depend on those of the schema', async () => {
      const db = await prepared(TABLE)
      const client = await db.connect()
      await db.install('t')
      await dependents(db, 't')
      expect(await outcomeOf(installChangeLog(client, { table: 't' }))).toBe(undefined)
      await db.sql(`ALTER ROLE ${db.name}_stranger RENAME TO ${db.name}_first`)
      await dependents(db, 't')
      expect(await outcomeOf(uninstallChangeLog(client, { table: 't' }))).toBe(undefined)
      await db.sql(`ALTER ROLE ${db.name}_stranger RENAME TO ${db.name}_second`)
      await db.install('t')
      await dependents(db, 't')
      expect(await outcomeOf(uninstallChangeLog(client, { all: true }))).toBe(undefined)
      expect(await db.value(`SELECT to_regnamespace('listwatch')`)).toBe(null)
    })

    test('stops no upgrade of an older version by such objects', async () => {
      const db = await prepared(`${TABLE}; ${PARTITIONED}`)
      await installVersion1(db, await roleOf(db, 'reader'))
      await dependents(db, 't')
      const client = await db.connect({ user: `${db.name}_stranger` })
      const grant = 'CREATE TEMP VIEW of_grant AS SELECT pg_typeof(listwatch.grant_to(NULL::regclass, NULL::text))'
      expect(await attempt(client, [grant])).toEqual([])
      expect(await outcomeOf(installChangeLog(await db.connect(), { table: 't' }))).toBe(undefined)
      await expectMirrorEqualsTable(await mirror(db, { table: 't' }))
    })
  })

  test.each([
    ['renamed', 'ALTER TABLE t RENAME id TO id2'],
    ['dropped', 'ALTER TABLE t DROP id'],
    ['dropped and added', 'ALTER TABLE t DROP id; ALTER TABLE t ADD id int'],
  ])('that may not read the key sees no key in the log after the column was %s', async (_, change) => {
    const db = await prepared(TABLE)
    const reader = await roleOf(db, 'reader')
    await db.sql(`GRANT SELECT (n) ON t TO ${reader}`)
    await db.install('t', { grant: [reader] })
    await db.sql(`UPDATE t SET n = n; ${change}`)
    const client = await db.connect({ user: reader })
    expect((await client.query(`SELECT k1 FROM ${await db.log('t')}`)).rows).toEqual([])
  })

  describe('whose right was revoked', () => {
    const REPEATS = [
      ['pg install', (db: Database) => db.install('t')],
      ['listwatch.reinstall', (db: Database) => db.sql(`SELECT listwatch.reinstall('t')`)],
    ] as const

    describe.each(
      Object.entries<(reader: string, log: string) => string>({
        'does not get it back': (reader, log) => `REVOKE SELECT ON t, ${log} FROM ${reader}`,
        'on the table does not get it back': (reader) => `REVOKE SELECT ON t FROM ${reader}`,
        'by its end does not leave it to a role of its name': (reader) =>
          `DROP OWNED BY ${reader}; DROP ROLE ${reader}; CREATE ROLE ${reader} LOGIN`,
      }),
    )('%s', (_what, revoke) => {
      test.each(REPEATS)('by another %s', async (_, repeat) => {
        const db = await prepared(TABLE)
        const reader = await roleOf(db, 'reader')
        await db.install('t', { grant: [reader] })
        await db.sql(revoke(reader, await db.log('t')))
        await repeat(db)
        const sql = 'SELECT has_any_column_privilege($1, $2::regclass, $3) AS may'
        for (const table of ['t', await db.log('t')]) expect(await db.value(sql, [reader, table, 'SELECT'])).toBe(false)
      })
    })
  })

  describe('whose own table calls the trigger function of a partitioned table', () => {
    const attached = (schema: string, fn: string): string =>
      `CREATE TABLE ${schema}.y (id int, n int); CREATE TRIGGER q AFTER INSERT ON ${schema}.y FOR EACH ROW EXECUTE FUNCTION ${fn}()`

    async function rowFunction(db: Database): Promise<string> {
      const sql = `SELECT 'listwatch.' || proname::text FROM pg_proc WHERE pronamespace = 'listwatch'::regnamespace AND starts_with(proname, $1)`
      return String(await db.value(sql, [`${(await db.log('p')).replace('listwatch.', '')}_r`]))
    }

    /** What the log has of writes to the role's own table. */
    async function written(db: Database, client: Client, schema: string): Promise<unknown> {
      await attempt(client, [`INSERT INTO ${schema}.y VALUES (4711, 0)`])
      return await db.sql(`SELECT op FROM ${await db.log('p')} WHERE k1 = 4711 OR op = 'T'`)
    }

    test('and which owned it before cannot write to the log after the next installation', async () => {
      const db = await prepared(PARTITIONED)
      const owner = await ownerOf(db, 'p')
      await db.install('p')
      const client = await db.connect({ user: owner })
      await client.query(attached(owner, await rowFunction(db)))
      await db.sql('ALTER TABLE p OWNER TO postgres')
      expect(await outcomeOf(db.install('p'))).toBe(undefined)
      expect(await written(db, client, owner)).toEqual([])
      const again = await outcomeOf(client.query(attached(owner, await rowFunction(db)).replaceAll('.y', '.z')))
      expect(again).toMatchObject({ code: '42501' })
      await expectMirrorEqualsTable(await mirror(db, { table: 'p' }))
      expect(await outcomeOf(uninstallChangeLog(await db.connect(), { table: 'p' }))).toBe(undefined)
    })

    test('cannot write to the log of an older version after its upgrade', async () => {
      const db = await prepared(`${TABLE}; ${PARTITIONED}`)
      await installVersion1(db, await roleOf(db, 'reader'))
      const stranger = await roleOf(db, 'stranger')
      await db.sql(`CREATE SCHEMA AUTHORIZATION ${stranger}`)
      const client = await db.connect({ user: stranger })
      const log = (await db.log('p')).replace('listwatch.', '')
      await client.query(attached(stranger, await rowFunction(db)).replace('()', `('${log}')`))
      await db.install('t')
      expect(await written(db, client, stranger)).toEqual([])
      const rows = await mirror(db, { table: 'p' })
      await expectMirrored(rows, 'UPDATE p SET n = 7 WHERE id = 1')
    })
  })

  test('that calls tend() thousands of times adds at most one mark in 10 s', async () => {
    const db = await prepared(TABLE)
    const reader = await roleOf(db, 'reader')
    await db.install('t', { grant: [reader] })
    const client = await db.connect({ user: reader })
    const started = performance.now()
    await client.query('BEGIN; SELECT count(listwatch.tend()) FROM generate_series(1, 2000); COMMIT')
    for (let n = 0; n < 1_000; n++) await client.query('SELECT listwatch.tend()')
    const most = 2 + Math.floor((performance.now() - started) / 10_000)
    expect(Number(await db.value('SELECT count(*) FROM listwatch.mark'))).toBeLessThanOrEqual(most)
  })
})

describePostgres('a migration', (postgres) => {
  const at = useServer(postgres)

  test('may run with a savepoint around each statement', async () => {
    const db = await at.database()
    await db.sql(TABLE)
    const sql = Buffer.from(installChangeLogSql({ table: 't' }))
    const { stmts = [] } = (await parse(sql.toString())) as { stmts?: { stmt_location?: number; stmt_len?: number }[] }
    const statements = stmts.map(({ stmt_location = 0, stmt_len }) =>
      sql.subarray(stmt_location, stmt_len === undefined ? undefined : stmt_location + stmt_len).toString(),
    )
    expect(statements.length).toBeGreaterThan(30)
    const client = await db.connect()
    for (const statement of statements) {
      if (/^\s*(BEGIN|COMMIT)\b/.test(statement)) await client.query(statement)
      else await client.query(`SAVEPOINT s; ${statement}; RELEASE SAVEPOINT s`)
    }
    const names = `SELECT array_agg(proname::text ORDER BY 1) FROM pg_proc WHERE pronamespace = 'listwatch'::regnamespace AND NOT starts_with(proname, 'log_')`
    const found = await db.value(names)
    const whole = await at.database()
    await whole.sql(TABLE)
    await whole.install('t')
    expect(found).toEqual(await whole.value(names))
    const rows = await mirror(db, { table: 't' })
    await expectMirrored(rows, 'UPDATE t SET n = 7 WHERE id = 1; DELETE FROM t WHERE id = 2')
    expect(rows.errors).toEqual([])
  })
})
