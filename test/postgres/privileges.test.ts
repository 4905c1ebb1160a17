import type { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import {
  changeLogStatus,
  installChangeLog,
  installLeases,
  type PgConnected,
  trimChangeLogs,
  uninstallChangeLog,
} from '../../adapters/postgres/index.js'
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
  contextOf,
  type Database,
  errorOf,
  expectMirrorEqualsTable,
  expectMirrored,
  hasty,
  listed,
  mirror,
  type Row,
  useServer,
} from './support.js'

const SECURED = 'ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (n = 1)'

/** Temporary types with the names of types that the installed functions use, and casts that run a function of the attacker. */
function shadowTypes(attacker: string): readonly string[] {
  const names = ['text', 'int4', 'int8', 'oid', 'name', 'xid8', 'pg_snapshot', 'regclass', 'timestamptz', 'jsonb']
  return names.flatMap((shadow) => [
    `CREATE TYPE pg_temp.${shadow} AS (v pg_catalog.varchar)`,
    ...names
      .filter((from) => from !== 'name')
      .flatMap((from) => [
        `CREATE FUNCTION pg_temp.${shadow}_of_${from}(pg_catalog.${from}) RETURNS pg_temp.${shadow} LANGUAGE plpgsql AS
          $$ BEGIN ${alarmUnless(attacker)} RETURN ROW('1')::pg_temp.${shadow}; END $$`,
        `CREATE CAST (pg_catalog.${from} AS pg_temp.${shadow}) WITH FUNCTION pg_temp.${shadow}_of_${from}(pg_catalog.${from}) AS ASSIGNMENT`,
      ]),
    `CREATE FUNCTION pg_temp.back(pg_temp.${shadow}) RETURNS pg_catalog.${shadow} LANGUAGE plpgsql AS
      $$ BEGIN ${alarmUnless(attacker)} RETURN NULL; END $$`,
    `CREATE CAST (pg_temp.${shadow} AS pg_catalog.${shadow}) WITH FUNCTION pg_temp.back(pg_temp.${shadow}) AS ASSIGNMENT`,
  ])
}

describePostgres('the installed objects', (postgres) => {
  const at = useServer(postgres)
  const prepared = (setup: string): Promise<Database> => preparedAt(at, setup)

  async function problemsOf(db: Database, table: string): Promise<readonly string[]> {
    const { tables } = await changeLogStatus(await db.connect())
    return tables.find((each) => each.table === table)?.problems ?? ['no log']
  }

  /** Trims twice: returns the number of rows that the second trim removed. There is at least one to remove. */
  async function trimmedRows(db: Database): Promise<number> {
    const client = await db.connect()
    await client.query(`SET lock_timeout = '2s'`)
    await trimChangeLogs(client, 0)
    await db.sql('UPDATE t SET n = n + 1 WHERE id = 1')
    await waitUntil('the end of other transactions', async () =>
      Boolean(
        await db.value('SELECT pg_snapshot_xmin(pg_current_snapshot()) = pg_snapshot_xmax(pg_current_snapshot())'),
      ),
    )
    return await trimChangeLogs(client, 0)
  }

  describe('in a session with temporary objects of its own', () => {
    test('[P21] a role that may only connect does not become the installer through mark()', async () => {
      const db = await prepared(TABLE)
      await db.install('t')
      const stranger = await roleOf(db, 'stranger')
      const client = await db.connect({ user: stranger })
      expect(await attempt(client, shadowTypes(stranger))).toEqual([])
      const marked = await outcomeOf(client.query('SELECT listwatch.mark()'))
      expect([await isAlarmRaised(db), marked]).toEqual([false, undefined])
    })

    test.each([
      ['epoch', 'SELECT listwatch.epoch()'],
      ['tend', 'SELECT listwatch.tend()'],
      ['renew_lease', RENEWAL],
    ])('a role that may call %s does not become the installer through it', async (_, call) => {
      const db = await prepared(TABLE)
      const role = await roleOf(db, 'reader')
      await db.install('t', { grant: [role] })
      await installLeases(await db.connect(), { grant: [role], groups: ['g'] })
      const client = await db.connect({ user: role })
      expect(await attempt(client, shadowTypes(role))).toEqual([])
      await db.sql('DELETE FROM listwatch.state')
      const called = await outcomeOf(client.query(call))
      expect([await isAlarmRaised(db), called]).toEqual([false, undefined])
    })

    test('temporary tables with the names of types and catalogs break neither marks, writers nor leases', async () => {
      const db = await prepared(`${TABLE}; ${PARTITIONED}`)
      const writer = await roleOf(db, 'writer')
      await db.install('t', { grant: [writer] })
      await db.install('p')
      await installLeases(await db.connect(), { grant: [writer], groups: ['g'] })
      await db.sql(`GRANT ALL ON t, p TO ${writer}`)
      const client = await db.connect({ user: writer })
      await client.query(`DO $$ DECLARE made pg_catalog.name; BEGIN
        FOR made IN SELECT typname FROM pg_catalog.pg_type WHERE typnamespace = 'pg_catalog'::pg_catalog.regnamespace AND typelem = 0
            UNION SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = 'listwatch'::pg_catalog.regnamespace LOOP
          EXECUTE pg_catalog.format('CREATE TEMP TABLE %I ()', made);
        END LOOP; END $$`)
      const statements = [
        ...['t', 'p'].flatMap((table) => [
          `INSERT INTO public.${table} VALUES (50, 0)`,
          `UPDATE public.${table} SET id = 51 WHERE id = 50`,
          `DELETE FROM public.${table} WHERE id = 51`,
        ]),
        ...['mark', 'epoch', 'tend', 'seeded'].map((name) => `SELECT listwatch.${name}()`),
        RENEWAL,
        `SELECT listwatch.leave_group('g', 'm')`,
      ]
      expect(await attempt(client, statements)).toEqual([])
    })
  })

  describe('trigger functions', () => {
    /** A partitioned table that a superuser has installed last, and roles that may try to use its trigger function. */
    async function partitioned() {
      const db = await prepared(PARTITIONED)
      const owner = await ownerOf(db, 'p')
      const stranger = await roleOf(db, 'stranger')
      await db.install('p')
      return { db, owner, stranger }
    }

    async function triggerFunctions(db: Database): Promise<string[]> {
      const rows = await db.sql(`SELECT oid::regprocedure::text AS name FROM pg_proc
        WHERE pronamespace = 'listwatch'::regnamespace AND prorettype = 'trigger'::regtype ORDER BY 1`)
      return rows.map(({ name }) => String(name))
    }

    const attached = (functions: readonly string[], table: string): string[] =>
      functions.flatMap((name, n) => [
        `CREATE TRIGGER row_${n} AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}`,
        `CREATE TRIGGER truncate_${n} AFTER TRUNCATE ON ${table} EXECUTE FUNCTION ${name}`,
      ])
    const written = (table: string, value: string): string[] => [
      `INSERT INTO ${table} VALUES (${value})`,
      `UPDATE ${table} SET id = id`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
    ]

    test.each(['stranger', 'owner'] as const)('at a temporary table run nothing as the installer (%s)', async (who) => {
      const { db, [who]: attacker } = await partitioned()
      const client = await db.connect({ user: attacker })
      expect(await attempt(client, trapType('pg_temp', attacker))).toEqual([])
      await client.query('CREATE TEMP TABLE x (id pg_temp.trap)')
      await attempt(client, [...attached(await triggerFunctions(db), 'x'), ...written('x', 'ROW(1)::pg_temp.trap')])
      expect(await isAlarmRaised(db)).toBe(false)
      // The owner may write to the log by the table too.
      if (who === 'stranger') expect(await db.sql(`SELECT * FROM ${await db.log('p')}`)).toEqual([])
    })

    test('cannot be attached to another table by a role that does not own theirs', async () => {
      const { db, stranger: attacker } = await partitioned()
      const client = await db.connect({ user: attacker })
      await client.query('CREATE TEMP TABLE x (id int)')
      await attempt(client, [...attached(await triggerFunctions(db), 'x'), ...written('x', '4711')])
      expect(await db.sql(`SELECT * FROM ${await db.log('p')}`)).toEqual([])
    })

    test('of a partition that was detached run nothing with the rights of the installer, not even for an old snapshot', async () => {
      const { db, owner } = await partitioned()
      const client = await db.connect({ user: owner })
      expect(await attempt(client, trapType(owner, owner))).toEqual([])
      await client.query('CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (100) TO (200)')
      await attempt(client, attached(await triggerFunctions(db), 'p_high'))
      const late = await db.connect({ user: owner })
      await late.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class')
      await client.query(`ALTER TABLE p DETACH PARTITION p_high; ALTER TABLE p_high DROP CONSTRAINT IF EXISTS p_high_pkey;
        ALTER TABLE p_high ALTER id TYPE ${owner}.trap USING ${owner}.trap_of(id)`)
      await attempt(late, ['INSERT INTO p_high VALUES (ROW(4711), 0)', 'COMMIT'])
      await attempt(client, written('p_high', 'ROW(4711), 0'))
      expect(await isAlarmRaised(db)).toBe(false)
      expect(await db.sql(`SELECT k1 FROM ${await db.log('p')} WHERE k1 = 4711`)).toEqual([])
    })

    test('let the owner of a partitioned table create partitions, also after another table was installed', async () => {
      const { db, owner } = await partitioned()
      await db.sql(TABLE)
      await db.install('t')
      const rows = await mirror(db, { table: 'p' })
      const client = await db.connect({ user: owner })
      const created = await attempt(client, [
        'CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (100) TO (200)',
        'CREATE TABLE p_more (id int NOT NULL, n int)',
        'ALTER TABLE p ATTACH PARTITION p_more FOR VALUES FROM (200) TO (300)',
        'INSERT INTO p VALUES (150, 0), (250, 0)',
      ])
      expect(created).toEqual([])
      await expectMirrorEqualsTable(rows)
      expect(rows.informer.size).toBe(11)
    })
  })

  describe('the owner of a mirrored table does not become the installer', () => {
    const owned = async (level: 'statement' | 'row'): ReturnType<typeof ownedTable> =>
      await ownedTable(await prepared(TABLE), level)

    describe.each(['statement', 'row'] as const)('by triggers of level %s', (level) => {
      test('[P21][P22] through a type of its own with a cast', async () => {
        const { db, client, changeType } = await owned(level)
        await client.query(changeType)
        expect(await attempt(client, TRAPPED_WRITES)).toEqual([])
        expect(await isAlarmRaised(db)).toBe(false)
        expect(await db.sql(`SELECT DISTINCT op FROM ${await db.log('t')}`)).toEqual([{ op: 'T' }])
      })

      test('through another column that takes the name of the key', async () => {
        const { db, owner, client } = await owned(level)
        await client.query(`ALTER TABLE t RENAME id TO old; ALTER TABLE t ADD id ${owner}.trap;
          UPDATE t SET id = ROW(old)`)
        await attempt(client, [`INSERT INTO t (old, id) VALUES (50, ROW(50))`, ...TRAPPED_WRITES.slice(1)])
        expect(await isAlarmRaised(db)).toBe(false)
      })

      test('[P22] in a transaction whose snapshot is older than the change of the type', async () => {
        const { db, owner, client, changeType } = await owned(level)
        const late = await db.connect({ user: owner })
        await late.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class')
        await client.query(changeType)
        expect(await attempt(late, [`INSERT INTO t VALUES (ROW(50), 0)`])).toEqual([])
        await late.query('COMMIT')
        expect(await isAlarmRaised(db)).toBe(false)
      })

      test('through a cast between enums of its own', async () => {
        const db = await prepared('SELECT')
        const owner = await roleOf(db, 'owner')
        await db.sql(`CREATE SCHEMA AUTHORIZATION ${owner}`)
        const client = await db.connect({ user: owner })
        await client.query(`CREATE TYPE ${owner}.one AS ENUM ('a', 'b'); CREATE TYPE ${owner}.two AS ENUM ('a', 'b');
          CREATE TABLE ${owner}.e (id ${owner}.one PRIMARY KEY)`)
        await db.install(`${owner}.e`, { level })
        await client.query(`CREATE FUNCTION ${owner}.one(${owner}.two) RETURNS ${owner}.one LANGUAGE plpgsql AS
            $$ BEGIN ${alarmUnless(owner)} RETURN 'a'; END $$;
          CREATE CAST (${owner}.two AS ${owner}.one) WITH FUNCTION ${owner}.one(${owner}.two) AS ASSIGNMENT;
          ALTER TABLE ${owner}.e ALTER id TYPE ${owner}.two USING id::text::${owner}.two`)
        expect(await attempt(client, [`INSERT INTO ${owner}.e VALUES ('b')`, `DELETE FROM ${owner}.e`])).toEqual([])
        expect(await isAlarmRaised(db)).toBe(false)
      })

      test('and widens its key without breaking writers or mirrors', async () => {
        const { db, client } = await owned(level)
        const rows = await mirror(db, { table: 't' })
        await client.query('ALTER TABLE t ALTER id TYPE bigint; UPDATE t SET n = 50 WHERE id = 1')
        await client.query('INSERT INTO t VALUES (3000000000, 0); DELETE FROM t WHERE id = 2')
        await expectMirrorEqualsTable(rows)
        expect(await problemsOf(db, 't')).toEqual([])
      })

      test('[P22] and may give its key a type without exact texts: writers continue, and mirrors name the type', async () => {
        const { db, client } = await owned(level)
        await client.query('ALTER TABLE t ALTER id TYPE numeric')
        await client.query(
          'INSERT INTO t VALUES (1.5, 0); UPDATE t SET n = 0 WHERE id = 1.5; DELETE FROM t WHERE id = 1.5',
        )
        expect(await db.sql(`SELECT DISTINCT op FROM ${await db.log('t')}`)).toEqual([{ op: 'T' }])
        expect(await errorOf(mirror(db, { table: 't' }))).toMatchObject(
          failure('NOT_FOUND', /numeric.*run: npx listwatch pg install/),
        )
      })
    })

    test('and no role that mirrors it, whose statements compare keys', async () => {
      const { db, owner, client, changeType } = await owned('statement')
      // A poll is in a read-only transaction, which cannot raise the alarm.
      await client.query(`DROP CAST (${owner}.trap AS pg_catalog.int8);
        CREATE FUNCTION ${owner}.caught(${owner}.trap) RETURNS int8 LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION '% was trapped', current_user; END $$;
        CREATE CAST (${owner}.trap AS pg_catalog.int8) WITH FUNCTION ${owner}.caught(${owner}.trap) AS IMPLICIT`)
      const { informer, errors } = await mirror(db, { table: 't', connect: () => pooledClient(db) })
      await client.query(`BEGIN; UPDATE t SET n = 0; ${changeType}; COMMIT`)
      await waitUntil('the failure', () => Object(informer.status.lastError).code === 'NOT_FOUND')
      expect(errors.filter(({ message }) => message.includes('trapped'))).toEqual([])
      expect(informer.size).toBe(9)
    })

    test('[P22] and its mirrors fail with the command that repairs the log', async () => {
      const { db, client, changeType } = await owned('statement')
      await client.query(changeType)
      expect(await problemsOf(db, 't')).toMatchObject([
        expect.stringMatching(/trap.*run: npx listwatch pg install <url> --table '?t/),
      ])
      const error = await errorOf(mirror(db, { table: 't' }))
      expect(error).toMatchObject(failure('NOT_FOUND', 'trap'))
    })
  })

  describe('a reader that may not see all rows', () => {
    /** The keys that a role finds in the log: none if it may not read it. */
    async function keysInLog(db: Database, role: string): Promise<unknown[]> {
      const client = await db.connect({ user: role })
      return await client.query(`SELECT k1 FROM ${await db.log('t')} WHERE k1 IS NOT NULL ORDER BY 1`).then(
        ({ rows }) => rows.map(({ k1 }) => Number(k1)),
        (error: unknown) => {
          expect(error).toMatchObject({ code: '42501' })
          return []
        },
      )
    }

    async function logged(setup: (reader: string) => string): Promise<{ db: Database; reader: string; other: string }> {
      const db = await prepared(TABLE)
      const reader = await roleOf(db, 'reader')
      const other = await roleOf(db, 'other')
      await db.sql(setup(reader))
      await db.install('t', { grant: [reader, other] })
      await db.sql(`ALTER ROLE ${other} BYPASSRLS; UPDATE t SET n = n WHERE id < 4`)
      return { db, reader, other }
    }

    test('[P23] does not see the keys of hidden rows in the log, and mirrors its own', async () => {
      const { db, reader, other } = await logged(() => SECURED)
      expect(await keysInLog(db, reader)).toEqual([])
      expect(await keysInLog(db, other)).toEqual([1, 2, 3])
      const options = { table: 't', rls: 'row-local', connection: { user: reader } } as const
      const rows = await mirror(db, options)
      expect([...rows.informer.keys()]).toEqual(['1'])
      await db.sql('UPDATE t SET n = 3 - n WHERE n < 3; INSERT INTO t VALUES (20, 1); DELETE FROM t WHERE id = 3')
      await expectMirrorEqualsTable(rows)
      expect([[...rows.informer.keys()].toSorted(), rows.informer.status.relists]).toEqual([['2', '20'], 0])
    })

    test('does not learn which transactions have written to another table', async () => {
      const { db, reader } = await logged(() => SECURED)
      await db.sql('CREATE TABLE secret (id int PRIMARY KEY)')
      await db.install('secret')
      const client = await db.connect({ user: reader })
      const changes = async (table: string): Promise<unknown> =>
        await outcomeOf(client.query(`SELECT ${await db.log(table)}_changes('0', '{}')`))
      expect(await changes('t')).toBe(undefined)
      expect(await changes('secret')).toMatchObject({ code: '42501' })
    })

    test.each<[string, { setup?: (reader: string) => string; later?: (reader: string) => string }]>([
      ['if row security began to apply after the installation', { later: () => SECURED }],
      ['if it may read other columns only', { setup: (reader) => `GRANT SELECT (n) ON t TO ${reader}` }],
      ['if its right on the table was revoked', { later: (reader) => `REVOKE SELECT ON t FROM ${reader}` }],
    ])('[P23] does not see keys %s', async (_, { setup = () => '', later }) => {
      const { db, reader, other } = await logged(setup)
      if (later !== undefined) {
        expect(await keysInLog(db, reader)).toEqual([1, 2, 3])
        await db.sql(later(reader))
      }
      expect(await keysInLog(db, reader)).toEqual([])
      expect(await keysInLog(db, other)).toEqual([1, 2, 3])
    })
  })

  describe('locks', () => {
    /** All locks that a role without any grant can take. */
    async function heldLocks(db: Database): Promise<Client> {
      const client = await db.connect({ user: await roleOf(db, 'stranger') })
      await client.query(`SELECT pg_advisory_lock(7305191, g) FROM generate_series(-9, 99) g`)
      await client.query(`SELECT pg_advisory_lock(g) FROM generate_series(-9, 99) g`)
      await client.query(`SELECT pg_advisory_lock(7305191)`)
      await client.query('BEGIN')
      const relations = await db.sql(
        `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'listwatch'::regnamespace AND relkind IN ('r', 'p', 'S')`,
      )
      for (const { name } of relations) {
        const statement = `SAVEPOINT s; LOCK TABLE ${name} IN ACCESS SHARE MODE; SELECT FROM ${name}`
        await client.query(statement).catch(() => client.query('ROLLBACK TO s'))
      }
      return client
    }

    test('of a role without any grant stop no trim', async () => {
      const db = await prepared(TABLE)
      await db.install('t')
      await heldLocks(db)
      expect(await trimmedRows(db)).toBeGreaterThan(0)
      expect(Number(await db.value('SELECT listwatch.tend()'))).toBeGreaterThanOrEqual(0)
    })

    test('of a role without any grant stop no installation and no uninstallation', async () => {
      const db = await prepared(`${TABLE}; CREATE TABLE u (id int PRIMARY KEY)`)
      await db.install('t')
      await heldLocks(db)
      const client = await hasty(db, '100ms')
      const outcomes = [
        await outcomeOf(installChangeLog(client, { table: 'u' })),
        await outcomeOf(installChangeLog(client, { table: 't' })),
        await outcomeOf(installLeases(client)),
        await outcomeOf(uninstallChangeLog(client, { table: 'u' })),
      ]
      expect(outcomes).toEqual([undefined, undefined, undefined, undefined])
    })

    test('of a role without any grant stop no first list after a crash', async () => {
      const db = await prepared(TABLE)
      const reader = await roleOf(db, 'reader')
      await db.install('t', { grant: [reader] })
      await db.sql('DELETE FROM listwatch.state')
      await heldLocks(db)
      const source = db.source({ table: 't', timeoutMs: 1_000, connection: { user: reader } })
      expect((await listed(source)).objects.size).toBe(9)
    })

    test('[P24] that every role may take (advisory locks) are not taken by trims, lists, installations or marks', async () => {
      const db = await prepared(TABLE)
      const client = await db.connect()
      const taken = async (): Promise<unknown> =>
        await db.value(`SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()`)
      const observed: unknown[] = []
      const before = async (text: string): Promise<unknown> => {
        const [head, tail] = text.split(/(?=\nCOMMIT;)/)
        await client.query(head ?? '')
        observed.push(await taken())
        return await client.query(tail ?? '')
      }
      await installChangeLog({ query: before } as PgConnected, { table: 't' })
      for (const call of ['trim()', 'tend()', 'epoch()', 'mark()']) {
        await client.query(`BEGIN; DELETE FROM listwatch.state; SELECT listwatch.${call}; UPDATE t SET n = n`)
        observed.push(await taken())
        await client.query('ROLLBACK')
      }
      expect(observed).toEqual([0, 0, 0, 0, 0])
    })

    test('of an open transaction of a reader that has trimmed stop no trim of others', async () => {
      const db = await prepared(TABLE)
      const reader = await roleOf(db, 'reader')
      await db.install('t', { grant: [reader] })
      await db.sql(`SELECT listwatch.trim(); UPDATE listwatch.mark SET at = at - interval '2 hours';
        UPDATE t SET n = n`)
      const client = await db.connect({ user: reader })
      await client.query('BEGIN; SELECT listwatch.tend()')
      const others = await db.connect()
      await others.query(`SET lock_timeout = '2s'`)
      await db.sql('UPDATE t SET n = n')
      expect(await trimChangeLogs(others, 0)).toBeGreaterThan(0)
      await client.query('COMMIT')
    })

    test('[P24] of an open transaction of a writer that has trimmed stop no trim of others', async () => {
      const db = await prepared(TABLE)
      await db.install('t')
      // Writers trim a log of 16 MB. A statement that changes 4 096 rows trims for certain.
      for (let n = 0; n < 4; n++) {
        await db.sql(
          `INSERT INTO t SELECT g, 0 FROM generate_series(${100_000 + n * 90_000}, ${100_000 + n * 90_000 + 89_999}) g`,
        )
      }
      await db.sql(`SELECT listwatch.trim(); UPDATE listwatch.mark SET at = at - interval '2 hours'`)
      const writer = await db.connect()
      await writer.query('BEGIN; INSERT INTO t SELECT g, 0 FROM generate_series(1000, 6000) g')
      const others = await db.connect()
      await others.query(`SET lock_timeout = '2s'`)
      expect(await trimChangeLogs(others, 0)).toBeGreaterThan(0)
      expect(Number((await others.query('SELECT listwatch.tend() AS n')).rows[0].n)).toBeGreaterThanOrEqual(0)
      await writer.query('COMMIT')
    })
  })

  describe('leases of one group', () => {
    const renewed = (group: string, member: string, renewal: number, evicted = '{}', renewals = '{}'): string =>
      `SELECT listwatch.renew_lease('${group}', '${member}', ${renewal}, '{}', '${evicted}', '${renewals}')`

    test.each([
      ['a member leave', `SELECT listwatch.leave_group('group-a', 'm')`],
      ['itself join', renewed('group-a', 'thief', 0)],
      ['a member renew', renewed('group-a', 'm', 9)],
      ['an eviction of a member', renewed('group-a', 'thief', 0, '{m}', '{0}')],
    ])('[P25] are safe from a role of another group, which cannot make %s', async (_, attack) => {
      const { db, ...roles } = await workers(at)
      const [a, b] = [await db.connect({ user: roles.a }), await db.connect({ user: roles.b })]
      await a.query(renewed('group-a', 'm', 0))
      const error = await outcomeOf(b.query(attack))
      const members = await db.sql('SELECT group_name, member, renewal::int FROM listwatch.leases')
      expect(members).toEqual([{ group_name: 'group-a', member: 'm', renewal: 0 }])
      expect(error).toMatchObject({ code: '42501' })
      const { message } = await errorOf(Promise.reject(error))
      expect(message).toBe('permission denied for the lease group "group-a"')
      expect(await attempt(b, [renewed('group-b', 'm', 0), `SELECT listwatch.leave_group('group-b', 'm')`])).toEqual([])
      expect(await attempt(a, [renewed('group-a', 'm', 1), `SELECT listwatch.leave_group('group-a', 'm')`])).toEqual([])
    })

    test('are for members of the role too, whether they inherit its rights or act as it', async () => {
      const { db, a } = await workers(at)
      const [app, pool] = [await roleOf(db, 'app'), await roleOf(db, 'pool')]
      await db.sql(`GRANT ${a} TO ${app}, ${pool}; ALTER ROLE ${pool} NOINHERIT`)
      expect(await attempt(await db.connect({ user: app }), [renewed('group-a', 'app', 0)])).toEqual([])
      const acting = await db.connect({ user: pool })
      expect(await attempt(acting, [`SET ROLE ${a}`, renewed('group-a', 'pool', 0)])).toEqual([])
      expect(await outcomeOf(acting.query(renewed('group-b', 'pool', 0)))).toMatchObject({ code: '42501' })
    })
  })

  describe('a trigger that only has the name of an installed one', () => {
    /** Its function has the name of one of a log too. */
    const named = (table: string, argument: string): readonly string[] => {
      const name = `pg_temp.${/\w+/.exec(argument)?.[0] ?? 'log'}_t`
      return [
        `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
        `CREATE TRIGGER zz_listwatch_t AFTER TRUNCATE ON ${table} EXECUTE FUNCTION ${name}(${argument})`,
      ]
    }

    async function misled(argument: (log: string) => string): Promise<Database> {
      const db = await prepared(TABLE)
      await db.install('t')
      await installLeases(await db.connect())
      await db.sql(RENEWAL)
      const stranger = await db.connect({ user: await roleOf(db, 'stranger') })
      const log = (await db.log('t')).replace('listwatch.', '')
      await stranger.query('CREATE TEMP TABLE x (id int PRIMARY KEY)')
      expect(await attempt(stranger, named('x', argument(log)))).toEqual([])
      return db
    }

    const ARGUMENTS: readonly (readonly [string, (log: string) => string])[] = [
      ['the leases', () => `'leases'`],
      ['the groups of leases', () => `'lease_groups'`],
      ['the state', () => `'state'`],
      ['the marks', () => `'mark'`],
      ['a sequence', () => `'claimed'`],
      ['the log of another table', (log) => `'${log}'`],
      ['two things', (log) => `'${log}', 'x'`],
      ['nothing', () => ''],
    ]

    test.each(ARGUMENTS)('[P26] and names %s is not reported as a log', async (_, argument) => {
      const db = await misled(argument)
      const client = await db.connect()
      const tables = await changeLogStatus(client).then(
        (status) => status.tables.map(({ table, problems }) => ({ table, problems })),
        String,
      )
      expect(tables).toEqual([{ table: 't', problems: [] }])
      expect(await trimmedRows(db)).toBeGreaterThan(0)
      await db.sql('DELETE FROM listwatch.state')
      const rows = await mirror(db, { table: 't' })
      await expectMirrored(rows, 'UPDATE t SET n = 4711 WHERE id = 1')
      expect(rows.errors).toEqual([])
      expect(await db.value('SELECT count(*)::int FROM listwatch.leases')).toBe(1)
    })

    test('[P26] does not pass for the installed one: the status and the mirrors report it', async () => {
      const db = await prepared(TABLE)
      await db.install('t', { level: 'statement' })
      const owner = await ownerOf(db, 't')
      const client = await db.connect({ user: owner })
      await client.query(`CREATE FUNCTION ${owner}.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        DROP TRIGGER zz_listwatch_i ON t; CREATE TRIGGER zz_listwatch_i AFTER INSERT ON t EXECUTE FUNCTION ${owner}.f();
        ALTER TABLE t ENABLE ALWAYS TRIGGER zz_listwatch_i`)
      expect(await problemsOf(db, 't')).toMatchObject([expect.stringContaining('zz_listwatch_i')])
      expect(await errorOf(mirror(db, { table: 't' }))).toMatchObject({ code: 'NOT_FOUND' })
    })

    test('does not make an uninstallation of its table remove the log of another table', async () => {
      const db = await prepared(`${TABLE}; CREATE TABLE x (id int PRIMARY KEY)`)
      await db.install('t')
      const owner = await ownerOf(db, 'x')
      const log = (await db.log('t')).replace('listwatch.', '')
      const client = await db.connect({ user: owner })
      const statements = named('public.x', `'${log}'`).map((each) => each.replaceAll('pg_temp', owner))
      expect(await attempt(client, statements)).toEqual([])
      const rows = await mirror(db, { table: 't' })
      expect(await uninstallChangeLog(await db.connect(), { table: 'x' })).toBe(false)
      await expectMirrored(rows, 'UPDATE t SET n = 4711 WHERE id = 1')
    })
  })

  test.each([
    ['an uninstallation', (db: Database) => db.connect().then((client) => uninstallChangeLog(client, { table: 't' }))],
    ['an installation', (db: Database) => db.install('t')],
    [
      'the removal of everything',
      (db: Database) => db.connect().then((client) => uninstallChangeLog(client, { all: true })),
    ],
  ])('[P26] %s drops no function of another role that a trigger of the table calls', async (_, change) => {
    const db = await prepared(`${TABLE}; CREATE SCHEMA shared;
      CREATE FUNCTION shared.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; GRANT USAGE ON SCHEMA shared TO PUBLIC`)
    await db.install('t')
    const client = await db.connect({ user: await ownerOf(db, 't') })
    await client.query('CREATE TRIGGER zz_listwatch_x AFTER INSERT ON t EXECUTE FUNCTION shared.f()')
    const outcome = await outcomeOf(change(db))
    expect([await db.value(`SELECT to_regprocedure('shared.f()') IS NOT NULL`), outcome]).toEqual([true, undefined])
  })

  describe('a superuser who installs into a schema of another role', () => {
    /** Statements that leave a role that was set by SET ROLE. */
    const LEAVE = `BEGIN PERFORM pg_catalog.set_config('role', 'none', true); EXCEPTION WHEN OTHERS THEN NULL; END;`

    /** Functions that fit calls of the migrations as well as those of listwatch, or better. */
    const OVERLOADS = [
      [`install(rel text, readers text[] DEFAULT '{}')`, 'text'],
      ['uninstall(oid)', 'boolean'],
      ['uninstall(text)', 'boolean'],
      ['is_not_null(regclass, int2)', 'boolean'],
      ['needs_row_triggers(regclass)', 'boolean'],
    ] as const

    const overload = (signature: string, result: string, body: string): string =>
      `CREATE FUNCTION listwatch.${signature} RETURNS ${result} LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$`

    /** Everything that a superuser does by migrations. */
    async function migrated(db: Database, table: string): Promise<void> {
      const client = await db.connect()
      await outcomeOf(installChangeLog(client, { table, grant: ['postgres'] }))
      await outcomeOf(installLeases(client))
      await outcomeOf(uninstallChangeLog(client, { table }))
      await outcomeOf(uninstallChangeLog(client, { all: true }))
    }

    describe.each([
      ['as a superuser', ''],
      ['as a superuser, if it leaves the role of the migration', LEAVE],
    ])('does not run %s', (_how, before) => {
      test.each(OVERLOADS)('%s of that role', async (signature, result) => {
        const { db, owner, client } = await ownerOfTwo(at)
        await installChangeLog(client, { table: 't' })
        await client.query(overload(signature, result, before + alarmUnless(owner)))
        await migrated(db, 'u')
        expect(await isAlarmRaised(db)).toBe(false)
      })
    })

    test('runs nothing of a role that has created the schema before the first installation', async () => {
      const { db, owner, client } = await ownerOfTwo(at)
      const [signature, result] = OVERLOADS[0]
      await client.query(`CREATE SCHEMA listwatch; ${overload(signature, result, alarmUnless(owner))}`)
      await db.sql('CREATE TABLE mine (id int PRIMARY KEY)')
      await migrated(db, 'mine')
      expect(await isAlarmRaised(db)).toBe(false)
    })

    test('[P27] is refused, and so are its status, trims, marks and mirrors: the owner does all of this', async () => {
      const { db, owner, client } = await ownerOfTwo(at)
      await installChangeLog(client, { table: 't' })
      await client.query(`CREATE OR REPLACE FUNCTION listwatch.system_id() RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN ${alarmUnless(owner)} RETURN 'x'; END $$`)
      const superuser = await db.connect()
      await superuser.query('BEGIN; CREATE TABLE x ()')
      const source = db.source({ table: 't' })
      const calls = [
        () => changeLogStatus(superuser),
        () => trimChangeLogs(superuser),
        () => source.mark(superuser),
        () => source.head(contextOf(AbortSignal.timeout(10_000))),
        () => listed(source),
      ]
      for (const call of calls) expect(await errorOf(call())).toMatchObject(failure('UNAUTHORIZED', `"${owner}"`))
      await superuser.query('ROLLBACK')
      for (const change of [
        () => installChangeLog(superuser, { table: 'u' }),
        () => uninstallChangeLog(superuser, { all: true }),
      ])
        expect((await errorOf(change())).message).toContain(
          `the schema listwatch belongs to "${owner}": run it as that role`,
        )
      expect(await isAlarmRaised(db)).toBe(false)

      await installChangeLog(client, { table: 'u' })
      const rows = await mirror(db, { table: 'u', connection: { user: owner } })
      await db.sql('INSERT INTO u VALUES (1, 1)')
      await trimChangeLogs(client, 0)
      await expectMirrored(rows, 'INSERT INTO u VALUES (2, 2)')
      expect((await changeLogStatus(client)).tables).toHaveLength(2)
    })
  })

  test('[P21] of an installation have exactly the rights that are documented', async () => {
    const db = await prepared(`${TABLE}; ${PARTITIONED}`)
    await db.install('t')
    await db.install('p')
    await installLeases(await db.connect())
    await expectDocumentedRights(db)
  })

  test('[P28] of an installation of an older version are replaced, and its tables stay mirrored without being installed again', async () => {
    const db = await prepared(`${TABLE}; ${PARTITIONED}; CREATE TABLE u (id int PRIMARY KEY)`)
    const reader = await roleOf(db, 'reader')
    await installVersion1(db, reader)
    const owner = await ownerOf(db, 't')
    await db.sql(RENEWAL)
    await db.sql('UPDATE t SET n = 0; UPDATE p SET n = 0')
    await db.install('u')

    await expectDocumentedRights(db)
    expect((await changeLogStatus(await db.connect())).tables).toMatchObject([
      { table: 'p', readers: [reader], problems: [] },
      { table: 't', readers: [reader], problems: [] },
      { table: 'u', problems: [] },
    ])
    expect(await db.value('SELECT count(*)::int FROM listwatch.leases')).toBe(1)
    const mirrors = [
      await mirror(db, { table: 't', connection: { user: reader } }),
      await mirror(db, { table: 'p', connection: { user: reader } }),
    ]
    for (const table of ['t', 'p']) {
      await db.sql(`INSERT INTO ${table} VALUES (20, 0); UPDATE ${table} SET n = 7 WHERE id = 1;
        DELETE FROM ${table} WHERE id = 2`)
    }
    await db.sql('UPDATE p SET id = 30 WHERE id = 3')
    for (const each of mirrors) await expectMirrorEqualsTable(each)
    expect(mirrors.map(({ errors, informer }) => [errors, informer.status.relists])).toEqual([
      [[], 0],
      [[], 0],
    ])

    const stranger = await roleOf(db, 'stranger')
    const client = await db.connect({ user: stranger })
    await attempt(client, [...shadowTypes(stranger), 'SELECT listwatch.mark()'])
    const ownerClient = await db.connect({ user: owner })
    expect(await attempt(ownerClient, trapType(owner, owner))).toEqual([])
    await ownerClient.query(`ALTER TABLE t ALTER id TYPE ${owner}.trap USING ${owner}.trap_of(id)`)
    expect(await attempt(ownerClient, ['INSERT INTO t VALUES (ROW(50), 0)', 'DELETE FROM t'])).toEqual([])
    expect(await isAlarmRaised(db)).toBe(false)
  })
})

/** Functions that every role may call. They run with the rights of the caller. */
const PUBLIC = ['database_id', 'mark', 'schema_version', 'seeded', 'system_id']
/** Functions that run with the rights of the owner, besides the functions of triggers. */
const OF_OWNER = ['epoch', 'remove_ended_leases', 'tend']

async function expectDocumentedRights(db: Database): Promise<void> {
  const functions = await db.sql(`SELECT p.proname AS name, p.prosecdef AS "isOfOwner", p.proconfig::text AS settings,
      p.prorettype = 'trigger'::regtype AS "isTrigger",
      EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0) AS "isPublic"
    FROM pg_proc p WHERE p.pronamespace = 'listwatch'::regnamespace ORDER BY 1`)
  const namesOf = (is: (row: Row) => unknown): unknown[] => [
    ...new Set(functions.filter((row) => is(row) === true).map(({ name }) => name)),
  ]
  const unsafe = functions.filter(({ settings }) => settings !== '{"search_path=pg_catalog, pg_temp"}')
  expect(unsafe.map(({ name, settings }) => [name, settings])).toEqual([])
  expect(
    await db.sql(`SELECT adrelid::regclass::text AS relation, pg_get_expr(adbin, adrelid) AS expression FROM pg_attrdef
    WHERE adrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'listwatch'::regnamespace) AND pg_get_expr(adbin, adrelid) LIKE '%(%' ORDER BY 2`),
  ).toEqual([
    { relation: 'listwatch.mark', expression: 'clock_timestamp()' },
    { relation: 'listwatch.mark', expression: 'pg_current_snapshot()' },
  ])
  expect(namesOf(({ isPublic }) => isPublic)).toEqual(PUBLIC)
  const ofOwner = namesOf(({ isOfOwner, isTrigger }) => isOfOwner === true && isTrigger !== true)
  expect(ofOwner.filter((name) => !/^log_\w+_changes$/.test(String(name)))).toEqual(OF_OWNER)
  expect(functions.filter(({ isOfOwner, isTrigger }) => isTrigger === true && isOfOwner !== true)).toEqual([])
}
