import { types } from 'pg'
import { describe, expect, test } from 'vitest'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import {
  errorOf,
  expectMirrorEqualsTable,
  expectMirrored,
  listed,
  mirror,
  mirrorOf,
  nakedDelta,
  quoted,
  type Row,
  snapshotOf,
  useServer,
} from './support.js'

const SETUP = `CREATE TYPE mood AS ENUM ('sad', 'it''s "fine"');
  CREATE TYPE place AS (name text, at point, tags text[]);
  CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE DOMAIN doc AS jsonb; CREATE DOMAIN day AS date`

/** A type, and values of it in SQL. */
const values: readonly (readonly [string, ...string[]])[] = [
  ['smallint', '-32768'],
  ['int', '2147483647'],
  ['bigint', '9223372036854775807'],
  ['real', '1.1', `'NaN'`, `'-Infinity'`, '1e-30'],
  ['double precision', '0.1::float8 + 0.2', `'NaN'`, `'Infinity'`, '-0.0::float8'],
  ['numeric', '1.10', `'NaN'`, '12345678901234567890.123456789'],
  ['money', '12.34'],
  ['boolean', 'true', 'false'],
  [
    'text',
    `''`,
    `'NULL'`,
    `'\\N'`,
    `'\\.'`,
    `E'tab\\t new\\n back\\\\ cr\\r bell\\b feed\\f v\\v'`,
    `'ü € 😀'`,
    `'\\\\x'`,
  ],
  ['varchar(10)', `'a  '`],
  ['char(5)', `'a'`],
  ['bytea', `'\\x00ff5c0a'`, `''`],
  ['date', `'2026-02-28'`, `'infinity'`, `'0044-03-15 BC'`],
  ['time', `'23:59:59.999999'`],
  ['timetz', `'12:00:00+05:30'`],
  ['timestamp', `'2026-02-28 12:00:00.123456'`, `'-infinity'`],
  ['timestamptz', `'2026-02-28 12:00:00.5+05:30'`, `'infinity'`, `'0044-03-15 BC'`],
  ['interval', `'1 year 2 mons -3 days 04:05:06.789'`, `'-1 second'`],
  ['uuid', `'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'`],
  ['json', `'{"a": [1, "x\\ny", null], "a": 2}'`, `'null'`, `'"\\u00fc"'`],
  ['jsonb', `'{"__proto__": {"x": 1}, "b": [1.0, true]}'`, `'[]'`],
  ['json[]', `ARRAY['{"a": "b c"}', 'null']::json[]`],
  ['jsonb[]', `ARRAY['[1,2]', '"x,y"']::jsonb[]`],
  ['int[]', `'{1,NULL,3}'`, `'{}'`, `'{{1,2},{3,4}}'`, `'[0:1]={7,8}'`],
  ['text[]', `ARRAY['a,b', '"', '\\', '', NULL, 'NULL', '{}', E'\\n']`],
  ['timestamptz[]', `ARRAY['2026-01-01Z', 'infinity']::timestamptz[]`],
  ['bytea[]', `ARRAY['\\x00ff'::bytea, '']`],
  ['numeric[]', `'{1.10,NULL}'`],
  ['int4range', `'[1,5)'`, `'empty'`, `'(,)'`],
  ['tstzrange', `'["2026-01-01Z",)'`],
  ['int4multirange', `'{[1,3),[5,7)}'`],
  ['inet', `'10.0.0.1/8'`, `'::1'`],
  ['cidr', `'10.0.0.0/8'`],
  ['macaddr', `'08:00:2b:01:02:03'`],
  ['bit(4)', `'1010'`],
  ['point', `'(1.5,-2)'`],
  ['circle', `'<(1,2),3>'`],
  ['tsvector', `'fat:1A cat'`],
  ['xml', `'<a b="c">d</a>'`],
  ['regclass', `'pg_am'`],
  ['mood', `'it''s "fine"'`],
  ['mood[]', `ARRAY['sad', 'it''s "fine"']::mood[]`],
  ['place', `ROW('the "inn", x', '(1,2)', ARRAY['a b', NULL])`, `ROW(NULL, NULL, NULL)`],
  ['positive', '7'],
  ['doc', `'{"deep": {"er": []}}'`],
  ['day', `'2026-02-28'`],
]

describePostgres('rows', (postgres) => {
  const at = useServer(postgres)

  test('the values of a row of every common type equal those of the driver, in lists and in changes', async () => {
    const db = await at.database()
    const columns = values.flatMap(([type, ...all]) => all.map((value) => ({ type, value })))
    await db.sql(SETUP)
    await db.sql(
      `CREATE TABLE t (id int PRIMARY KEY, none text, ${columns.map(({ type }, n) => `c${n} ${type}`).join(', ')})`,
    )
    const insert = (id: number): string =>
      `INSERT INTO t VALUES (${id}, NULL, ${columns.map(({ value }) => value).join(', ')})`
    await db.sql(insert(1))
    await db.install('t')
    const rows = await mirror(db, { table: 't' })
    await db.sql(insert(2))
    await rows.informer.fresh({ timeoutMs: 60_000 })
    const client = await db.connect({ options: '-c timezone=UTC' })
    const expected = (await client.query('SELECT * FROM t WHERE id = 1')).rows[0]
    for (const [n, { type, value }] of columns.entries()) {
      expect.soft(rows.informer.get('1')?.[`c${n}`], `${type} ${value}, listed`).toEqual(expected[`c${n}`])
      expect.soft(rows.informer.get('2')?.[`c${n}`], `${type} ${value}, changed`).toEqual(expected[`c${n}`])
    }
    expect([rows.informer.get('1')?.['none'], rows.informer.get('2')?.['none']]).toEqual([null, null])
    await rows.informer.relist({ timeoutMs: 10_000 })
    expect(rows.fold.changes.length).toBe(2)
  })

  test('the values of a row do not depend on how the database or the role writes them', async () => {
    const db = await at.database()
    for (const setting of [
      `datestyle = 'German'`,
      `intervalstyle = 'iso_8601'`,
      `bytea_output = 'escape'`,
      `timezone = 'Asia/Kolkata'`,
      'extra_float_digits = -5',
    ])
      await db.sql(`ALTER DATABASE ${db.name} SET ${setting}`)
    await db.sql(`CREATE TABLE t (id timestamptz PRIMARY KEY, i interval, b bytea, f float8)`)
    const row = (day: string): string => `INSERT INTO t VALUES ('${day}', '1 day 02:00', '\\x00ff', 0.1::float8 + 0.2)`
    await db.sql(row('2026-02-03 00:00Z'))
    await db.install('t')
    const rows = await mirror(db, { table: 't' })
    await db.sql(row('2026-02-04 00:00Z'))
    await rows.informer.fresh({ timeoutMs: 60_000 })
    const same = { i: expect.objectContaining({ days: 1, hours: 2 }), b: Buffer.from([0, 255]), f: 0.1 + 0.2 }
    expect(new Map(rows.informer.entries())).toEqual(
      new Map([
        ['2026-02-03 00:00:00+00', { id: new Date('2026-02-03T00:00Z'), ...same }],
        ['2026-02-04 00:00:00+00', { id: new Date('2026-02-04T00:00Z'), ...same }],
      ]),
    )
  })

  test('the values of a row come from the parsers of the client, if it has any', async () => {
    const db = await at.installed(
      `CREATE DOMAIN cents AS bigint; CREATE TABLE t (id int PRIMARY KEY, c cents, j jsonb); INSERT INTO t VALUES (1, 5, '{}')`,
    )
    const tagged = { getTypeParser: (id: number) => (text: string) => `${id}:${text}` } as unknown as typeof types
    const rows = await mirror(db, { table: 't', connection: { types: tagged }, sql: 'c > 0' })
    await db.sql(`INSERT INTO t VALUES (2, 6, '[]')`)
    await rows.informer.fresh({ timeoutMs: 60_000 })
    expect(rows.informer.list()).toEqual([
      { id: '23:1', c: '20:5', j: '3802:{}' },
      { id: '23:2', c: '20:6', j: '3802:[]' },
    ])
  })

  describe('the names of tables and columns', () => {
    const names = [
      '__proto__',
      'constructor',
      'two words',
      'the "quoted"',
      'Mixed',
      'select',
      '😀',
      `it's`,
      'back\\slash',
      't',
      'd',
      'op',
      'k1',
      'keys',
      'n, t.x',
    ]

    test('of columns may be any', async () => {
      const db = await at.database()
      const all = ['toString', ...names]
      await db.sql(`CREATE TABLE t (id int PRIMARY KEY, ${all.map((name) => `${quoted(name)} text`).join(', ')})`)
      await db.sql(`INSERT INTO t VALUES (1, ${all.map((_, n) => `'${n}'`).join(', ')})`)
      await db.install('t')
      const rows = await mirror(db, { table: 't' })
      await db.sql(`INSERT INTO t VALUES (2, ${all.map((_, n) => `'${n}'`).join(', ')})`)
      await rows.informer.fresh({ timeoutMs: 60_000 })
      const texts = all.map((name, n) => [name, String(n)])
      expect(rows.informer.list().map((row) => Object.entries(row))).toEqual([
        [['id', 1], ...texts],
        [['id', 2], ...texts],
      ])
    })

    test('of a table, its schema and its key may be any', async () => {
      const db = await at.database()
      for (const name of names.filter((each) => /\W|__/.test(each))) {
        const table = `${quoted(name)}.${quoted(name)}`
        await db.sql(`CREATE SCHEMA ${quoted(name)}; CREATE TABLE ${table} (${quoted(name)} int PRIMARY KEY);
          INSERT INTO ${table} VALUES (1)`)
        await db.install(table)
        const rows = await mirror(db, { table })
        await db.sql(`INSERT INTO ${table} VALUES (2); DELETE FROM ${table} WHERE ${quoted(name)} = 1`)
        await expectMirrorEqualsTable(rows, { key: [name] })
        expect([...rows.informer.keys()], name).toEqual(['2'])
        await rows.informer.stop()
      }
    })

    test('a name without a schema is looked up on the search path', async () => {
      const db = await at.installed(
        (name) =>
          `CREATE SCHEMA shop; CREATE TABLE shop.orders (id int PRIMARY KEY); INSERT INTO shop.orders VALUES (7); ALTER DATABASE ${name} SET search_path = shop`,
        'orders',
      )
      const rows = await mirror(db, { table: 'orders' })
      expect([...rows.informer.keys()]).toEqual(['7'])
    })
  })

  describe('a choice of columns and rows', () => {
    const TABLE = `CREATE TABLE t (id int PRIMARY KEY, state text, n int); INSERT INTO t VALUES (1, 'open', 1), (2, 'done', 2), (3, NULL, 3)`

    test('only the requested columns are mirrored, and always those of the key', async () => {
      const db = await at.installed(TABLE)
      const rows = await mirror(db, { table: 't', columns: ['n'] })
      await expectMirrored(rows, `UPDATE t SET n = n + 1 WHERE id = 2; UPDATE t SET state = 'x'`)
      expect(rows.fold.told).toEqual(['add 1', 'add 2', 'add 3', 'update 2'])
    })

    test('all columns of the key are mirrored, also if the choice names none of them', async () => {
      const db = await at.installed(
        'CREATE TABLE t (a int, b int, n int, PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, 2, 3)',
      )
      const rows = await mirror(db, { table: 't', columns: ['n'] })
      await expectMirrorEqualsTable(rows, { key: ['a', 'b'] })
      expect(rows.informer.list()).toEqual([{ a: 1, b: 2, n: 3 }])
    })

    test('a changed row whose first column is NULL and no key is not a delete', async () => {
      const db = await at.installed('CREATE TABLE t (n int, id int PRIMARY KEY); INSERT INTO t VALUES (1, 1)')
      const rows = await mirror(db, { table: 't' })
      await expectMirrored(rows, 'UPDATE t SET n = NULL; INSERT INTO t VALUES (NULL, 2)')
      expect(rows.informer.size).toBe(2)
    })

    test('a condition that is refused is refused at each attempt', async () => {
      const db = await at.installed(TABLE)
      const source = db.source({ table: 't', sql: 'random() > 0.5' })
      for (let times = 0; times < 2; times++) expect(await errorOf(listed(source))).toMatchObject({ code: 'PROTOCOL' })
    })

    test('a column that is not there is PROTOCOL, and the error says what is', async () => {
      const db = await at.installed(TABLE)
      expect(await errorOf(mirror(db, { table: 't', columns: ['id', 'nn'] }))).toMatchObject(
        failure('PROTOCOL', 'has no column "nn"; it has id, state, n'),
      )
    })

    test('rows enter and leave the condition as they are written', async () => {
      const db = await at.installed(TABLE)
      const rows = await mirror(db, { table: 't', sql: `state = 'open' -- or so` })
      await db.sql(`UPDATE t SET state = 'open' WHERE id = 3`)
      await rows.informer.fresh({ timeoutMs: 60_000 })
      await db.sql(`UPDATE t SET state = 'done' WHERE id = 1`)
      await db.sql(`UPDATE t SET state = 'gone' WHERE id = 2`)
      await rows.informer.fresh({ timeoutMs: 60_000 })
      await waitUntil('the delete', () => rows.fold.told.length === 3)
      expect([rows.fold.told, [...rows.informer.keys()]]).toEqual([['add 1', 'add 3', 'delete 1'], ['3']])
    })

    test('a condition on the clock lets rows go without a trace in the log: it is refused', async () => {
      const db = await at.installed(
        `CREATE TABLE t (id int PRIMARY KEY, due timestamptz); INSERT INTO t VALUES (1, now() + '200 ms')`,
      )
      const where = 'due > now()'
      const snapshot = await snapshotOf(db)
      await waitUntil('the row to leave', async () => (await db.sql(`SELECT FROM t WHERE ${where}`)).length === 0)
      expect(await nakedDelta(db, await db.log('t'), snapshot)).toEqual([])

      expect(await errorOf(mirror(db, { table: 't', sql: where }))).toMatchObject(
        failure('PROTOCOL', /must depend on nothing but the row: .*IMMUTABLE/),
      )
    })

    const dues = `CREATE TABLE t (id int PRIMARY KEY, due timestamptz, note text); INSERT INTO t VALUES (1, 'infinity', 'now or later')`

    test('a literal that the server replaces by the time is refused, and one that it keeps is allowed', async () => {
      const db = await at.installed(dues)
      for (const where of [
        `due > 'now'`,
        `due >= 'Today'`,
        `due < timestamptz 'tomorrow 12:00' OR note = 'now'`,
        `due <> ALL ('{yesterday,infinity}')`,
        'due > $$now$$',
        `due > E'n\\x6fw'`,
        `due > e'n\\u006Fw'`,
        `due > E'\\156\\ow'`,
        `due > U&'n!006Fw' UESCAPE '!'`,
        `due > 'n' -- and\n 'ow'`,
      ])
        expect(await errorOf(listed(db.source({ table: 't', sql: where })))).toMatchObject(
          failure('PROTOCOL', `sql: "${where.replace('\n', '\\n')}" must depend on nothing but the row: `),
        )
      for (const where of [
        `note = 'now or later'`,
        `note LIKE '%later' AND note <> 'it''s now'`,
        `due > 'epoch'`,
        `note > $$now$$`,
        `note <> E'n\\x6fw' AND note <> E'\now' AND note <> E'n\\\\x6fw' AND note <> E'\\''`,
      ])
        await expectMirrorEqualsTable(await mirror(db, { table: 't', sql: where }))
    })

    const more = 'must depend on nothing but the row'
    const refused = 'is refused by the server'
    const conditions: readonly (readonly [where: string, reason: string])[] = [
      ['id IN (SELECT n FROM t)', more],
      ['n = max(n)', more],
      ['random() > 0.5', more],
      ['state = current_user', more],
      ['no_such = 1', refused],
      ['n = 1 AND', refused],
      ['n', refused],
      [`n > 'x'`, refused],
      ['true) OR (true', refused],
    ]
    test('a condition on more than the row, or that the server refuses, is PROTOCOL, with the reason', async () => {
      const db = await at.installed(TABLE)
      for (const [where, reason] of conditions)
        expect(await errorOf(listed(db.source({ table: 't', sql: where })))).toMatchObject(
          failure('PROTOCOL', `sql: "${where}" ${reason}: `),
        )
    })

    test('the check leaves nothing behind', async () => {
      const db = await at.installed(TABLE)
      await mirror(db, { table: 't', sql: 'n > 1' })
      expect(await db.sql(`SELECT relname FROM pg_class WHERE relname::text LIKE '%listwatch\\_where%'`)).toEqual([])
    })
  })

  describe('a row that cannot be read', () => {
    const nested = (depth: number): string => `(repeat('[', ${depth}) || repeat(']', ${depth}))`

    const throwing = {
      getTypeParser: (id: number) =>
        id === types.builtins.INET
          ? (text: string) => {
              if (text.startsWith('6')) throw new Error(`no address: ${text}`)
              return text
            }
          : types.getTypeParser(id),
    } as unknown as typeof types

    const poisons: readonly (readonly [string, string, string, string, RegExp])[] = [
      ['a parser that throws', 'inet', `'10.0.0.1'`, `'6.6.6.6'`, /no address: 6\.6\.6\.6/],
      ['too many bytes', 'text', `repeat('ü', 900)`, `repeat('ü', 1000)`, /2001 bytes; maxObjectBytes allows 2000/],
      ['JSON nested too deep', 'jsonb', `${nested(100)}::jsonb`, `${nested(200)}::jsonb`, /nested deeper than 128/],
      [
        'JSON nested too deep in an array',
        'json[]',
        `ARRAY['{"a,b": ' || ${nested(100)} || '}']::json[]`,
        `ARRAY['{"a,b": ' || ${nested(200)} || '}']::json[]`,
        /nested deeper than 128/,
      ],
      [
        'JSON nested too deep in a domain',
        'doc',
        `${nested(100)}::jsonb`,
        `${nested(200)}::jsonb`,
        /nested deeper than 128/,
      ],
    ]

    test.each(poisons)(
      '[B28] because of %s is invalid in a list and in a change, keeps its last good state, and recovers',
      async (_why, type, good, bad, reason) => {
        const db = await at.installed(
          `CREATE DOMAIN doc AS jsonb; CREATE TABLE t (id int PRIMARY KEY, v ${type}); INSERT INTO t VALUES (1, ${good}), (2, ${bad}), (3, ${good})`,
        )
        const rows = await mirror(db, { table: 't', maxObjectBytes: 2_000, connection: { types: throwing } })
        const { informer } = rows
        expect([...informer.keys()]).toEqual(['1', '3'])
        expect(informer.invalid.get('2')).toMatchObject({ key: '2', message: expect.stringMatching(reason) })

        await db.sql('DELETE FROM t WHERE id = 2')
        await informer.fresh({ timeoutMs: 60_000 })
        expect([informer.size, informer.invalid.size]).toEqual([2, 0])

        const before = informer.get('3')
        await db.sql(`UPDATE t SET v = ${bad} WHERE id = 3; INSERT INTO t VALUES (4, ${good});
          DELETE FROM t WHERE id = 1`)
        await informer.fresh({ timeoutMs: 60_000 })
        expect([[...informer.keys()].sort(), [...informer.invalid.keys()]]).toEqual([['3', '4'], ['3']])
        expect(informer.get('3')).toBe(before)
        await expectMirrored(rows, `UPDATE t SET v = ${good} WHERE id = 3`)
        expect(informer.invalid.size).toBe(0)
      },
    )

    test('is too large in a change exactly where it is too large in a list', async () => {
      const db = await at.prepared(`CREATE TABLE t (id text PRIMARY KEY, v text)`)
      const rows: readonly Row[] = await db.sql(
        `INSERT INTO t VALUES ('lines', repeat(E'\\n', 80)), (repeat('k', 80), 'x') RETURNING id`,
      )
      await db.install('t')
      const listed = await mirror(db, { table: 't', maxObjectBytes: 100 })
      const changed = mirrorOf(db, { table: 't', maxObjectBytes: 100 })
      await db.sql('DELETE FROM t')
      changed.informer.start()
      await changed.informer.synced({ timeoutMs: 60_000 })
      await db.sql(`INSERT INTO t VALUES ('lines', repeat(E'\\n', 80)), (repeat('k', 80), 'x')`)
      await listed.informer.fresh({ timeoutMs: 60_000 })
      await changed.informer.fresh({ timeoutMs: 60_000 })
      expect([listed.informer.size, changed.informer.size]).toEqual([rows.length, rows.length])
      expect(listed.fold.told.filter((each) => each.startsWith('add')).length).toBe(4)
    })
  })
})
