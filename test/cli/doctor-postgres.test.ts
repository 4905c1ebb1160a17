import { describe, expect, onTestFinished, test } from 'vitest'
import { installLeases } from '../../adapters/postgres/index.js'
import { postgresChecks } from '../../cli/doctor/postgres.js'
import { startPostgres } from '../../tools/postgres/postgres-server.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { roleOf } from '../postgres/hostile.js'
import { Database, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { Pgbouncer } from '../servers/pgbouncer.js'
import { waitUntil } from '../servers/wait-until.js'
import { findings, namesOf } from './doctor.js'
import { listwatch, type Result, resultOf, SECRET, urlOf } from './support.js'

function sqlIn(remedy = ''): string {
  const [, sql = ''] = /run: (.*)$/.exec(remedy) ?? []
  return sql
}

describeServer('postgres 18', 'doctor postgres://', (postgres) => {
  const at = useServer(postgres, { max_prepared_transactions: '5' })
  const TABLE = ['--table', 'orders']
  const orders = (): Promise<Database> => at.installed('CREATE TABLE orders (id int PRIMARY KEY, n int)', 'orders')
  const argsOf = (db: Database, user?: string): string[] => [urlOf(db, user), ...TABLE]

  test('finds nothing in a table that is well installed', async () => {
    const db = await orders()
    const { code, output } = await resultOf(listwatch(['doctor', ...argsOf(db)]))
    expect(output).toMatch(/^\d+ checks: 0 errors, 0 warnings\n$/)
    expect(code).toBe(0)
  })

  test('prints a line for each finding, with the command that repairs it, which then does', async () => {
    const db = await orders()
    await db.sql('ALTER TABLE orders DISABLE TRIGGER zz_listwatch_u')
    const { code, output } = await resultOf(listwatch(['doctor', urlOf(db, 'postgres', SECRET), ...TABLE]))
    expect(output).toMatch(/^error triggers: changes are missed: /)
    expect(output).toContain(`; run: listwatch pg install ${urlOf(db)} --table orders\n`)
    expect(output).toMatch(/\n\d+ checks: 1 error, 0 warnings\n$/)
    expect(code).toBe(1)
    const [, command = ''] = /run: listwatch (.*)\n/.exec(output) ?? []
    expect((await resultOf(listwatch(command.split(' ')))).code).toBe(0)
    expect(await namesOf(argsOf(db))).toEqual([])
  })

  const broken: readonly (readonly [name: string, sql: string])[] = [
    ['table', 'ALTER TABLE orders RENAME TO odrers'],
    ['key', 'ALTER TABLE orders DROP CONSTRAINT orders_pkey'],
    ['inheritance', 'CREATE TABLE heir () INHERITS (orders)'],
    ['change-log', `SELECT listwatch.uninstall('orders')`],
    [
      'change-log-version',
      `CREATE OR REPLACE FUNCTION listwatch.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 0'`,
    ],
    ['triggers', 'ALTER TABLE orders DISABLE TRIGGER ALL; ALTER TABLE orders ENABLE TRIGGER ALL'],
    [
      'collation-version',
      `CREATE COLLATION c (provider = icu, locale = 'sv'); CREATE INDEX ON orders ((n::text COLLATE c));
        UPDATE pg_collation SET collversion = '1' WHERE collname = 'c'`,
    ],
    [
      'log-size',
      `DO $$ DECLARE log text := (SELECT l.log FROM listwatch.logs() l); BEGIN
         EXECUTE format('INSERT INTO %s (xid, op, k1) SELECT pg_current_xact_id(), ''d'', g FROM generate_series(1, 1300000) g', log); END $$`,
    ],
  ]
  test.each(broken)('%s', async (name, sql) => {
    const db = await orders()
    expect(await namesOf(argsOf(db))).toEqual([])
    await db.sql(sql)
    expect(await namesOf(argsOf(db))).toContain(name)
  })

  test('leases: if they were installed, and are incomplete', async () => {
    const db = await orders()
    const isFound = async (): Promise<void> => {
      const found = (await findings(argsOf(db))).get('leases')
      expect(found?.problem).toBe('the tables and functions of leases are incomplete')
      const [, command = ''] = /run: listwatch (.*)$/.exec(found?.remedy ?? '') ?? []
      expect((await resultOf(listwatch(command.split(' ')))).code).toBe(0)
      expect(await namesOf(argsOf(db))).toEqual([])
    }
    await installLeases(await db.connect())
    expect(await namesOf(argsOf(db))).toEqual([])
    await db.sql('DROP FUNCTION listwatch.leave_group')
    await isFound()
    await db.sql('DROP TABLE listwatch.lease_rights CASCADE')
    await isFound()
  })

  test('rights: a role that was not granted them', async () => {
    const db = await orders()
    const role = await roleOf(db, 'reader')
    const found = await findings(argsOf(db, role))
    expect(found.get('rights')?.problem).toBe(`the role ${role} lacks SELECT on the table, SELECT on the change log`)
    expect(found.get('rights')?.remedy).toContain(`--grant ${role}`)
    await db.install('orders', { grant: [role] })
    expect(await namesOf(argsOf(db, role))).toEqual([])
  })

  test('row-security: unless --rls row-local is given', async () => {
    const db = await orders()
    const role = await roleOf(db, 'secured')
    await db.sql('ALTER TABLE orders ENABLE ROW LEVEL SECURITY')
    await db.install('orders', { grant: [role] })
    expect(await namesOf(argsOf(db, role))).toEqual(['row-security'])
    expect(await namesOf([...argsOf(db, role), '--rls', 'row-local'])).toEqual([])
  })

  test('server-version: older than 14', async () => {
    const check = postgresChecks.find(({ name }) => name === 'server-version')
    // No such server is provisioned, and no schema of the search path can pretend to be one.
    const answers = { first: async () => ({ number: 130_023, version: '13.23' }) }
    const finding = await check?.find(answers as unknown as Parameters<NonNullable<typeof check>['find']>[0])
    expect(finding?.problem).toBe('the server is Postgres 13.23, and a change log needs Postgres 14 or later')
  })

  test('schema-owner: not a superuser, and the role is one', async () => {
    const db = await orders()
    const owner = await roleOf(db, 'owner')
    await db.sql(`ALTER SCHEMA listwatch OWNER TO ${owner}`)
    expect((await findings(argsOf(db))).get('schema-owner')?.problem).toContain(`"${owner}", which owns the functions`)
  })

  test('wake-of-prepared-transactions', async () => {
    const db = await orders()
    await db.install('orders', { wake: 'bucket' })
    expect(await namesOf(argsOf(db))).toEqual(['wake-of-prepared-transactions'])
  })

  test('prepared-transactions: one that has been pending for 10 s', async () => {
    const db = await orders()
    await db.sql('BEGIN')
    await db.sql('CREATE TABLE more (id int)')
    await db.sql(`PREPARE TRANSACTION 'lost'`)
    expect(await namesOf(argsOf(db))).toEqual([])
    await waitUntil('it to be old', async () => (await namesOf(argsOf(db))).includes('prepared-transactions'))
    await db.sql(`ROLLBACK PREPARED 'lost'`)
    expect(await namesOf(argsOf(db))).toEqual([])
  })

  test('pooler: in transaction mode only', async () => {
    const db = await orders()
    for (const poolMode of ['session', 'transaction'] as const) {
      await using pooler = await Pgbouncer.start({ targetPort: at.server.port, poolMode })
      const url = `postgres://postgres@127.0.0.1:${pooler.port}/${db.name}`
      expect(await namesOf([url, ...TABLE]), poolMode).toEqual(poolMode === 'session' ? [] : ['pooler'])
    }
  })

  test('finds nothing if the database has short timeouts and read-only transactions: a mirror sets its own', async () => {
    const db = await orders()
    for (const setting of ['statement_timeout', 'idle_session_timeout', 'transaction_timeout'])
      await db.sql(`ALTER DATABASE ${db.name} SET ${setting} = '300ms'`)
    await db.sql(`ALTER DATABASE ${db.name} SET default_transaction_read_only = on`)
    const verified = (url: string): Promise<Result> => resultOf(listwatch(['verify', url, ...TABLE, '--for', '2s']))
    expect(await verified(urlOf(db))).toMatchObject({ code: 0, errors: '' })
    expect(await namesOf(argsOf(db))).toEqual([])
    // The idle connections of a pooler belong to no mirror, and Postgres would close one when it is lent.
    await db.sql(`ALTER DATABASE ${db.name} SET idle_session_timeout = 0`)
    await using pooler = await Pgbouncer.start({ targetPort: at.server.port, poolMode: 'transaction' })
    const pooled = `postgres://postgres@127.0.0.1:${pooler.port}/${db.name}`
    expect(await verified(pooled)).toMatchObject({ code: 0, errors: '' })
  })

  describe('of a server of its own', () => {
    const { binDir, env } = postgres

    async function ordersOf(settings: Readonly<Record<string, string>>) {
      const server = await startPostgres({ binDir, env, settings: { fsync: 'off', ...settings } })
      onTestFinished(() => server.stop('immediate'))
      const db = new Database('postgres', server.port)
      await db.sql('CREATE TABLE orders (id int PRIMARY KEY, n int)')
      await db.install('orders')
      return { server, db }
    }

    test('epoch: after a crash, until a mirror lists', async () => {
      const { server, db } = await ordersOf({})
      expect(await namesOf(argsOf(db))).toEqual([])
      await server.kill()
      await server.restart()
      expect(await namesOf(argsOf(db))).toEqual(['epoch'])
      await resultOf(listwatch(['list', ...argsOf(db)]))
      expect(await namesOf(argsOf(db))).toEqual([])
    })

    test('standby', async () => {
      const { server, db } = await ordersOf({})
      await server.halt()
      await runProgram('cp', ['-a', `${server.dataDir}/PG_VERSION`, `${server.dataDir}/standby.signal`])
      await server.restart()
      expect(await namesOf(argsOf(db))).toContain('standby')
    })

    test('connections', async () => {
      const { db } = await ordersOf({ max_connections: '10' })
      expect(await namesOf(argsOf(db))).toEqual([])
      for (let count = 0; count < 7; count++) await db.connect()
      expect(await namesOf(argsOf(db))).toEqual(['connections'])
    })

    test('replication-slot: its consumer is gone, so it retains log and then loses it', async () => {
      const { db } = await ordersOf({ max_wal_size: '32MB', min_wal_size: '32MB', max_slot_wal_keep_size: '1GB' })
      await db.sql(`SELECT pg_create_physical_replication_slot('standby', true)`)
      expect(await namesOf(argsOf(db))).toEqual([])
      const fill = async (): Promise<void> => {
        for (let count = 0; count < 4; count++)
          await db.sql(`SELECT pg_switch_wal(); INSERT INTO orders SELECT coalesce(max(id), 0) + 1 FROM orders`)
      }
      await fill()
      const behind = (await findings(argsOf(db))).get('replication-slot')
      expect(behind?.problem).toMatch(
        /^the replication slot "standby" retains [5-9]\d MB .* no consumer is connected to it$/,
      )
      await db.sql(`ALTER SYSTEM SET max_slot_wal_keep_size = '16MB'`)
      await db.sql('SELECT pg_reload_conf()')
      await fill()
      await db.sql('CHECKPOINT')
      await waitUntil('the slot to be lost', async () => {
        const lost = (await findings(argsOf(db))).get('replication-slot')
        return lost?.problem.startsWith('the replication slot "standby" lost the log') === true
      })
      await db.sql(sqlIn(behind?.remedy))
      expect(await namesOf(argsOf(db))).toEqual([])
    })

    test('unlimited-wal: unless nothing retains log', async () => {
      const { db } = await ordersOf({})
      expect(await namesOf(argsOf(db))).toEqual([])
      await db.sql(`SELECT pg_create_physical_replication_slot('standby', true)`)
      const found = await findings(argsOf(db))
      expect([...found.keys()]).toEqual(['unlimited-wal'])
      for (const command of sqlIn(found.get('unlimited-wal')?.remedy).split('; ')) await db.sql(command)
      await waitUntil('the setting', async () => (await namesOf(argsOf(db))).length === 0)
    })

    test('notification-queue: a session listens, and never ends its transaction', async () => {
      const { db } = await ordersOf({ max_notify_queue_pages: '64' })
      const listener = await db.connect()
      await listener.query('LISTEN anything')
      await listener.query('BEGIN')
      for (let count = 0; count < 40; count++)
        await db.sql(`SELECT count(pg_notify('anything', g || repeat('x', 7000))) FROM generate_series(1, 1) g`)
      expect(await namesOf(argsOf(db))).toEqual(['notification-queue'])
    })
  })
})
