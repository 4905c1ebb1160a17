import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { mysqlSource } from '../../adapters/mysql/index.js'
import { purge, useMysql } from '../mysql/support.js'
import { describeMysql } from '../servers/index.js'
import { life, testExpiry, testResume, type Values } from './life.js'
import { folder } from './support.js'

let tables = 0

describeMysql('a warm start from', (server) => {
  const own = useMysql(server, { args: ['--loose-slave-connections-needed-for-purge=0'] })

  async function open() {
    const at = own.mysql
    const table = `warm_${++tables}`
    await at.sql(`CREATE TABLE ${table} (id VARCHAR(9) PRIMARY KEY, n INT)`)
    const path = join(folder(), 'a.cache')
    return {
      async put(values: Values): Promise<void> {
        for (const [id, n] of Object.entries(values))
          await at.sql(
            n === undefined
              ? `DELETE FROM ${table} WHERE id = '${id}'`
              : `REPLACE INTO ${table} VALUES ('${id}', ${n})`,
          )
      },
      run: (expected: Values) =>
        life({
          source: mysqlSource<{ n: number }>({ connect: () => mysql.createConnection(at.address), table }),
          cache: { path },
          expected,
          view: ({ n }) => n,
        }),
    }
  }

  testResume(open, '[MY4] ')
  testExpiry('[MY4] lists once if the binlog was purged', open, () => purge(own.mysql))
})
