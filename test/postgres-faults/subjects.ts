import type { ChangeLogOptions } from '../../adapters/postgres/index.js'
import type { SeededRandom } from '../../testing/seeded-random.js'

export type Sql = { readonly text: string; readonly values?: readonly unknown[] }

/** A table that is written to at random: what it is, and how each kind of write is said. */
export interface Subject {
  readonly table: string
  readonly keyColumns: readonly string[]
  readonly create: string
  readonly install: Omit<ChangeLogOptions, 'table'>
  /** Whether its transactions may be prepared: those that notify may not. */
  readonly canPrepare: boolean
  /** The kinds of writes, each as often as it stands here. */
  readonly writes: readonly ((random: SeededRandom) => Sql)[]
  /** Changes whose keys are not in the log, by kind. Each can be run repeatedly. */
  readonly upsets: ReadonlyMap<string, readonly Upset[]>
}

/** SQL of one transaction; or of two, between which mirrors refuse the table. */
export type Upset = string | { readonly demote: string; readonly mend: string }

/** The reader to whom row security applies at times. */
export function restrictedRole(table: string): string {
  return `${table}_reader`
}

/** Out of line, even if it could be compressed. */
const BIG = `repeat('t', 3000)`
const COLUMNS = `v int NOT NULL, s text, j jsonb`
const MAX = 1_000_000

/** Key of two numbers, triggers on statements, transactions that are prepared, no notifications. */
export const composite: Subject = {
  table: 'composite',
  keyColumns: ['a', 'id'],
  create: `CREATE TABLE composite (a int NOT NULL, id bigint NOT NULL, ${COLUMNS}, PRIMARY KEY (a, id));
    ALTER TABLE composite ALTER COLUMN s SET STORAGE EXTERNAL;
    INSERT INTO composite SELECT g % 3, g, g, 'x', NULL FROM generate_series(1, 150) g; ${securityOf('composite')}`,
  install: { level: 'statement', wake: 'none', bulk: 70, grant: [restrictedRole('composite')] },
  canPrepare: true,
  writes: [
    (random) => upsertComposite(random, `'i'`),
    (random) => upsertComposite(random, BIG),
    (random) => ({
      text: `UPDATE composite SET v = v + 1 WHERE id BETWEEN $1 AND $1 + 3`,
      values: [1 + random.below(150)],
    }),
    (random) => ({
      text: `UPDATE composite SET j = jsonb_build_object('n', $2::int, 'of', v) WHERE id = $1`,
      values: [1 + random.below(150), random.below(9)],
    }),
    (random) => ({
      text: `DELETE FROM composite WHERE a = $1 AND id = $2`,
      values: [random.below(3), 1 + random.below(150)],
    }),
    (random) => ({ text: `DELETE FROM composite WHERE id BETWEEN $1 AND $1 + 2`, values: [1 + random.below(150)] }),
    (random) => ({
      text: `UPDATE composite SET a = (a + 1) % 3, id = id + $2 WHERE id = $1`,
      values: [1 + random.below(150), random.below(3)],
    }),
    (random) => ({
      text: `INSERT INTO composite (a, id, v, s) SELECT $1, g, g, ${BIG} FROM generate_series($2::int, $2::int + 4) g ON CONFLICT DO NOTHING`,
      values: [random.below(3), 1 + random.below(150)],
    }),
    (random) => ({
      text: `WITH gone AS (DELETE FROM composite WHERE id = $1 RETURNING *)
        INSERT INTO composite (a, id, v, s, j) SELECT a, id + 150, v, s, j FROM gone ON CONFLICT (a, id) DO UPDATE SET v = excluded.v + 1`,
      values: [1 + random.below(150)],
    }),
  ],
  upsets: upsetsOf('composite', [
    [
      'truncated',
      [
        `TRUNCATE composite`,
        `TRUNCATE composite; INSERT INTO composite SELECT g % 3, g, g + 7, 'again', NULL FROM generate_series(1, 120) g`,
      ],
    ],
    [
      'in bulk',
      [
        `INSERT INTO composite (a, id, v) SELECT g % 3, g, g FROM generate_series(1, 150) g ON CONFLICT (a, id) DO UPDATE SET v = composite.v + 1`,
      ],
    ],
  ]),
}

/** Key of text, partitions and so triggers on rows, writers that notify; statements on the partitions themselves too. */
export const partitioned: Subject = {
  table: 'partitioned',
  keyColumns: ['name'],
  create: `CREATE TABLE partitioned (name text PRIMARY KEY, ${COLUMNS}) PARTITION BY HASH (name);
    CREATE TABLE partitioned_0 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 0);
    CREATE TABLE partitioned_1 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 1);
    CREATE TABLE partitioned_2 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 2);
    INSERT INTO partitioned SELECT 'é/' || g || E'\\\\', g, 'x', NULL FROM generate_series(1, 100) g; ${securityOf('partitioned')}`,
  install: { wake: 'bucket', grant: [restrictedRole('partitioned')] },
  canPrepare: false,
  writes: [
    (random) => upsertNamed(random, `'i'`),
    (random) => upsertNamed(random, BIG),
    (random) => ({ text: `UPDATE partitioned SET v = v + 1 WHERE name LIKE $1`, values: [`%${random.below(20)}%`] }),
    (random) => ({
      text: `UPDATE partitioned_${random.below(3)} SET v = v + 2, s = NULL WHERE v % 40 = $1`,
      values: [random.below(40)],
    }),
    (random) => ({ text: `DELETE FROM partitioned WHERE name = $1`, values: [nameOf(random)] }),
    (random) => ({ text: `DELETE FROM partitioned_${random.below(3)} WHERE v % 50 = $1`, values: [random.below(50)] }),
    (random) => ({
      text: `UPDATE partitioned SET name = $2 WHERE name = $1`,
      values: [nameOf(random), nameOf(random)],
    }),
    (random) => ({
      text: `INSERT INTO partitioned (name, v, s) SELECT 'é/' || g || E'\\\\', g, ${BIG} FROM generate_series($1::int, $1::int + 4) g ON CONFLICT DO NOTHING`,
      values: [random.below(150)],
    }),
  ],
  upsets: upsetsOf('partitioned', [
    [
      'truncated',
      [
        `TRUNCATE partitioned`,
        `TRUNCATE partitioned_1`,
        `TRUNCATE partitioned; INSERT INTO partitioned SELECT 'é/' || g || E'\\\\', g, 'again', NULL FROM generate_series(1, 80) g`,
      ],
    ],
  ]),
}

function upsertComposite(random: SeededRandom, s: string): Sql {
  return {
    text: `INSERT INTO composite (a, id, v, s) VALUES ($1, $2, $3, ${s}) ON CONFLICT (a, id) DO UPDATE SET v = excluded.v, s = excluded.s`,
    values: [random.below(3), 1 + random.below(150), random.below(MAX)],
  }
}

function upsertNamed(random: SeededRandom, s: string): Sql {
  return {
    text: `INSERT INTO partitioned (name, v, s) VALUES ($1, $2, ${s}) ON CONFLICT (name) DO UPDATE SET v = excluded.v, s = excluded.s`,
    values: [nameOf(random), random.below(MAX)],
  }
}

/** Names with all that a format could trip over. */
function nameOf(random: SeededRandom): string {
  const n = random.below(200)
  const odd = ['', '/', '\t', '\\N', '\n', '"', "'", '\\', '\u{1f600}', '.', 'NULL', '{}']
  return odd[n] ?? `é/${n}\\`
}

function upsetsOf(table: string, own: readonly (readonly [kind: string, upsets: readonly Upset[]])[]) {
  const kinds = { reshaped: reshapesOf(table), 'access changed': accessChangesOf(table), demoted: demotionsOf(table) }
  return new Map<string, readonly Upset[]>([...Object.entries(kinds), ...own])
}

function reshapesOf(table: string): readonly string[] {
  return [
    `ALTER TABLE ${table} ALTER COLUMN v TYPE int USING v + 1`,
    `ALTER TABLE ${table} DROP COLUMN IF EXISTS extra; ALTER TABLE ${table} ADD COLUMN extra int DEFAULT 7`,
    `ALTER TABLE ${table} ALTER COLUMN s TYPE text USING upper(s)`,
    `ALTER TABLE ${table} ALTER COLUMN v TYPE bigint USING v % 100000`,
  ]
}

/** A policy, and a role to which it applies unless the role bypasses row security or is a member of the owner. */
function securityOf(table: string): string {
  const reader = restrictedRole(table)
  return `CREATE ROLE ${reader} LOGIN; CREATE ROLE ${table}_team; CREATE ROLE ${table}_group;
    ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY most ON ${table} USING (v % 5 <> 1);
    CREATE POLICY more ON ${table} TO ${table}_group USING (v % 5 = 1 AND v % 2 = 0)`
}

function accessChangesOf(table: string): readonly string[] {
  const reader = restrictedRole(table)
  return [
    `ALTER ROLE ${reader} BYPASSRLS`,
    `ALTER ROLE ${reader} NOBYPASSRLS`,
    `ALTER ROLE ${reader} NOBYPASSRLS; UPDATE ${table} SET v = v + 1 WHERE v % 7 = 3`,
    `GRANT ${table}_team TO ${reader}; ALTER TABLE ${table} OWNER TO ${table}_team`,
    `REVOKE ${table}_team FROM ${reader}`,
    `ALTER TABLE ${table} OWNER TO postgres`,
    `GRANT ${table}_group TO ${reader}`,
    `REVOKE ${table}_group FROM ${reader}`,
    `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`,
    `ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`,
  ]
}

/** As `pg_restore --disable-triggers` leaves them, and a write that they do not see. */
function demotionsOf(table: string): readonly Upset[] {
  const silent = `SET LOCAL session_replication_role = replica; UPDATE ${table} SET v = v + 1 WHERE v % 3 = 0`
  const mend = `SELECT listwatch.reinstall('${table}')`
  return [
    { demote: `ALTER TABLE ${table} DISABLE TRIGGER ALL; ALTER TABLE ${table} ENABLE TRIGGER ALL; ${silent}`, mend },
    { demote: `ALTER TABLE ${table} DISABLE TRIGGER USER; UPDATE ${table} SET v = v + 1 WHERE v % 3 = 1`, mend },
  ]
}
