export interface Change {
  readonly name: string
  /** Makes the table `t` with a key `id`. */
  readonly setup: string
  /** Changes rows, or what they mean. */
  readonly ddl: string
  readonly since?: number
}

export const ROWS = `CREATE TABLE t (id int PRIMARY KEY, n int, note text); INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two')`
const PARTITIONED = `CREATE TABLE t (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
  CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (100); CREATE TABLE high PARTITION OF t FOR VALUES FROM (100) TO (200);
  INSERT INTO t VALUES (1, 10), (101, 20)`

/** Changes of a table that no trigger sees, each of which changes what rows are read. */
export const changes: readonly Change[] = [
  { name: 'a column with a default', setup: ROWS, ddl: `ALTER TABLE t ADD COLUMN flag text DEFAULT 'new'` },
  { name: 'a column that is dropped', setup: ROWS, ddl: 'ALTER TABLE t DROP COLUMN note' },
  { name: 'a column that is renamed', setup: ROWS, ddl: 'ALTER TABLE t RENAME COLUMN note TO remark' },
  { name: 'a type that is changed with USING', setup: ROWS, ddl: 'ALTER TABLE t ALTER COLUMN n TYPE text USING n * 2' },
  {
    name: 'a stored expression that is changed',
    setup: 'CREATE TABLE t (id int PRIMARY KEY, n int GENERATED ALWAYS AS (id * 2) STORED); INSERT INTO t VALUES (1)',
    ddl: 'ALTER TABLE t ALTER COLUMN n SET EXPRESSION AS (id * 3)',
    since: 17,
  },
  {
    name: 'a virtual expression that is changed',
    setup: 'CREATE TABLE t (id int PRIMARY KEY, n int GENERATED ALWAYS AS (id * 2) VIRTUAL); INSERT INTO t VALUES (1)',
    ddl: 'ALTER TABLE t ALTER COLUMN n SET EXPRESSION AS (id * 3)',
    since: 18,
  },
  {
    name: 'a value of an enum that is renamed',
    setup: `CREATE TYPE mood AS ENUM ('sad', 'fine'); CREATE TABLE t (id int PRIMARY KEY, m mood); INSERT INTO t VALUES (1, 'sad')`,
    ddl: `ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`,
  },
  {
    name: 'the same inside an array of a domain',
    setup: `CREATE TYPE mood AS ENUM ('sad', 'fine'); CREATE DOMAIN moods AS mood[]; CREATE TABLE t (id int PRIMARY KEY, m moods);
      INSERT INTO t VALUES (1, '{sad,fine}')`,
    ddl: `ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`,
  },
  {
    name: 'the same inside a multirange',
    setup: `CREATE TYPE mood AS ENUM ('sad', 'fine'); CREATE TYPE moods AS RANGE (subtype = mood, multirange_type_name = manymoods);
      CREATE TABLE t (id int PRIMARY KEY, m manymoods); INSERT INTO t VALUES (1, '{[sad,fine]}')`,
    ddl: `ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`,
  },
  {
    name: 'an attribute that a composite type gets',
    setup: `CREATE TYPE point2 AS (x int, y int); CREATE TABLE t (id int PRIMARY KEY, p point2); INSERT INTO t VALUES (1, '(1,2)')`,
    ddl: 'ALTER TYPE point2 ADD ATTRIBUTE z int CASCADE',
  },
  {
    name: 'the same two types deep',
    setup: `CREATE TYPE point2 AS (x int, y int); CREATE TYPE line2 AS (a point2, b point2[]); CREATE TABLE t (id int PRIMARY KEY, l line2);
      INSERT INTO t VALUES (1, ROW(ROW(1,2), ARRAY[ROW(3,4)::point2]))`,
    ddl: 'ALTER TYPE point2 ADD ATTRIBUTE z int CASCADE',
  },
  {
    name: 'triggers switched off, a write, and on again',
    setup: ROWS,
    ddl: `BEGIN; ALTER TABLE t DISABLE TRIGGER ALL; UPDATE t SET n = 99; ALTER TABLE t ENABLE ALWAYS TRIGGER zz_listwatch_i,
      ENABLE ALWAYS TRIGGER zz_listwatch_u, ENABLE ALWAYS TRIGGER zz_listwatch_d, ENABLE ALWAYS TRIGGER zz_listwatch_t; COMMIT`,
  },
  {
    name: 'a partition that is attached',
    setup: PARTITIONED,
    ddl: 'CREATE TABLE more AS SELECT 201 AS id, 7 AS n; ALTER TABLE more ALTER id SET NOT NULL; ALTER TABLE t ATTACH PARTITION more FOR VALUES FROM (200) TO (300)',
  },
  { name: 'a partition that is detached', setup: PARTITIONED, ddl: 'ALTER TABLE t DETACH PARTITION high' },
  { name: 'a partition that is dropped', setup: PARTITIONED, ddl: 'DROP TABLE high' },
  { name: 'a partition that is truncated', setup: PARTITIONED, ddl: 'TRUNCATE high' },
]
