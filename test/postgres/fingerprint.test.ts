import { expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Change, changes, ROWS } from './ddl-changes.js'
import { type Database, expectMirrored, mirror, useServer } from './support.js'

const PARTITIONED = `CREATE TABLE t (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
  CREATE TABLE mid PARTITION OF t FOR VALUES FROM (0) TO (200) PARTITION BY RANGE (id);
  CREATE TABLE low PARTITION OF mid FOR VALUES FROM (0) TO (100); CREATE TABLE high PARTITION OF mid FOR VALUES FROM (100) TO (200)`
const SECURED = `${ROWS}; CREATE POLICY p ON t USING (n = 10); ALTER TABLE t ENABLE ROW LEVEL SECURITY`
const RANGES = `CREATE TYPE pair AS (x int, y int); CREATE TYPE pairs AS RANGE (subtype = pair); CREATE TABLE t (id int PRIMARY KEY, r pairs)`

/** All else that the shape sees: changes of the table of `ROWS`, unless they have another set-up. */
const more: Readonly<Record<string, string | (Omit<Change, 'name'> & { readonly setup?: string })>> = {
  'a column that is added and dropped': 'ALTER TABLE t ADD COLUMN x int; ALTER TABLE t DROP COLUMN x',
  'a dropped column': 'ALTER TABLE t DROP COLUMN n',
  'a longer type': {
    setup: 'CREATE TABLE t (id int PRIMARY KEY, n varchar(3))',
    ddl: 'ALTER TABLE t ALTER n TYPE varchar(9)',
  },
  'a rewrite: VACUUM FULL': 'VACUUM FULL t',
  'a rewrite: CLUSTER': 'CLUSTER t USING t_pkey',
  'TRUNCATE of a partition of a partition': { setup: PARTITIONED, ddl: 'TRUNCATE low' },
  'VACUUM FULL of a partition of a partition': { setup: PARTITIONED, ddl: 'VACUUM FULL low' },
  'a partition of a partition': { setup: PARTITIONED, ddl: 'ALTER TABLE mid DETACH PARTITION low' },
  'a partition that is detached concurrently': {
    setup: PARTITIONED,
    ddl: 'ALTER TABLE mid DETACH PARTITION low CONCURRENTLY',
  },
  'a partition that is made': {
    setup: PARTITIONED,
    ddl: 'CREATE TABLE top PARTITION OF t FOR VALUES FROM (200) TO (300)',
  },
  'a disabled trigger of a partition': { setup: PARTITIONED, ddl: 'ALTER TABLE low DISABLE TRIGGER ALL' },
  'a disabled trigger': 'ALTER TABLE t DISABLE TRIGGER zz_listwatch_u',
  'demoted triggers': 'ALTER TABLE t ENABLE TRIGGER ALL',
  'a dropped trigger': 'DROP TRIGGER zz_listwatch_u ON t',
  'triggers that are installed again': `SELECT listwatch.install('t')`,
  'row security that is enabled': 'ALTER TABLE t ENABLE ROW LEVEL SECURITY',
  'row security that is forced': { setup: SECURED, ddl: 'ALTER TABLE t FORCE ROW LEVEL SECURITY' },
  'a policy that is made': { setup: SECURED, ddl: 'CREATE POLICY q ON t USING (n = 20)' },
  'a policy that is changed': { setup: SECURED, ddl: 'ALTER POLICY p ON t USING (n = 20)' },
  'a policy that is dropped': { setup: SECURED, ddl: 'DROP POLICY p ON t' },
  'another owner': 'ALTER TABLE t OWNER TO pg_monitor',
  'a child': 'CREATE TABLE child () INHERITS (t)',
  'a parent': { setup: `${ROWS}; CREATE TABLE parent (n int)`, ddl: 'ALTER TABLE t INHERIT parent' },
  'a parent without columns': { setup: `${ROWS}; CREATE TABLE parent ()`, ddl: 'ALTER TABLE t INHERIT parent' },
  'a unique index': 'CREATE UNIQUE INDEX ON t (n)',
  'a unique index that is made concurrently': 'CREATE UNIQUE INDEX CONCURRENTLY ON t (n)',
  'a dropped key': 'ALTER TABLE t DROP CONSTRAINT t_pkey',
  'a column of a unique index that may be NULL': {
    setup: `${ROWS}; CREATE UNIQUE INDEX ON t (n); ALTER TABLE t ALTER n SET NOT NULL`,
    ddl: 'ALTER TABLE t ALTER n DROP NOT NULL',
  },
  'NOT NULL that becomes NOT VALID': {
    setup: `${ROWS}; CREATE UNIQUE INDEX ON t (n); ALTER TABLE t ALTER n SET NOT NULL`,
    ddl: 'ALTER TABLE t ALTER n DROP NOT NULL, ADD CONSTRAINT later NOT NULL n NOT VALID',
    since: 18,
  },
  'NOT NULL that is validated': {
    setup: `${ROWS}; CREATE UNIQUE INDEX ON t (n); ALTER TABLE t ADD CONSTRAINT later NOT NULL n NOT VALID`,
    ddl: 'ALTER TABLE t VALIDATE CONSTRAINT later',
    since: 18,
  },
  'a value that an enum gets': {
    setup: `CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (id int PRIMARY KEY, m mood)`,
    ddl: `ALTER TYPE mood ADD VALUE 'fine'`,
  },
  'a subtype of a range': { setup: RANGES, ddl: 'ALTER TYPE pair RENAME ATTRIBUTE x TO z' },
  'a type of a column that is dropped': {
    setup: `CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (id int PRIMARY KEY, m mood)`,
    ddl: 'DROP TYPE mood CASCADE',
  },
  'a subscription': {
    setup: `${ROWS}; CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false)`,
    ddl: `INSERT INTO pg_subscription_rel SELECT oid, 't'::regclass, 'r' FROM pg_subscription`,
  },
}

describePostgres('the fingerprint of the definition of a table', (postgres) => {
  const at = useServer(postgres)
  const major = Number.parseInt(postgres.version, 10)

  /** Runs the SQL, after which the shape and the fingerprint of the table `t` have to be others. */
  async function expectMoved(db: Database, { name, ddl }: Omit<Change, 'since'>): Promise<void> {
    const rel = String(await db.value(`SELECT 't'::regclass::oid::text`))
    const look = async (): Promise<unknown[]> => {
      const [row] = await db.sql(`SELECT listwatch.shape(${rel}), listwatch.fingerprint(${rel})::text`)
      return [row?.['shape'], row?.['fingerprint']]
    }
    const before = await look()
    expect(await look(), `${name}: at rest`).toEqual(before)
    await db.sql(ddl)
    const after = await look()
    expect(after[0], `${name}: the shape`).not.toBe(before[0])
    expect(after[1], `${name}: the fingerprint`).not.toBe(before[1])
  }

  test.each(Object.entries(changes))('[P14] moves when the shape moves: %s', async (_of, { setup, each }) => {
    const db = await at.installed(setup(major))
    for (const change of each) if ((change.since ?? 0) <= major) await expectMoved(db, change)
  })

  test('[P14] moves when the shape moves in another way', async () => {
    const db = await at.installed(ROWS)
    for (const [n, [name, each]] of Object.entries(more).entries()) {
      const { setup = ROWS, ddl, since = 0 } = typeof each === 'string' ? { ddl: each } : each
      if (since > major) continue
      await db.sql(`CREATE SCHEMA of${n}; SET search_path = of${n}`)
      await db.sql(setup)
      await db.sql(`SELECT listwatch.install('t')`)
      await expectMoved(db, { name, ddl })
    }
    await db.sql('ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s')
  })

  test('does not move when rows, statistics or other tables change', async () => {
    const db = await at.installed(`${ROWS}; CREATE TABLE other (id int PRIMARY KEY)`)
    const fingerprint = `SELECT listwatch.fingerprint('t'::regclass)::text`
    const before = await db.value(fingerprint)
    await db.sql(`UPDATE t SET n = 5; INSERT INTO t SELECT g FROM generate_series(10, 9000) g;
      DELETE FROM t WHERE id > 50`)
    await db.sql('VACUUM ANALYZE t')
    await db.sql('VACUUM FREEZE pg_class')
    await db.sql('ALTER TABLE other ADD COLUMN n int; CREATE INDEX ON other (n); SELECT listwatch.trim()')
    expect(await db.value(fingerprint)).toBe(before)
  })

  test('[P14] that moved without the shape, as by GRANT, costs one look at the shape and no relist', async () => {
    const db = await at.installed(ROWS)
    const rows = await mirror(db, { table: 't' })
    const fingerprint = `SELECT listwatch.fingerprint('t'::regclass)::text`
    const before = await db.value(fingerprint)
    await db.sql('GRANT SELECT ON t TO PUBLIC')
    expect(await db.value(fingerprint)).not.toBe(before)
    await expectMirrored(rows, 'UPDATE t SET n = 7')
    expect(rows.informer.status.relists).toBe(0)
  })

  test('lets a mirror look without touching the table while nothing changes', async () => {
    const db = await at.installed(`${ROWS}; CREATE TABLE other (id int)`)
    const rows = await mirror(db, { table: 't', pollIntervalMs: 20, timeoutMs: 60_000 })
    const holder = await db.connect()
    await holder.query('BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE')
    // A look at the table would wait for the lock for half a minute.
    for (let n = 0; n < 5; n++) {
      const { version } = rows.informer
      await db.sql('INSERT INTO other VALUES (1)')
      await waitUntil('the version to move', () => rows.informer.version !== version, 5_000)
    }
    await holder.query('ROLLBACK')
  })
})
