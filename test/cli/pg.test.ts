import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresLeases } from '../../adapters/postgres/index.js'
import { roleOf } from '../postgres/hostile.js'
import { type Database, expectMirrorEqualsTable, mirror, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { listwatch, outputOf, resultOf, urlOf } from './support.js'

const ORDERS = 'CREATE TABLE orders (id int PRIMARY KEY, n int); INSERT INTO orders VALUES (1, 1), (2, 2)'

function said(command: string, ...args: readonly string[]): Promise<string> {
  return outputOf(listwatch(['pg', command, ...args]))
}

/** All that is in the database besides what Postgres brings, by kind and name. */
async function inventory(db: Database): Promise<unknown> {
  return await db.sql(`SELECT 'relation' AS kind, oid::regclass::text AS name FROM pg_class WHERE oid >= 16384 AND relnamespace <> 'pg_toast'::regnamespace
    UNION ALL SELECT 'function', oid::regprocedure::text FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT 'trigger', tgname FROM pg_trigger WHERE oid >= 16384
    UNION ALL SELECT 'schema', nspname FROM pg_namespace WHERE oid >= 16384 AND nspname::text NOT LIKE 'pg\\_%'
    UNION ALL SELECT 'rights', acl::text FROM pg_class, unnest(relacl) acl WHERE oid >= 16384
    UNION ALL SELECT 'type', typname FROM pg_type WHERE oid >= 16384 AND typnamespace <> 'pg_toast'::regnamespace ORDER BY 1, 2`)
}

describeServer('postgres 18', 'pg', useServer, (at) => {
  describe('install', () => {
    test('makes a mirror possible, and says what it has chosen', async () => {
      const db = await at.prepared(ORDERS)
      expect(await said('install', urlOf(db), '--table', 'orders')).toBe(
        'installed on orders (key id; triggers for each statement; wake bucket)\n',
      )
      const rows = await mirror(db, { table: 'orders' })
      await db.sql('UPDATE orders SET n = 5; DELETE FROM orders WHERE id = 1')
      await expectMirrorEqualsTable(rows)
    })

    test('twice keeps the rights of those who may read already', async () => {
      const db = await at.prepared(ORDERS)
      const [first, second] = [await roleOf(db, 'first'), await roleOf(db, 'second')]
      await said('install', urlOf(db), '--table', 'orders', '--grant', first)
      await said('install', urlOf(db), '--table', 'orders', '--grant', second)
      await said('install', urlOf(db), '--table', 'orders')
      expect(await said('status', urlOf(db))).toMatch(/; wake bucket, readers \w+, \w+\)/)
      for (const user of [first, second]) {
        const rows = await mirror(db, { table: 'orders', connection: { user } })
        await rows.informer.stop()
      }
    })

    test('--print prints what it would do, which runs as it stands and does the same', async () => {
      const [db, other] = [await at.database(), await at.database()]
      const options = ['--table', 'orders', '--level', 'row', '--wake', 'each', '--bulk', '10', '--key', 'id']
      await db.sql(ORDERS)
      await other.sql(ORDERS)
      await db.sql(await said('install', ...options, '--print'))
      await said('install', urlOf(other), ...options)
      const shown = async (one: Database): Promise<string> => await said('status', urlOf(one))
      expect(await shown(db)).toBe(await shown(other))
      expect(await shown(db)).toMatch(/^ok orders \(key id; triggers for each row; wake each\) log 0 rows/)
      const rows = await mirror(db, { table: 'orders' })
      await db.sql('UPDATE orders SET n = 5')
      await expectMirrorEqualsTable(rows)
    })

    test('--print with a name and a role that want quoting runs as it stands', async () => {
      const db = await at.prepared(`CREATE TABLE "it's \\ ""odd""" (id int PRIMARY KEY)`)
      await db.sql(await said('install', '--table', `"it's \\ ""odd"""`, '--print'))
      expect(await db.value('SELECT relname FROM pg_class c JOIN listwatch.logs() l ON l.relid = c.oid')).toBe(
        `it's \\ "odd"`,
      )
    })
  })

  describe('install-leases', () => {
    const record = { member: 'abcdefghijkl', renewal: 0, members: [], holds: [] }

    /** Renews a lease once. Returns how many records the group has. */
    async function renew(db: Database, user = 'postgres', group = 'orders'): Promise<number> {
      const pool = new Pool({ ...db.config(), user })
      const session = postgresLeases({ pool, group }).open()
      try {
        return (await session.renew(record, [], AbortSignal.timeout(5_000))).records.length
      } finally {
        await session.close()
        await pool.end()
      }
    }

    test('makes leases possible, and a second installation keeps them', async () => {
      const db = await at.database()
      await expect(renew(db)).rejects.toThrow('run: npx listwatch pg install-leases <url>')
      expect(await said('install-leases', urlOf(db))).toBe('installed the tables and functions of leases\n')
      expect(await renew(db)).toBe(1)
      await said('install-leases', urlOf(db))
      expect(await db.value('SELECT count(*) FROM listwatch.leases')).toBe('1')
    })

    test('--print prints what it would do, which runs as it stands and does the same', async () => {
      const [db, other] = [await at.database(), await at.database()]
      const user = await roleOf(db, 'printed')
      await db.sql(await said('install-leases', '--grant', user, '--group', 'orders', '--print'))
      await said('install-leases', urlOf(other), '--grant', user, '--group', 'orders')
      expect(await inventory(db)).toEqual(await inventory(other))
      expect(await renew(db, user)).toBe(1)
    })

    test('uninstall --all removes them too', async () => {
      const db = await at.database()
      const before = await inventory(db)
      await said('install-leases', urlOf(db))
      await said('uninstall', urlOf(db), '--all')
      expect(await inventory(db)).toEqual(before)
    })
  })

  describe('uninstall', () => {
    test('--table leaves the others as they are', async () => {
      const db = await at.prepared(`${ORDERS}; CREATE TABLE more (id int PRIMARY KEY)`)
      await said('install', urlOf(db), '--table', 'more')
      const before = await inventory(db)
      await said('install', urlOf(db), '--table', 'orders')
      expect(await said('uninstall', urlOf(db), '--table', 'orders')).toBe('removed from orders\n')
      expect(await inventory(db)).toEqual(before)
      expect(await said('uninstall', urlOf(db), '--table', 'orders')).toBe('there was no change log of orders\n')
    })

    test.each([['--table', 'orders'], ['--all']])('%s --print prints what runs as it stands', async (...options) => {
      const db = await at.prepared(ORDERS)
      const before = await inventory(db)
      await said('install', urlOf(db), '--table', 'orders')
      await db.sql(await said('uninstall', ...options, '--print'))
      if (options[0] !== '--all') await said('uninstall', urlOf(db), '--all')
      expect(await inventory(db)).toEqual(before)
    })
  })

  describe('status', () => {
    test('says that nothing is installed, or that no table is', async () => {
      const db = await at.prepared(ORDERS)
      expect(await said('status', urlOf(db))).toBe('listwatch is not installed in this database\n')
      await said('install', urlOf(db), '--table', 'orders')
      await said('uninstall', urlOf(db), '--table', 'orders')
      expect(await said('status', urlOf(db))).toBe('the schema listwatch is installed, and no table is tracked\n')
    })

    test('counts the rows of the log, also as JSON', async () => {
      const db = await at.installed(ORDERS, 'orders')
      await db.sql('UPDATE orders SET n = 4')
      expect(await said('status', urlOf(db))).toMatch(/^ok orders \(.*\) log 2 rows, 0\.\d MB\n$/)
      expect(JSON.parse(await said('status', urlOf(db), '--json'))).toMatchObject({
        tables: [{ table: 'orders', keyColumns: ['id'], level: 'statement', logRows: 2, problems: [] }],
        warnings: [],
      })
    })

    test('of a log that misses changes: exit code 1, and the command that fixes it', async () => {
      const db = await at.installed(ORDERS, 'orders')
      await db.sql('DROP TRIGGER zz_listwatch_d ON orders')
      const { code, output } = await resultOf(listwatch(['pg', 'status', urlOf(db)]))
      expect(code).toBe(1)
      expect(output).toMatch(/^broken orders .*\nwarning orders: the trigger zz_listwatch_d is missing: .*; run: /)
      const [, command = ''] = /run: listwatch pg (.*)\n$/.exec(output) ?? []
      await said(...(command.replaceAll("'", '').split(' ') as [string, ...string[]]))
      expect(await said('status', urlOf(db))).toMatch(/^ok orders /)
    })
  })

  test('trim removes rows older than --keep, and a mirror continues', async () => {
    const db = await at.installed(ORDERS, 'orders')
    const rows = await mirror(db, { table: 'orders', trimEveryMs: false })
    await db.sql('UPDATE orders SET n = 4')
    await expectMirrorEqualsTable(rows)
    expect(await said('trim', urlOf(db))).toBe('removed 0 rows from the logs\n')
    expect(await said('trim', urlOf(db), '--keep', '0')).toBe('removed 2 rows from the logs\n')
    await db.sql('UPDATE orders SET n = 6')
    await expectMirrorEqualsTable(rows)
  })
})
