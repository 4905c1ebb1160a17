import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { expect, test } from 'vitest'
import { mysqlSource } from '../../adapters/mysql/index.js'
import { purge, useMysql } from '../mysql/support.js'
import { describeMysql } from '../servers/index.js'
import { life } from './life.js'
import { folder } from './support.js'

describeMysql('a warm start from', (server) => {
  const own = useMysql(server, { args: ['--loose-slave-connections-needed-for-purge=0'] })

  test('[MY4] resumes without a list, and lists once if the binlog was purged', async () => {
    const at = own.mysql
    await at.sql('CREATE TABLE warm (id VARCHAR(9) PRIMARY KEY, n INT); INSERT INTO warm VALUES ("a", 1), ("b", 1)')
    const path = join(folder(), 'a.cache')
    const run = (expected: Readonly<Record<string, number>>) =>
      life({
        source: mysqlSource<{ n: number }>({ connect: () => mysql.createConnection(at.address), table: 'warm' }),
        cache: { path },
        expected,
        view: ({ n }) => n,
      })
    expect((await run({ a: 1, b: 1 })).lists).toBe(1)
    await at.sql('REPLACE INTO warm VALUES ("a", 2), ("c", 2); DELETE FROM warm WHERE id = "b"')
    expect((await run({ a: 2, c: 2 })).lists).toBe(0)
    await at.sql('INSERT INTO warm VALUES ("d", 3)')
    await purge(at)
    expect((await run({ a: 2, c: 2, d: 3 })).lists).toBe(1)
  })
})
