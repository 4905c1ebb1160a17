import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { changeLogStatus } from '../../adapters/postgres/index.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { blocksOf } from '../support/documents.js'
import { failure } from '../support/failure.js'
import { changes, ROWS } from './ddl-changes.js'
import {
  errorOf,
  expectMirrorEqualsTable,
  expectMirrored,
  type Mirror,
  mirror,
  nakedDelta,
  snapshotOf,
  useServer,
} from './support.js'

/** What `pg_restore --data-only --disable-triggers` runs around the rows: the triggers no longer fire for replicas. */
const DEMOTED = 'ALTER TABLE t DISABLE TRIGGER ALL; ALTER TABLE t ENABLE TRIGGER ALL'
/** A write by which demoted triggers are not fired. */
const SILENT = `SET session_replication_role = replica; UPDATE t SET n = 99; RESET session_replication_role`

/** A watch that is live for a second ends the growth of the delays. */
async function settled({ informer }: Mirror): Promise<void> {
  await waitUntil('the watch', () => informer.status.state === 'live')
  await sleep(1_000)
}

describePostgres('the definition of a table', (postgres) => {
  const at = useServer(postgres)

  describe('a change of the table that fires no trigger', () => {
    const major = Number.parseInt(postgres.version, 10)

    test.concurrent.for(Object.entries(changes))(
      'arrives by one relist, though the log is silent: %s',
      async ([, { setup, each }], { onTestFinished }) => {
        const possible = each.filter(({ since = 0 }) => since <= major)
        const db = await at.installed(setup(major), { atEnd: onTestFinished })
        const rows = await mirror(db, { table: 't' })
        for (const [done, { name, ddl }] of possible.entries()) {
          const before = await db.sql('SELECT t::text FROM t ORDER BY id')
          const snapshot = await snapshotOf(db)
          await db.sql(ddl)
          expect(await nakedDelta(db, await db.log('t'), snapshot), name).toEqual([])
          if (!ddl.includes('RENAME COLUMN'))
            expect(await db.sql('SELECT t::text FROM t ORDER BY id'), name).not.toEqual(before)
          await expectMirrorEqualsTable(rows)
          expect(rows.informer.status.relists, name).toBe(done + 1)
          await settled(rows)
        }
      },
    )

    test.concurrent('costs no relist if it changes neither rows nor their meaning', async ({ onTestFinished }) => {
      const db = await at.installed(ROWS, { atEnd: onTestFinished })
      const rows = await mirror(db, { table: 't' })
      for (const ddl of [
        'ANALYZE t',
        'VACUUM t',
        'CREATE INDEX ON t (n)',
        'GRANT SELECT ON t TO PUBLIC',
        `COMMENT ON TABLE t IS 'x'`,
        'ALTER TABLE t ALTER COLUMN n SET DEFAULT 5',
        'ALTER TABLE t ALTER COLUMN n SET STATISTICS 50',
        'CREATE TRIGGER mine AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
      ]) {
        await expectMirrored(rows, ddl)
        expect(rows.informer.status.relists, ddl).toBe(0)
      }
    })

    test.concurrent('an ALTER TABLE in a long transaction keeps the first list waiting without breaking it', async ({
      onTestFinished,
    }) => {
      const db = await at.installed(ROWS, { atEnd: onTestFinished })
      const migration = await db.connect()
      await migration.query(`BEGIN; ALTER TABLE t ADD COLUMN flag text DEFAULT 'new'`)
      const synced = mirror(db, { table: 't', timeoutMs: 400 })
      await waitUntil('a reader that waits for the lock', async () => {
        const { length } = await db.sql(`SELECT FROM pg_locks WHERE relation = 't'::regclass::oid AND NOT granted`)
        return length > 0
      })
      // Longer than any one wait for the lock, so that one was given up meanwhile.
      const waiting = performance.now()
      await waitUntil('a second wait', () => performance.now() > waiting + 500)
      await migration.query('COMMIT')
      const rows = await synced
      await expectMirrorEqualsTable(rows)
      expect(rows.errors).toEqual([])
    })
  })

  describe('a table that takes the name of another', () => {
    const SWAP = 'BEGIN; ALTER TABLE orders RENAME TO orders_old; ALTER TABLE orders_new RENAME TO orders; COMMIT'
    const TABLES = `CREATE TABLE orders (id int PRIMARY KEY, n int); INSERT INTO orders VALUES (1, 1);
    CREATE TABLE orders_new (id int PRIMARY KEY, n int); INSERT INTO orders_new VALUES (2, 2)`

    test('is mirrored instead, although the log of the other stays silent', async () => {
      const db = await at.installed(TABLES, 'orders')
      await db.install('orders_new')
      const log = await db.log('orders')
      const orders = await mirror(db, { table: 'orders' })
      const snapshot = await snapshotOf(db)
      await db.sql(SWAP)
      await db.sql('INSERT INTO orders VALUES (3, 3)')
      expect(await nakedDelta(db, log, snapshot)).toEqual([])
      await expectMirrorEqualsTable(orders)
      expect([...orders.informer.keys()]).toEqual(['2', '3'])
    })

    test('without triggers of its own is NOT_FOUND, with the command that fixes it', async () => {
      const db = await at.installed(TABLES, 'orders')
      const orders = await mirror(db, { table: 'orders' })
      await db.sql(SWAP)
      await waitUntil('the failure', () => orders.informer.status.state === 'failed')
      expect(orders.informer.status.lastError).toMatchObject(
        failure('NOT_FOUND', `run: npx listwatch pg install <url> --table 'public.orders'`),
      )
    })
  })

  test.concurrent('a table that is gone makes the mirror fail with NOT_FOUND, say what to do, and recover', async ({
    onTestFinished,
  }) => {
    const command = `run: npx listwatch pg install <url> --table 'public.t'`
    const losses: readonly (readonly [name: string, ddl: string, says: string, undo?: string])[] = [
      ['a renamed table', 'ALTER TABLE t RENAME TO other', 'there is no table "t"', 'ALTER TABLE other RENAME TO t'],
      ['dropped triggers', `SELECT listwatch.uninstall('t')`, command],
      ['one dropped trigger', 'DROP TRIGGER zz_listwatch_u ON t', command],
      ['a trigger that is switched off', 'ALTER TABLE t DISABLE TRIGGER zz_listwatch_d', command],
      ['triggers that a data-only restore has demoted', DEMOTED, command],
      [
        'a trigger that fires only for replicas',
        'ALTER TABLE t ENABLE REPLICA TRIGGER zz_listwatch_i',
        'fires only if',
      ],
      ['a dropped schema', 'DROP SCHEMA listwatch CASCADE', command],
      ['a dropped table', 'DROP TABLE t', 'there is no table "t"', ROWS],
    ]
    const db = await at.installed(ROWS, { atEnd: onTestFinished })
    const rows = await mirror(db, { table: 't' })
    for (const [name, ddl, says, undo = ''] of losses) {
      await db.sql(ddl)
      await waitUntil(`the failure after ${name}`, () => rows.informer.status.state === 'failed')
      const { lastError } = rows.informer.status
      expect(lastError, name).toMatchObject(failure('NOT_FOUND', says))
      expect(rows.informer.size, name).toBe(2)
      await db.sql(undo)
      await db.install('t')
      await rows.informer.relist({ timeoutMs: 60_000 })
      await settled(rows)
    }
    await expectMirrorEqualsTable(rows)
  })

  describe('triggers that do not fire if session_replication_role is replica', () => {
    test('are refused by the first list, and the command in the error fixes them', async () => {
      const db = await at.installed(ROWS)
      await db.sql(DEMOTED)
      const error = await errorOf(mirror(db, { table: 't' }))
      expect(error).toMatchObject(failure('NOT_FOUND', 'pg_restore'))
      await db.install('t')
      const rows = await mirror(db, { table: 't' })
      await expectMirrored(rows, SILENT)
      expect(rows.informer.status.relists).toBe(0)
    })

    test('[P4] do not let a mirror take silent writes for none, and it recovers after the installation', async () => {
      const db = await at.installed(ROWS)
      const rows = await mirror(db, { table: 't' })
      const snapshot = await snapshotOf(db)
      await db.sql(DEMOTED)
      await db.sql(SILENT)
      expect(await nakedDelta(db, await db.log('t'), snapshot)).toEqual([])
      await waitUntil('the failure', () => rows.informer.status.state === 'failed')
      await db.install('t')
      await rows.informer.relist()
      await expectMirrorEqualsTable(rows)
      expect(rows.informer.get('1')).toMatchObject({ n: 99 })
    })
  })

  describe('a partitioned table', () => {
    const TREE = `CREATE TABLE t (id int, day date, n int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE t_2026 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY RANGE (day);
    CREATE TABLE t_2026_01 PARTITION OF t_2026 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    INSERT INTO t VALUES (1, '2026-01-01', 1)`
    const FEBRUARY = `CREATE TABLE t_2026_02 PARTITION OF t_2026 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')`
    const key = ['id', 'day'] as const

    test('writes to the parent, to a partition in the middle and to a leaf arrive, and only a new leaf costs a relist', async () => {
      const db = await at.installed(TREE)
      const rows = await mirror(db, { table: 't' })
      for (const [at, table] of ['t', 't_2026', 't_2026_01'].entries()) {
        await db.sql(`INSERT INTO ${table} VALUES (${at + 2}, '2026-01-02', 2); UPDATE ${table} SET n = n + 5;
          DELETE FROM ${table} WHERE id = ${at + 1}`)
        await expectMirrorEqualsTable(rows, { key })
      }
      expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['4/2026-01-02'], 0])
      await db.sql(FEBRUARY)
      await expectMirrorEqualsTable(rows, { key })
      await db.sql(`INSERT INTO t_2026_02 VALUES (2, '2026-02-02', 2)`)
      await expectMirrorEqualsTable(rows, { key })
      expect([rows.informer.size, rows.informer.status.relists]).toEqual([2, 1])
      // The row moves to another partition.
      await db.sql(`UPDATE t SET day = '2026-02-01' WHERE id = 4`)
      await expectMirrorEqualsTable(rows, { key })
      expect([...rows.informer.keys()].sort()).toEqual(['2/2026-02-02', '4/2026-02-01'])
      expect(rows.informer.status.relists).toBe(1)
    })

    test('a partition whose triggers do not fire if session_replication_role is replica makes the mirror fail', async () => {
      const db = await at.prepared(TREE)
      await db.sql(FEBRUARY)
      await db.install('t')
      const rows = await mirror(db, { table: 't' })
      await db.sql(DEMOTED.replaceAll('TABLE t ', 'TABLE t_2026_01 '))
      await waitUntil('the failure', () => rows.informer.status.state === 'failed')
      expect(rows.informer.status.lastError).toMatchObject(
        failure('NOT_FOUND', /of 1 partitions, such as public.t_2026_01, does not fire .*pg install/),
      )
      await db.install('t')
      expect((await changeLogStatus(await db.connect())).tables).toMatchObject([{ problems: [] }])
    })

    test('a statement-level log of it is refused', async () => {
      const db = await at.prepared(TREE)
      expect((await errorOf(db.install('t', { level: 'statement' }))).message).toMatch(
        /fire only triggers of level row/,
      )
    })

    test('partitions that are foreign tables are refused', async () => {
      const db =
        await at.prepared(`CREATE TABLE t (id int) PARTITION BY RANGE (id); CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
      CREATE FOREIGN TABLE away PARTITION OF t FOR VALUES FROM (0) TO (9) SERVER s`)
      expect((await errorOf(db.install('t'))).message).toMatch(/has partitions that are foreign tables/)
    })

    test.each(['parent first', 'leaf first'])(
      'a leaf is mirrored by itself too, also from writes to the parent (%s)',
      async (order) => {
        const db = await at.prepared(TREE)
        const tables = ['t', 't_2026_01']
        for (const table of order === 'leaf first' ? tables.toReversed() : tables) await db.install(table)
        const leaf = await mirror(db, { table: 't_2026_01' })
        const parent = await mirror(db, { table: 't' })
        await db.sql(`INSERT INTO t VALUES (2, '2026-01-02', 2); UPDATE t SET n = 5;
          INSERT INTO t_2026_01 VALUES (3, '2026-01-03', 3)`)
        await expectMirrorEqualsTable(leaf, { key })
        await expectMirrorEqualsTable(parent, { key })
        expect(leaf.informer.size).toBe(3)
      },
    )
  })

  test.each([
    [
      'becomes a partition',
      'CREATE TABLE whole (LIKE t INCLUDING ALL) PARTITION BY RANGE (id); ALTER TABLE whole ATTACH PARTITION t DEFAULT',
      'pg install',
    ],
    [
      'becomes a child',
      'CREATE TABLE parent (id int NOT NULL, n int, note text); ALTER TABLE t INHERIT parent',
      'pg install',
    ],
    ['gets a child', 'CREATE TABLE child () INHERITS (t)', 'inherit'],
  ])('a table that %s fails, instead of missing what happens to it', async (_, ddl, says) => {
    const db = await at.installed(ROWS)
    const { informer } = await mirror(db, { table: 't' })
    await db.sql(ddl)
    await waitUntil('the failure', () => informer.status.state === 'failed')
    expect(informer.status.lastError?.message).toContain(says)
  })

  describe('inheritance', () => {
    const FAMILY = `CREATE TABLE parent (id int PRIMARY KEY, n int); CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
    INSERT INTO child VALUES (1, 1)`

    test('a parent is refused: its triggers do not see the rows of its children', async () => {
      const db = await at.prepared(FAMILY)
      await db.sql(`CREATE TABLE seen (what text); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (TG_OP); RETURN NULL; END $$;
      CREATE TRIGGER see AFTER INSERT OR UPDATE ON parent FOR EACH ROW EXECUTE FUNCTION see()`)
      await db.sql('INSERT INTO child VALUES (2, 2); UPDATE parent SET n = 5')
      expect(await db.sql('SELECT * FROM seen')).toEqual([])
      expect((await errorOf(db.install('parent'))).message).toMatch(/has tables that inherit from it/)
    })

    test('a child is mirrored, also from statements on its parent', async () => {
      const db = await at.installed(FAMILY, 'child')
      const rows = await mirror(db, { table: 'child' })
      await expectMirrored(rows, 'UPDATE parent SET n = 5; INSERT INTO child VALUES (2, 2)')
      expect(rows.informer.get('1')).toEqual({ id: 1, n: 5 })
    })
  })

  test('a key column that becomes wider breaks no writer', async () => {
    const wider: readonly (readonly [column: string, type: string, values: string])[] = [
      ['a', 'bigint', `5000000000, 1, 'x', 'x', 'x'`],
      ['b', 'int', `1, 70000, 'x', 'x', 'x'`],
      ['c', 'varchar(30)', `1, 1, 'longer', 'x', 'x'`],
      ['d', 'text', `1, 1, 'x', 'longer', 'x'`],
      ['e', 'char(30)', `1, 1, 'x', 'x', 'longer'`],
    ]
    const key = wider.map(([column]) => column)
    const db = await at.installed(
      `CREATE TABLE t (a int, b smallint, c varchar(3), d varchar(3), e char(3), PRIMARY KEY (${key.join()}))`,
    )
    const rows = await mirror(db, { table: 't' })
    for (const [column, type, values] of wider) {
      await db.sql(`ALTER TABLE t ALTER ${column} TYPE ${type}`)
      await db.sql(`INSERT INTO t VALUES (${values})`)
      await expectMirrorEqualsTable(rows, { key })
    }
  })

  test('a renamed key column breaks writers without listwatch.reinstall, and makes a mirror fail and say what to do', async () => {
    const db = await at.installed(ROWS)
    const rows = await mirror(db, { table: 't' })
    await db.sql('ALTER TABLE t RENAME COLUMN id TO number')
    expect(await errorOf(db.sql('INSERT INTO t VALUES (3)'))).toMatchObject({ code: '42703' })
    await waitUntil('the failure', () => rows.informer.status.state === 'failed')
    expect(rows.informer.status.lastError).toMatchObject(failure('NOT_FOUND', 'pg install'))
    expect(rows.informer.size).toBe(2)
  })

  test.concurrent('another name, type and primary key break no writer if listwatch.reinstall is in the same migration', async ({
    onTestFinished,
  }) => {
    const migrations: readonly (readonly [ddl: string, key: readonly string[], insert: string])[] = [
      ['ALTER TABLE t RENAME COLUMN id TO number', ['number'], 'INSERT INTO t VALUES (3, 30)'],
      ['ALTER TABLE t ALTER number TYPE text', ['number'], `INSERT INTO t VALUES ('four', 40)`],
      [
        'ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (n, number)',
        ['n', 'number'],
        `INSERT INTO t VALUES ('1', 30)`,
      ],
    ]
    const db = await at.installed(ROWS, { atEnd: onTestFinished })
    const rows = await mirror(db, { table: 't' })
    for (const [done, [ddl, key, insert]] of migrations.entries()) {
      await db.sql(`BEGIN; ${ddl}; SELECT listwatch.reinstall('t'); COMMIT`)
      await db.sql(insert)
      await expectMirrorEqualsTable(rows, { key })
      expect([rows.informer.size, rows.informer.status.relists], ddl).toEqual([3 + done, 1 + done])
      await settled(rows)
    }
  })

  test('the migration in docs/reference/postgres.md breaks no writer', async () => {
    const [migration] = blocksOf(['docs/reference/postgres.md']).filter(({ language }) => language === 'sql')
    const db = await at.installed(
      'CREATE TABLE orders (id int PRIMARY KEY, n int); INSERT INTO orders VALUES (1, 10)',
      'orders',
    )
    const orders = await mirror(db, { table: 'orders' })
    await db.sql(migration?.text ?? '')
    await db.sql('INSERT INTO orders (order_id, n) VALUES (2, 20)')
    await waitUntil('the row', () => orders.informer.has('2'))
    expect(orders.informer.get('2')).toEqual({ order_id: 2, n: 20 })
  })

  test('listwatch.reinstall keeps the options and the readers', async () => {
    const db = await at.prepared(
      (name) => `${ROWS}; CREATE UNIQUE INDEX ON t (n); ALTER TABLE t ALTER n SET NOT NULL; CREATE ROLE ${name}_reader`,
    )
    await db.install('t', { key: ['n'], level: 'row', wake: 'none', bulk: 7, grant: [`${db.name}_reader`] })
    const options = `SELECT options - 'generation' FROM listwatch.logs()`
    const before = await db.value(options)
    await db.sql(`SELECT listwatch.reinstall('t')`)
    expect(await db.value(options)).toEqual(before)
    expect(
      await db.value(`SELECT has_table_privilege('${db.name}_reader', (SELECT log FROM listwatch.logs()), 'SELECT')`),
    ).toBe(true)
  })

  test('listwatch.reinstall of a table without triggers says so', async () => {
    const db = await at.installed(`${ROWS}; CREATE TABLE other (id int PRIMARY KEY)`)
    expect((await errorOf(db.sql(`SELECT listwatch.reinstall('other')`))).message).toBe(
      'public.other has no triggers of listwatch',
    )
  })
})
