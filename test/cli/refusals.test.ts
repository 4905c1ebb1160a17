import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { roleOf } from '../postgres/hostile.js'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { listwatch, outputOf, refusalOf, resultOf, SECRET, shell, urlOf } from './support.js'

const ORDERS = 'CREATE TABLE orders (id int PRIMARY KEY, tenant text)'

describeServer('postgres 18', 'the command line reports errors of Postgres in one line', useServer, (at) => {
  function watch(url: string, table: string, ...more: readonly string[]): Promise<string> {
    return refusalOf(listwatch(['watch', url, '--table', table, ...more]))
  }

  function install(url: string, table: string, ...more: readonly string[]): Promise<string> {
    return refusalOf(listwatch(['pg', 'install', url, '--table', table, ...more]))
  }

  /** Runs the command that a line names, as it stands there. */
  async function obey(line: string, change: (command: string) => string = (command) => command): Promise<void> {
    const [, command = ''] = /(listwatch pg install .*)$/.exec(line) ?? []
    expect(await outputOf(shell(change(command)))).toMatch(/^installed on /)
  }

  /** It mirrors, and ends by itself. */
  async function expectWatched(url: string, table: string, ...more: readonly string[]): Promise<void> {
    const args = ['watch', url, '--table', table, '--json', '--for', '1ms', ...more]
    await outputOf(listwatch(args))
  }

  describe('connecting', () => {
    test('a database that does not exist', async () => {
      const db = await at.database()
      const line = await watch(`${urlOf(db, 'postgres', SECRET)}x`, 'orders')
      expect(line).toMatch(/^cannot connect to postgres:\/\/postgres:\*\*\*@127.0.0.1:\d+\/db\d+x: database "db\d+x"/)
      expect(line).toMatch(/does not exist; name another at the end of the URL, or create it with: createdb$/)
    })

    test('a role that does not exist', async () => {
      const db = await at.database()
      const line = await watch(urlOf(db, 'nobody_here', SECRET), 'orders', '--index', 'id')
      expect(line).toMatch(/role "nobody_here" does not exist; give the right user and password in the URL/)
    })

    test('with a wrong password, and with none', async () => {
      const db = await at.database()
      const name = await roleOf(db, 'careful')
      const file = join(at.server.dataDir, 'pg_hba.conf')
      await writeFile(file, `host all ${name} all scram-sha-256\n${await readFile(file, 'utf8')}`)
      await db.sql(`ALTER ROLE ${name} PASSWORD 'right-${SECRET}'; SELECT pg_reload_conf()`)
      const statusOf = (password?: string) => listwatch(['pg', 'status', urlOf(db, name, password)])
      await waitUntil('the server requires it', async () => (await resultOf(statusOf('none'))).code !== 0)
      for (const line of [await watch(urlOf(db, name, SECRET), 'orders'), await refusalOf(statusOf(SECRET))])
        expect(line).toMatch(/password authentication failed .*; give the right user and password in the URL, or in/)
      for (const line of [await watch(urlOf(db, name), 'orders'), await refusalOf(statusOf())])
        expect(line).toMatch(/^cannot connect to .*\(the server requires a password, and the client has none\)$/)
    })
  })

  describe('the table', () => {
    test('that is not there', async () => {
      const db = await at.database()
      const naming = /; name (it|the table) as in SQL, such as orders, shop\.orders or "Orders"$/
      for (const table of ['missing', 'no.where', 'two words']) {
        expect(await watch(urlOf(db), table), table).toMatch(naming)
        expect(await install(urlOf(db), table), table).toMatch(naming)
      }
    })

    test('that is called nearly so', async () => {
      const db = await at.prepared('CREATE TABLE "Orders" (id int PRIMARY KEY)')
      expect(await watch(urlOf(db), 'orders')).toMatch(/; there is public\."Orders"$/)
    })

    test('without triggers: the command in the line fixes it', async () => {
      const db = await at.prepared(ORDERS)
      const line = await watch(urlOf(db, 'postgres', SECRET), 'orders')
      expect(line).toBe(
        `the triggers of listwatch are not installed on "public"."orders"; run: listwatch pg install ${urlOf(db)} --table 'public.orders'`,
      )
      await obey(line)
      await expectWatched(urlOf(db), 'orders')
    })

    test('whose name a shell would take apart', async () => {
      const db = await at.database()
      const table = `"it's ""$HOME"" 100%"`
      await db.sql(`CREATE TABLE ${table} (id int PRIMARY KEY)`)
      await obey(await watch(urlOf(db), table))
      await expectWatched(urlOf(db), table)
    })

    test('without a key', async () => {
      const db = await at.prepared('CREATE TABLE t (id int, n int NOT NULL); CREATE UNIQUE INDEX ON t (id)')
      expect(await install(urlOf(db), 't')).toMatch(
        /^public\.t has no primary key \(Add one, ALTER TABLE public\.t ADD PRIMARY KEY .* --key a,b\)$/,
      )
      expect(await install(urlOf(db), 't', '--key', 'n')).toMatch(/CREATE UNIQUE INDEX ON public\.t \(n\)/)
      expect(await install(urlOf(db), 't', '--key', 'id')).toMatch(
        /may be NULL, .*\(ALTER TABLE public\.t ALTER COLUMN id SET NOT NULL\)$/,
      )
      await db.sql('DROP TABLE t; CREATE TABLE t (id int)')
      expect(await watch(urlOf(db), 't')).toMatch(/; add one: ALTER TABLE "public"\."t" ADD PRIMARY KEY/)
    })

    test('that is a view', async () => {
      const db = await at.prepared(
        `${ORDERS}; CREATE VIEW v AS SELECT * FROM orders; CREATE MATERIALIZED VIEW m AS SELECT * FROM v`,
      )
      for (const view of ['v', 'm']) {
        expect(await watch(urlOf(db), view)).toMatch(/is not a table; name a table: one that a view reads/)
        expect(await install(urlOf(db), view)).toMatch(
          /is not a table \(Name a table with --table: one that a view reads/,
        )
      }
    })

    test('from which others inherit', async () => {
      const db = await at.prepared('CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child () INHERITS (parent)')
      const says = /has tables that inherit from it, whose rows its triggers do not see.*name those that inherit/i
      expect(await watch(urlOf(db), 'parent')).toMatch(says)
      expect(await install(urlOf(db), 'parent')).toMatch(says)
    })

    test('that is a partition: the command in the line fixes it, whether or not the parent has triggers', async () => {
      const db = await at.installed(
        `CREATE TABLE tree (id int PRIMARY KEY) PARTITION BY HASH (id);
        CREATE TABLE leaf PARTITION OF tree FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
        'tree',
      )
      await obey(await watch(urlOf(db), 'leaf'))
      await expectWatched(urlOf(db), 'leaf')
    })
  })

  describe('columns', () => {
    const columns: readonly (readonly [what: string, args: readonly string[], says: string])[] = [
      [
        'to index that are not there, also in an empty table',
        ['--index', 'nope', '--json'],
        '--index: orders has no column "nope"; it has id, tenant',
      ],
      [
        'to index that are not mirrored',
        ['--columns', 'id', '--index', 'tenant'],
        '--index: "tenant" is not mirrored; add it to --columns',
      ],
      ['to mirror that are not there', ['--columns', 'id,nope'], 'no column "nope"; it has id, tenant'],
      [
        'in a condition that are not there',
        ['--sql', 'tenant=acme'],
        `sql: "tenant=acme" is refused by the server: column "acme" does not exist; a text needs quotes: status = 'new'`,
      ],
    ]
    test.each(columns)('%s', async (_what, args, says) => {
      const db = await at.installed(ORDERS, 'orders')
      expect(await watch(urlOf(db), 'orders', ...args)).toContain(says)
    })

    test('a path into a column of JSON is indexed', async () => {
      const db = await at.installed('CREATE TABLE docs (id int PRIMARY KEY, doc jsonb)', 'docs')
      expect(await watch(urlOf(db), 'docs', '--index', 'nope.size', '--json')).toBe(
        '--index: docs has no column "nope"; it has id, doc',
      )
      await expectWatched(urlOf(db), 'docs', '--index', 'doc.size')
    })
  })

  describe('rights', () => {
    test.each([
      ['without any', ''],
      ['with SELECT on the table alone', 'GRANT SELECT ON orders TO '],
      [
        'with all but the log',
        'GRANT SELECT ON orders, listwatch.state TO $; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA listwatch TO $',
      ],
    ])('a reader %s: the command in the line fixes it', async (_what, grant) => {
      const db = await at.installed(ORDERS, 'orders')
      const reader = await roleOf(db, 'reader')
      if (grant !== '') await db.sql(grant.includes('$') ? grant.replaceAll('$', reader) : grant + reader)
      const line = await watch(urlOf(db, reader, SECRET), 'orders')
      expect(line).toContain(`as the owner of the table run: listwatch pg install ${urlOf(db, 'owner')} --table orders`)
      await obey(line, (command) => command.replace('owner@', 'postgres@'))
      await expectWatched(urlOf(db, reader), 'orders')
    })

    test('to install', async () => {
      const db = await at.prepared(ORDERS)
      const stranger = await roleOf(db, 'stranger')
      expect(await install(urlOf(db, stranger), 'orders')).toMatch(
        /; the table orders belongs to "?postgres"?: run it as that role, or after GRANT "?postgres"? TO/,
      )
    })

    test.each(['uninstall --table orders', 'uninstall --all', 'trim'])('to pg %s', async (command) => {
      const db = await at.installed(ORDERS, 'orders')
      const [name = '', ...options] = command.split(' ')
      const url = urlOf(db, await roleOf(db, 'stranger'))
      expect(await refusalOf(listwatch(['pg', name, url, ...options]))).toMatch(
        /(permission denied|must be owner) .*; (run it as the owner of the table and of the schema listwatch|.* belongs to .*: run it as that role(, or after GRANT .*)?)$/,
      )
    })

    test('of a role that does not exist cannot be granted', async () => {
      const db = await at.prepared(ORDERS)
      const line = await install(urlOf(db), 'orders', '--grant', 'nobody_here')
      expect(line).toMatch(/create it with CREATE ROLE, or name another with --grant$/)
    })

    test('by row: refused, and the option that the line names lets it pass', async () => {
      const db = await at.prepared(`${ORDERS}; ALTER TABLE orders ENABLE ROW LEVEL SECURITY`)
      const reader = await roleOf(db, 'reader')
      await db.install('orders', { grant: [reader] })
      const line = await watch(urlOf(db, reader), 'orders')
      expect(line).toMatch(/^row security .*; add --rls row-local if no policy reads other rows$/)
      await expectWatched(urlOf(db, reader), 'orders', '--rls', 'row-local')
    })
  })

  test('nothing is installed: what removes and trims says so', async () => {
    const db = await at.database()
    const says = /nothing is installed in this database; run: listwatch pg install postgres:\S+ --table <table>$/
    expect(await refusalOf(listwatch(['pg', 'trim', urlOf(db)]))).toMatch(says)
    expect(await refusalOf(listwatch(['pg', 'uninstall', urlOf(db), '--all']))).toMatch(says)
  })
})
