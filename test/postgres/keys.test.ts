import { describe, expect, test } from 'vitest'
import { type ChangeLogOptions, changeLogStatus } from '../../adapters/postgres/index.js'
import { joinKey } from '../../src/util/join-key.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { errorOf, expectMirrorEqualsTable, expectMirrored, mirror, useServer } from './support.js'

interface KeyCase {
  /** Makes the table `t`; values are SQL. */
  readonly setup: string
  /** The last one is inserted while a mirror follows. */
  readonly values: readonly string[]
  readonly key?: readonly string[]
  readonly reads?: readonly string[]
}

/** Types whose keys take the same way: each with values of two rows, and the text of the first. */
const types: readonly (readonly [type: string, first: string, second: string, text: string])[] = [
  ['smallint', '1', '2', '1'],
  ['int', '-1', '2147483647', '-1'],
  ['varchar(5)', `'abc'`, `'ab   '`, 'abc'],
  ['char(5)', `'abc'`, `''`, 'abc  '],
  ['uuid', `'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'`, 'gen_random_uuid()', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  ['date', `'0044-03-15 BC'`, `'infinity'`, '0044-03-15 BC'],
  ['timestamp', `'2026-02-28 12:00:00.000001'`, `'infinity'`, '2026-02-28 12:00:00.000001'],
  ['timestamptz', `'2026-02-28 12:00:00+05'`, `'-infinity'`, '2026-02-28 07:00:00+00'],
  ['boolean', 'true', 'false', 't'],
  ['bytea', `'\\x00ff'`, `''`, '\\x00ff'],
  ['inet', `'10.0.0.1'`, `'10.0.0.1/8'`, '10.0.0.1'],
  ['cidr', `'10.0.0.0/8'`, `'::/0'`, '10.0.0.0/8'],
  ['macaddr', `'08:00:2b:01:02:03'`, `'08:00:2b:01:02:05'`, '08:00:2b:01:02:03'],
  ['oid', '4294967295', '2', '4294967295'],
  ['colour', `'light "blue"'`, `'a/b'`, 'light "blue"'],
  ['sku', `'a'`, `'b'`, 'a'],
  ['text COLLATE "C"', `'a'`, `'ä'`, 'a'],
]

const cases: Readonly<Record<string, KeyCase>> = {
  'several columns, with slashes and backslashes': {
    setup: 'CREATE TABLE t (id text, part text, n int, PRIMARY KEY (part, id))',
    values: [`'a/b', 'c'`, `'a', 'b/c'`, `'\\', '/'`],
    key: ['part', 'id'],
    reads: ['c/a\\/b'],
  },
  'several columns of several types, in the order of the key': {
    setup: `CREATE TABLE t (id uuid, day date, n int, shop int, PRIMARY KEY (shop, day, id))`,
    values: [
      `'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-01-01', 1, 7`,
      `'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-01-02', 1, 7`,
      `'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-01-01', 1, 8`,
    ],
    key: ['shop', 'day', 'id'],
    reads: ['7/2026-01-01/a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  },
  'a name that must be quoted': {
    setup: `CREATE TABLE t ("the ""id"", n.x $t$ 😀" int PRIMARY KEY, n int)`,
    values: ['1', '2', '3'],
    key: ['the "id", n.x $t$ 😀'],
  },
  'every type': {
    setup: `CREATE TYPE colour AS ENUM ('light "blue"', 'a/b');
      CREATE DOMAIN code AS varchar(10); CREATE DOMAIN sku AS code CHECK (VALUE <> 'no');
      CREATE TABLE t (${types.map(([type], at) => `k${at} ${type}`).join()}, n int, PRIMARY KEY (${types.map((_, at) => `k${at}`).join()}))`,
    values: [types.map(([, first]) => first).join(), types.map(([, , second]) => second).join()],
    key: types.map((_, at) => `k${at}`),
    reads: [joinKey(types.map(([, , , text]) => text))],
  },
  bigint: {
    setup: 'CREATE TABLE t (id bigint PRIMARY KEY, n int)',
    values: ['9007199254740993', '-9223372036854775808', '3'],
    reads: ['9007199254740993'],
  },
  'text with slashes, control characters, and what COPY writes for NULL': {
    setup: 'CREATE TABLE t (id text PRIMARY KEY, n int)',
    values: [`'a/b'`, `'\\N'`, `''`, `'a\\b'`, `'NULL'`, `'t'`, `'ü 😀'`, `E'tab\\tnew\\nline'`],
    reads: ['a/b', '\\N', 't'],
  },
}

describePostgres('a key', (postgres) => {
  const at = useServer(postgres)

  test.each(['statement', 'row'] as const)('each kind, by triggers for each %s, reads the same', async (level) => {
    const db = await at.database()
    // The log is the same at both levels; what differs is how the triggers take the key out of a row.
    const written = Object.entries(cases).filter(([name]) => level === 'statement' || /column|quoted|every/.test(name))
    for (const [name, { setup, values, key = ['id'], reads = [] }] of written) {
      await db.sql(setup)
      for (const value of values.slice(0, -1)) await db.sql(`INSERT INTO t VALUES (${value})`)
      await db.install('t', { level })
      const rows = await mirror(db, { table: 't' })
      expect([...rows.informer.keys()], name).toEqual(expect.arrayContaining([...reads]))
      await db.sql(`INSERT INTO t VALUES (${values.at(-1)})`)
      await db.sql('UPDATE t SET n = 42')
      await expectMirrorEqualsTable(rows, { key })
      await db.sql('DELETE FROM t')
      await expectMirrorEqualsTable(rows, { key })
      expect([rows.informer.size, rows.informer.status.relists], name).toEqual([0, 0])
      await rows.informer.stop()
      await db.sql('DROP TABLE t')
    }
  })

  test('source.key returns the key of a row', async () => {
    const db = await at.database()
    await db.sql(`CREATE TABLE t (shop text, id bigint, PRIMARY KEY (shop, id));
      INSERT INTO t VALUES ('a/b', 12345678901234567)`)
    await db.install('t')
    const rows = await mirror(db, { table: 't' })
    expect(rows.informer.has(rows.source.key('a/b', 12345678901234567n))).toBe(true)
  })

  describe('a unique index as key', () => {
    test('works without a primary key', async () => {
      const db = await at.database()
      await db.sql(`CREATE TABLE t (a int NOT NULL, b text NOT NULL, n int);
        CREATE UNIQUE INDEX ON t (b, a) INCLUDE (n); INSERT INTO t VALUES (1, 'x')`)
      await db.install('t', { key: ['b', 'a'] })
      const rows = await mirror(db, { table: 't' })
      await db.sql(`INSERT INTO t VALUES (1, 'y'), (2, 'x'); DELETE FROM t WHERE a = 1 AND b = 'x'`)
      await expectMirrorEqualsTable(rows, { key: ['b', 'a'] })
    })

    const refused: readonly (readonly [string, string, RegExp, ChangeLogOptions['key']?])[] = [
      [
        'a table without a primary key',
        'CREATE TABLE t (id int NOT NULL UNIQUE)',
        /^public.t has no primary key \(Add one/,
      ],
      ['a column that may be NULL', 'CREATE TABLE t (id int UNIQUE)', /^column id of public.t may be NULL/, ['id']],
      [
        'columns without an index',
        'CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)',
        /^public.t has no unique index on exactly \(n\)/,
        ['n'],
      ],
      [
        'columns in another order',
        'CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))',
        /^public.t has no unique index on exactly \(b, a\)/,
        ['b', 'a'],
      ],
      [
        'a partial index',
        'CREATE TABLE t (id int NOT NULL, x bool); CREATE UNIQUE INDEX ON t (id) WHERE x',
        /no unique index on exactly/,
        ['id'],
      ],
      [
        'an index of an expression',
        'CREATE TABLE t (id text NOT NULL); CREATE UNIQUE INDEX ON t (lower(id))',
        /no unique index on exactly/,
        ['id'],
      ],
      [
        'a numeric key',
        'CREATE TABLE t (id numeric PRIMARY KEY)',
        /^column id of public.t has type numeric: keys that are equal may have two texts \(Integers/,
      ],
      ['a float key', 'CREATE TABLE t (id float8 PRIMARY KEY)', /^column id of public.t has type double precision/],
      ['a jsonb key', 'CREATE TABLE t (id jsonb PRIMARY KEY)', /^column id of public.t has type jsonb/],
      [
        'a domain over numeric',
        'CREATE DOMAIN money2 AS numeric(9,2); CREATE TABLE t (id money2 PRIMARY KEY)',
        /^column id of public.t has type numeric/,
      ],
      [
        'a char key without a length',
        'CREATE TABLE t (id bpchar PRIMARY KEY)',
        /^column id of public.t has type bpchar:/,
      ],
      [
        'a domain over char without a length',
        'CREATE DOMAIN padded AS bpchar; CREATE TABLE t (id padded PRIMARY KEY)',
        /^column id of public.t has type bpchar:/,
      ],
      [
        'an index of another collation',
        'CREATE TABLE t (id text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON t (id COLLATE "POSIX")',
        /no unique index on exactly/,
        ['id'],
      ],
      ['a range key', 'CREATE TABLE t (id int4range PRIMARY KEY)', /^column id of public.t has type int4range/],
      ['an array key', 'CREATE TABLE t (id int[] PRIMARY KEY)', /^column id of public.t has type integer\[\]/],
      [
        'a citext key',
        'CREATE EXTENSION citext; CREATE TABLE t (id citext PRIMARY KEY)',
        /^column id of public.t has type public.citext/,
      ],
    ]

    test('[P31] that two rows may share is refused, with the reason', async () => {
      const db = await at.database()
      for (const [name, setup, reason, key] of refused) {
        await db.sql(setup)
        const error = await errorOf(db.install('t', key === undefined ? {} : { key }))
        expect(error.message, name).toMatch(reason)
        await db.sql('DROP TABLE t')
      }
    })

    test('a key whose collation takes different texts for equal is refused', async ({ skip }) => {
      const db = await at.database()
      try {
        await db.sql(`CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
      } catch {
        skip('this Postgres was built without ICU')
      }
      await db.sql('CREATE TABLE t (id text COLLATE loose PRIMARY KEY)')
      expect((await errorOf(db.install('t'))).message).toMatch(
        /^column id of public.t has a nondeterministic collation/,
      )
    })
  })

  describe.skipIf(Number.parseInt(postgres.version, 10) < 18)('a key column whose NOT NULL is NOT VALID', () => {
    const NULLS = `CREATE TABLE t (id int PRIMARY KEY, code text UNIQUE, n int); INSERT INTO t VALUES (1, NULL, 1), (2, NULL, 2);
      ALTER TABLE t ADD CONSTRAINT code_given NOT NULL code NOT VALID`

    test('is refused, and VALIDATE CONSTRAINT fixes it', async () => {
      const db = await at.database()
      await db.sql(NULLS)
      const error = await errorOf(db.install('t', { key: ['code'] }))
      expect(error.message).toMatch(
        /^column code of public.t may be NULL, .*\(ALTER TABLE public.t VALIDATE CONSTRAINT code_given\)$/,
      )
      await db.sql(`UPDATE t SET code = id; ALTER TABLE t VALIDATE CONSTRAINT code_given`)
      await db.install('t', { key: ['code'] })
      const rows = await mirror(db, { table: 't' })
      await expectMirrorEqualsTable(rows, { key: ['code'] })
    })

    test('[P5] after the installation makes a mirror fail, instead of showing two rows as one object', async () => {
      const db = await at.database()
      await db.sql(`CREATE TABLE t (code text UNIQUE NOT NULL, n int); INSERT INTO t VALUES ('a', 1)`)
      await db.install('t', { key: ['code'] })
      const rows = await mirror(db, { table: 't' })
      await db.sql(`BEGIN; ALTER TABLE t ALTER code DROP NOT NULL; INSERT INTO t VALUES (NULL, 2), (NULL, 3);
        ALTER TABLE t ADD CONSTRAINT code_given NOT NULL code NOT VALID; COMMIT`)
      await waitUntil('the failure', () => rows.informer.status.state === 'failed')
      expect(rows.informer.status.lastError).toMatchObject(failure('NOT_FOUND', 'no longer NOT NULL and unique'))
    })
  })

  /** What a key becomes, and the value of a write after it. */
  const moves: readonly (readonly [from: string, to: string, value: string, level?: 'row'])[] = [
    ['date', 'timestamp', `'2026-01-01 12:00'`],
    ['timestamp', 'timestamptz', `'2026-01-01 12:00+05'`],
    ['cidr', 'inet', `'10.0.0.1/8'`],
    ['text', 'citext', `'A'`],
    ['text', `uuid USING NULL::uuid`, 'gen_random_uuid()'],
    ['text COLLATE "C"', 'text', `'a'`],
    ['text COLLATE "C"', 'text COLLATE exact', `'a'`],
    ['text COLLATE "C"', 'text COLLATE exact', `'a'`, 'row'],
    ['text COLLATE exact', 'text COLLATE loose', `'a'`],
    ['char(5)', 'bpchar', `'a '`],
    ['colour', 'text; DROP TYPE colour CASCADE', ''],
  ]

  test('[P22] that gets another type or collation is a problem, and its mirror is refused', async () => {
    const db = await at.database()
    await db.sql(`CREATE EXTENSION citext; CREATE TYPE colour AS ENUM ('red');
      CREATE COLLATION exact (provider = icu, locale = 'und'); CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false)`)
    for (const [from, to, value, level = 'statement'] of moves) {
      await db.sql(`CREATE TABLE t (id ${from} PRIMARY KEY, n int)`)
      await db.install('t', { level })
      const { informer } = await mirror(db, { table: 't' })
      await db.sql(`ALTER TABLE t ALTER id TYPE ${to}`)
      if (value !== '') await db.sql(`INSERT INTO t VALUES (${value}, 1)`)
      const name = `${from} to ${to}`
      await waitUntil(`the failure of ${name}`, () => Object(informer.status.lastError).code === 'NOT_FOUND')
      expect(informer.status.lastError?.message, name).toMatch(
        /its key column id is now of type .*; run: npx listwatch pg install/,
      )
      await informer.stop()
      const logged = value === '' || to === 'bpchar' ? [] : await db.sql(`SELECT op FROM ${await db.log('t')}`)
      expect(
        logged.filter(({ op }) => op !== 'T'),
        name,
      ).toEqual([])
      await db.sql('DROP TABLE t')
    }
  })

  test.each(['a table', 'partitions'])(
    '[P29] rows that an upgraded index of %s does not find are kept',
    async (kind) => {
      const db = await at.database()
      const parts = kind === 'a table' ? '' : ' PARTITION BY HASH (id)'
      await db.sql(`CREATE COLLATION moved (provider = icu, locale = 'sv');
        CREATE TABLE t (id text COLLATE moved PRIMARY KEY, s text COLLATE moved, n int)${parts};
        ${parts && 'CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0);'}
        CREATE INDEX ON t (s); INSERT INTO t VALUES ('a', 'ä', 0), ('ä', 'ä', 0), ('z', 'ä', 0), ('b', 'z', 0)`)
      await db.install('t')
      const locale = Number.parseInt(postgres.version, 10) < 17 ? 'colliculocale' : 'colllocale'
      await db.sql(`UPDATE pg_collation SET ${locale} = 'de', collversion = '1' WHERE collname = 'moved'`)
      const connection = { options: '-c enable_seqscan=off' }
      const client = await db.connect(connection)
      expect((await client.query(`SELECT FROM t WHERE id = 'ä'`)).rowCount).toBe(0)

      const rows = await mirror(db, { table: 't' })
      const selected = await mirror(db, { table: 't', connection, sql: `s = 'ä'` })
      await db.sql('UPDATE t SET n = 1')
      await expectMirrored(rows, `DELETE FROM t WHERE id || '' = 'z'`)
      await selected.informer.fresh({ timeoutMs: 15_000 })
      expect(rows.informer.size).toBe(3)
      expect([...selected.informer.entries()]).toEqual(['a', 'ä'].map((id) => [id, { id, s: 'ä', n: 1 }]))
      const [problem] = (await changeLogStatus(client)).tables[0]?.problems ?? []
      expect(problem).toMatch(/run: REINDEX TABLE t; ALTER COLLATION public.moved REFRESH VERSION$/)
    },
  )

  test('a key column that may be NULL after the installation makes a mirror fail', async () => {
    const db = await at.database()
    await db.sql(`CREATE TABLE t (code text UNIQUE NOT NULL, n int); INSERT INTO t VALUES ('a', 1)`)
    await db.install('t', { key: ['code'] })
    const rows = await mirror(db, { table: 't' })
    await db.sql('ALTER TABLE t ALTER code DROP NOT NULL')
    await waitUntil('the failure', () => rows.informer.status.state === 'failed')
    expect(rows.informer.status.lastError?.message).toContain('no longer NOT NULL and unique')
  })
})
