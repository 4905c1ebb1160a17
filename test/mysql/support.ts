import type { FoundServer } from '../servers/index.js'
import { MysqlServer, type MysqlServerOptions } from '../servers/mysql.js'
import { waitUntil } from '../servers/wait-until.js'
import { startForTests } from '../support/start-for-tests.js'

/** One MariaDB or MySQL for the tests of a file or a group, started before the first and gone after the last. */
export function useMysql(
  server: FoundServer,
  options: Omit<MysqlServerOptions, 'server'> = {},
  setUp: (mysql: MysqlServer) => Promise<void> = async () => {},
): { readonly mysql: MysqlServer } {
  const started = startForTests(async () => {
    const mysql = await MysqlServer.start({ ...options, server })
    await setUp(mysql)
    return mysql
  })
  return {
    get mysql() {
      return started()
    },
  }
}

/** Removes all files of the binlog but the last, which is new. */
export async function purge(mysql: MysqlServer): Promise<void> {
  await mysql.sql('FLUSH BINARY LOGS')
  // A file that a reader has open is kept; the server notices closed readers at the next heartbeat.
  await waitUntil('the older files to be purged', async () => {
    const file = (await mysql.sql('SHOW BINARY LOGS')).at(-1)?.['Log_name']
    await mysql.sql(`PURGE BINARY LOGS TO '${String(file)}'`)
    return (await mysql.sql('SHOW BINARY LOGS')).length === 1
  })
}
