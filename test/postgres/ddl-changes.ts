export interface Change {
  readonly name: string
  /** Changes rows of the table `t`, or what they mean. */
  readonly ddl: string
  readonly since?: number
}

/** A table `t` with a key `id`, and changes of it that are made one after the other. */
interface Changes {
  /** For a server of this version. */
  readonly setup: (major: number) => string
  readonly each: readonly Change[]
}

export const ROWS = `CREATE TABLE t (id int PRIMARY KEY, n int, note text); INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two')`
const RENAMED = `RENAME VALUE 'sad' TO 'blue'`
const MOODS = `CREATE TYPE mood1 AS ENUM ('sad', 'fine'); CREATE TYPE mood2 AS ENUM ('sad', 'fine'); CREATE TYPE mood3 AS ENUM ('sad', 'fine');
  CREATE DOMAIN moods AS mood2[]; CREATE TYPE span AS RANGE (subtype = mood3, multirange_type_name = spans)`
const POINTS = `CREATE TYPE point1 AS (x int, y int); CREATE TYPE point2 AS (x int, y int); CREATE TYPE line2 AS (a point2, b point2[])`

/** Changes of a table that no trigger sees, each of which changes what rows are read. */
export const changes: Readonly<Record<string, Changes>> = {
  'columns and triggers': {
    setup: (major) => {
      const generated = 'int GENERATED ALWAYS AS (id * 2)'
      const stored = major < 17 ? '' : `; ALTER TABLE t ADD COLUMN stored ${generated} STORED`
      return `${ROWS}${stored}${major < 18 ? '' : `; ALTER TABLE t ADD COLUMN virtual ${generated} VIRTUAL`}`
    },
    each: [
      { name: 'a column with a default', ddl: `ALTER TABLE t ADD COLUMN flag text DEFAULT 'new'` },
      { name: 'a column that is renamed', ddl: 'ALTER TABLE t RENAME COLUMN note TO remark' },
      { name: 'a column that is dropped', ddl: 'ALTER TABLE t DROP COLUMN remark' },
      { name: 'a type that is changed with USING', ddl: 'ALTER TABLE t ALTER COLUMN n TYPE text USING n * 2' },
      {
        name: 'a stored expression that is changed',
        ddl: 'ALTER TABLE t ALTER COLUMN stored SET EXPRESSION AS (id * 3)',
        since: 17,
      },
      {
        name: 'a virtual expression that is changed',
        ddl: 'ALTER TABLE t ALTER COLUMN virtual SET EXPRESSION AS (id * 3)',
        since: 18,
      },
      {
        name: 'triggers switched off, a write, and on again',
        ddl: `BEGIN; ALTER TABLE t DISABLE TRIGGER ALL; UPDATE t SET n = 99; ALTER TABLE t ENABLE ALWAYS TRIGGER zz_listwatch_i,
          ENABLE ALWAYS TRIGGER zz_listwatch_u, ENABLE ALWAYS TRIGGER zz_listwatch_d, ENABLE ALWAYS TRIGGER zz_listwatch_t; COMMIT`,
      },
    ],
  },
  'types of columns': {
    setup:
      () => `${MOODS}; ${POINTS}; CREATE TABLE t (id int PRIMARY KEY, m mood1, ms moods, s spans, p point1, l line2);
      INSERT INTO t VALUES (1, 'sad', '{sad,fine}', '{[sad,fine]}', '(1,2)', ROW(ROW(1,2), ARRAY[ROW(3,4)::point2]))`,
    each: [
      { name: 'a value of an enum that is renamed', ddl: `ALTER TYPE mood1 ${RENAMED}` },
      { name: 'the same inside an array of a domain', ddl: `ALTER TYPE mood2 ${RENAMED}` },
      { name: 'the same inside a multirange', ddl: `ALTER TYPE mood3 ${RENAMED}` },
      { name: 'an attribute that a composite type gets', ddl: 'ALTER TYPE point1 ADD ATTRIBUTE z int CASCADE' },
      { name: 'the same two types deep', ddl: 'ALTER TYPE point2 ADD ATTRIBUTE z int CASCADE' },
    ],
  },
  partitions: {
    setup: () => `CREATE TABLE t (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
      CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (100); CREATE TABLE high PARTITION OF t FOR VALUES FROM (100) TO (200);
      INSERT INTO t VALUES (1, 10), (101, 20)`,
    each: [
      {
        name: 'a partition that is attached',
        ddl: 'CREATE TABLE more AS SELECT 201 AS id, 7 AS n; ALTER TABLE more ALTER id SET NOT NULL; ALTER TABLE t ATTACH PARTITION more FOR VALUES FROM (200) TO (300)',
      },
      { name: 'a partition that is detached', ddl: 'ALTER TABLE t DETACH PARTITION more' },
      { name: 'a partition that is truncated', ddl: 'TRUNCATE high' },
      { name: 'a partition that is dropped', ddl: 'DROP TABLE low' },
    ],
  },
}
