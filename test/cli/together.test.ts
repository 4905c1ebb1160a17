import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useEtcd } from '../etcd/support.js'
import { roleOf } from '../postgres/hostile.js'
import { type Database, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import type { Child } from '../support/child.js'
import {
  expectEnd,
  informersAt,
  listwatch,
  refusalOf,
  SECRET,
  synced,
  temporaryFolder,
  testRefusals,
  urlOf,
} from './support.js'

/** A line of `watch --json` of accounts: each table or prefix begins with one of 50. */
interface Line {
  readonly type: 'add' | 'update' | 'delete' | 'synced'
  readonly table?: string
  readonly prefix?: string
  readonly key?: string
  readonly object?: { readonly n: number }
  readonly previous?: { readonly n: number }
  readonly commit?: number
}

const linesOf = (child: Child): Line[] => child.lines.map((line) => JSON.parse(line) as Line)

/** The lines of each commit, shortly: `update a 1`. The first has those of the first lists. */
function commitsOf(child: Child): string[][] {
  const commits: string[][] = []
  for (const { type, table, prefix, key, commit = 0 } of linesOf(child))
    if (type !== 'synced') commits[commit] = [...(commits[commit] ?? []), `${type} ${table ?? prefix} ${key}`]
  return commits
}

/** The sum of all accounts after each commit. Throws if a line does not follow from those before it. */
function sumsOf(child: Child): number[] {
  const amounts = new Map<string, number>()
  const sums: number[] = []
  for (const { type, table, prefix, key, object, previous, commit = 0 } of linesOf(child)) {
    if (type === 'synced') continue
    const account = `${table ?? prefix} ${key}`
    expect(amounts.get(account)).toBe(previous?.n)
    if (type !== 'delete' && object !== undefined) amounts.set(account, object.n)
    else amounts.delete(account)
    sums[commit] = [...amounts.values()].reduce((sum, n) => sum + n, 0)
  }
  return sums
}

/** Each commit that is printed leaves the sum as it was, while a transfer from the first account follows the other and faults happen. */
async function expectWholeTransfers(
  child: Child,
  { transfer, faults }: { transfer(): Promise<unknown>; readonly faults: readonly (() => Promise<unknown>)[] },
): Promise<void> {
  await synced(child)
  let left = 50
  for (const fault of [async () => {}, ...faults]) {
    for (let transfers = 0; transfers < 10; transfers++) {
      await transfer()
      left--
      if (transfers === 5) await fault()
    }
    const isLast = ({ key = '', object }: Line): boolean => /1$/.test(key) && object?.n === left
    await child.until(() => linesOf(child).some(isLast), 'the last transfer')
  }
  await child.until(() => sumsOf(child).at(-1) === 100, 'the other part of it')
  expect(new Set(sumsOf(child))).toEqual(new Set([100]))
  expect(commitsOf(child).length).toBeGreaterThan(1 + faults.length)
}

describeServer('postgres 18', 'watch of several tables', useServer, (at) => {
  async function bank(): Promise<Database> {
    const db = await at.installed(
      `CREATE TABLE a (id int PRIMARY KEY, n int); CREATE TABLE b (LIKE a INCLUDING ALL); CREATE TABLE c (id int PRIMARY KEY);
      INSERT INTO a VALUES (1, 50); INSERT INTO b VALUES (2, 50)`,
      'a',
    )
    await db.install('b')
    return db
  }
  const TWO = ['--table', 'a', '--table', 'b']
  const move = (from: string, to: string): string =>
    `BEGIN; UPDATE ${from} SET n = n - 1; UPDATE ${to} SET n = n + 1; COMMIT`

  test('--json prints the changes of a transaction under one number, each with its table', async () => {
    const db = await bank()
    const child = listwatch(['watch', urlOf(db), ...TWO, '--json'])
    await synced(child)
    expect(linesOf(child).at(-1)).toEqual({ type: 'synced', size: 2 })
    await db.sql(move('a', 'b'))
    await child.until(() => commitsOf(child).length === 2, 'the transfer')
    await db.sql('DELETE FROM b')
    await child.until(() => commitsOf(child).length === 3, 'the delete')
    expect(commitsOf(child)).toEqual([['add a 1', 'add b 2'], ['update a 1', 'update b 2'], ['delete b 2']])
    expect(child.errors).toBe('')
    await expectEnd(child, 'SIGINT')
  })

  test('no commit is torn by a killed connection and a truncated table, and a dropped table ends only its own changes', async () => {
    const db = await bank()
    const child = listwatch(['watch', urlOf(db), ...TWO, '--json'])
    await expectWholeTransfers(child, {
      transfer: () => db.sql(move('a', 'b')),
      faults: [
        () => db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listwatch'`),
        () =>
          db.sql('BEGIN; CREATE TEMP TABLE t AS SELECT * FROM b; TRUNCATE b; INSERT INTO b SELECT * FROM t; COMMIT'),
      ],
    })
    await db.sql('DROP TABLE b')
    await child.until(() => /b" does not exist/.test(child.errors), 'the error of the dropped table')
    const before = commitsOf(child).length
    await db.sql('UPDATE a SET n = 0')
    await child.until(() => commitsOf(child).length > before, 'the other table to continue')
    await expectEnd(child, 'SIGINT')
  })

  test('a pipe has a line for each change, and the time at the first one of a commit; and serve shows both', async () => {
    const db = await bank()
    const config = join(temporaryFolder(), 'listwatch.config.json')
    const both = { url: urlOf(db), table: ['a', 'b'], index: ['n'] }
    writeFileSync(config, JSON.stringify({ sources: { both } }))
    const child = listwatch(['watch', '@both', '--config', config])
    await child.until(() => child.lines.some((line) => line.startsWith('a live: 1 rows, ')), 'the status')
    expect(child.lines[0]).toMatch(/^a live: 1 rows, 0 changes\/s, .*; b live: 1 rows, 0 changes\/s, /)
    await db.sql(move('a', 'b'))
    await child.until(() => child.output.includes('n=50 → 51'), 'the transfer')
    expect(child.output).toMatch(/^\d\d:\d\d:\d\d ~ a 1 n=50 → 49\n {8} ~ b 2 n=50 → 51$/m)
    await expectEnd(child, 'SIGINT')
    const serve = listwatch(['serve', '--config', config])
    expect((await informersAt(serve)).map(({ name }) => name)).toEqual(['postgres:a', 'postgres:b'])
    await expectEnd(serve, 'SIGINT')
    expect(await refusalOf(listwatch(['list', '@both', '--config', config]))).toMatch(
      /^give one --table: only watch and serve mirror together several tables of Postgres, MariaDB or MySQL \(--table\), or several prefixes of etcd/,
    )
  })

  test('an error of one of the tables ends the command, and one line names the table', async () => {
    const db = await bank()
    const reader = await roleOf(db, 'reader')
    await db.sql('ALTER TABLE b ENABLE ROW LEVEL SECURITY')
    await db.install('b', { grant: [reader] })
    await db.install('a', { grant: [reader] })
    const refused = (user: string, ...args: string[]): Promise<string> =>
      refusalOf(listwatch(['watch', urlOf(db, user), '--json', ...args]))
    expect(await refused('postgres', ...TWO, '--table', 'c')).toMatch(/on "public"\."c"; .*--table 'public\.c'$/)
    expect(await refused('postgres', ...TWO, '--table', 'a')).toBe('"a" is given twice')
    expect(await refused('postgres', ...TWO, '--index', 'm')).toBe('--index: a has no column "m"; it has id, n')
    const alone = 'give one --table with --rls: a table to which row security applies is mirrored alone'
    expect(await refused('postgres', ...TWO, '--rls', 'row-local')).toBe(alone)
    expect(await refused(reader, ...TWO)).toContain('; mirror this table alone, with --rls row-local if no policy')
  })
})

describeServer('etcd 3.6', 'watch of several prefixes', useEtcd, (own) => {
  test('no revision is torn, also if the server is restarted', async () => {
    const client = own.etcd.client()
    let moved = 0
    const put = (key: string, n: number) => ({
      request_put: { key: Buffer.from(key), value: Buffer.from(JSON.stringify({ n })) },
    })
    const write = (n: number): Promise<unknown> =>
      client.kv.txn({ success: [put('/a/1', 50 - n), put('/z/2', 50 + n), put('/m/3', n)] })
    await write(0)
    const child = listwatch(['watch', `etcd://${own.etcd.endpoint}`, '--prefix', '/a/', '--prefix', '/z/', '--json'])
    await synced(child)
    expect(commitsOf(child)).toEqual([['add /a/ /a/1', 'add /z/ /z/2']])
    await expectWholeTransfers(child, {
      transfer: () => write(++moved),
      faults: [
        async () => {
          await own.etcd.kill()
          await own.etcd.start()
        },
      ],
    })
    await expectEnd(child, 'SIGINT')
  })
})

const TOGETHER =
  'watch and serve mirror together several tables of Postgres, MariaDB or MySQL (--table), or several prefixes of etcd (--prefix)'
testRefusals([
  ['watch app.db --table a --table b', 'tables of SQLite have no common history', TOGETHER],
  [`watch redis://u:${SECRET}@h --keys a* --keys b*`, 'It may be given once', TOGETHER],
  ['watch redis://h --collection a --collection b', 'It may be given once', TOGETHER],
  ['watch nats://h --bucket a --bucket b', 'It may be given once', TOGETHER],
  ['doctor etcd://h --prefix a --prefix b', 'give one --prefix', TOGETHER],
  ['watch kubernetes://default/pods --table a --table b', '--table is an option of Postgres, SQLite and MySQL'],
])
