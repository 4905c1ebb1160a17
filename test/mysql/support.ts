import type { FoundServer } from '../servers/index.js'
import { MysqlServer, type MysqlServerOptions } from '../servers/mysql.js'
import { startForTests } from '../support/start-for-tests.js'

/** One MariaDB or MySQL for the tests of a file or a group, started before the first and gone after the last. */
export function useMysql(
  server: FoundServer,
  options: Omit<MysqlServerOptions, 'server'> = {},
): { readonly mysql: MysqlServer } {
  const started = startForTests(() => MysqlServer.start({ ...options, server }))
  return {
    get mysql() {
      return started()
    },
  }
}
