import { expect, test } from 'vitest'
import { mysqlSource } from '../../adapters/mysql/index.js'
import { useMysql } from '../mysql/support.js'
import { describeMysql } from '../servers/index.js'
import { blocksOf } from '../support/documents.js'
import { findings, namesOf } from './doctor.js'
import { example, expectEnd, listwatch, outputOf, refusalOf, SECRET, synced } from './support.js'

const TABLES = `CREATE DATABASE shop; USE shop; CREATE TABLE parents (id INT PRIMARY KEY);
  CREATE TABLE items (id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE SET NULL);
  CREATE TABLE big (id BIGINT PRIMARY KEY, n BIGINT) COLLATE utf8mb4_bin; INSERT INTO big VALUES (1, 9007199254740993); INSERT INTO parents VALUES (1)`

describeMysql('the command line with', (server) => {
  const own = useMysql(server, {}, async (mysql) => {
    await mysql.sql(TABLES)
  })
  const urlOf = (user = 'root') =>
    `${own.mysql.isMariadb ? 'mariadb' : 'mysql'}://${user}@127.0.0.1:${own.mysql.port}/shop`

  test('watch prints the changes of two tables by commits, and list the rows', async () => {
    const watch = listwatch(['watch', urlOf(), '--table', 'parents', '--table', 'shop.items', '--json'])
    await synced(watch)
    await own.mysql.sql(`USE shop; BEGIN; INSERT INTO parents VALUES (2); INSERT INTO items VALUES ('a', 2); COMMIT`)
    await watch.until(() => watch.output.includes('"key":"a"'), 'the change')
    await expectEnd(watch, 'SIGINT')
    const last = watch.lines.slice(-2).map((line) => JSON.parse(line))
    expect(last).toMatchObject([
      { table: 'parents', key: '2' },
      { table: 'shop.items', key: 'a', object: { id: 'a', parent: 2 } },
    ])
    expect(last[0].commit).toBe(last[1].commit)
    const listed = await outputOf(listwatch(['list', urlOf(), '--table', 'items', '--columns', 'parent']))
    expect(listed).toBe('{"key":"a","object":{"id":"a","parent":2}}\n')
  })

  test('doctor names each fault of a server and of a table, and its remedy', async () => {
    const ofTable = (table: string) => namesOf([urlOf(), '--table', table])
    // These servers do not flush their binlog.
    expect(await ofTable('parents')).toEqual(['sync-binlog'])
    const cascades = own.mysql.isMariadb ? ['cascades'] : []
    expect(await ofTable('items')).toEqual(['sync-binlog', ...cascades, 'key-collation'])
    expect(await ofTable('big')).toEqual(['sync-binlog', 'undecodable'])
    await own.mysql.sql(`SET GLOBAL binlog_format = 'MIXED', sync_binlog = 1, binlog_expire_logs_seconds = 60`)
    const found = await findings([urlOf(), '--table', 'missing'])
    expect([...found.keys()]).toEqual(['binlog', 'list', 'retention'])
    expect(found.get('binlog')).toMatchObject({ severity: 'error', remedy: 'set binlog_format = ROW' })
    await own.mysql.sql(`SET GLOBAL binlog_format = 'ROW'`)
  })

  test('a user with the rights of the guide can list and watch, and the SQL of the guide is a mark', async () => {
    const [rights = '', marks = ''] = blocksOf(['docs/reference/mysql.md']).flatMap(({ language, text }) =>
      language === 'sql' ? [text.replace("'…'", `'${SECRET}'`)] : [],
    )
    await own.mysql.sql(rights)
    const watch = listwatch(['watch', urlOf(`mirror:${SECRET}`), '--table', 'parents'])
    await watch.until(() => watch.lines.length > 0, 'the summary')
    watch.kill('SIGINT')
    const [mark] = await own.mysql.sql(marks.split('\n')[own.mysql.isMariadb ? 0 : 1]?.split(';')[0] ?? '')
    const source = mysqlSource({ connect: () => own.mysql.connect(), table: 'shop.parents' })
    expect(Object.values(mark ?? {})).toEqual([await source.mark(await own.mysql.connect())])
  })

  test('a refusal names the reason, and never the password', async () => {
    expect(await refusalOf(listwatch(['list', urlOf(`root:${SECRET}`), '--table', 'items']))).toContain('Access denied')
    expect(await refusalOf(listwatch(['watch', urlOf()]))).toContain("required option '--table <name>' not specified")
    expect(await refusalOf(listwatch(['watch', 'mysql:///shop', '--table', 'items']))).toContain(
      'invalid URL of MariaDB or MySQL',
    )
  })

  test('examples/mysql.ts reads its own writes', async () => {
    const output = await outputOf(example('mysql.ts', [], { MYSQL_URL: own.mysql.url }))
    expect(output).toBe('acme has 2 orders: 29.5\n')
  })
})
