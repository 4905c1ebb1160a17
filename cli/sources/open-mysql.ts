import type { Connection } from 'mysql2/promise'
import { type MysqlDatabase, mysqlDatabase, mysqlSource } from '../../adapters/mysql/index.js'
import { mysqlError } from '../../adapters/mysql/internal.js'
import { assertCompleteUrl, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { oneLine, serverOf } from '../output/error-hints.js'
import type { OpenSource, Row, SourceOptions, TableFlags } from './source-types.js'

export async function openTables(
  url: string,
  tables: readonly string[],
  flags: SourceOptions,
): Promise<readonly OpenSource[]> {
  const database = mysqlDatabase({ connect: await connector(url) })
  return await Promise.all(tables.map((table) => openMysql(url, { ...flags, table }, database)))
}

export async function openMysql(
  url: string,
  { table, columns, sql }: TableFlags,
  database?: MysqlDatabase,
): Promise<OpenSource> {
  const connect = await connector(url)
  const options = { table, ...(columns === undefined ? {} : { columns }), ...(sql === undefined ? {} : { sql }) }
  return {
    source: database === undefined ? mysqlSource<Row>({ ...options, connect }) : database.table<Row>(options),
    kind: 'mysql',
    of: table,
    toCliError: (error) => new CliError(`cannot read from ${serverOf(url)}: ${oneLine(error)}`),
    message: (text) => text,
    [Symbol.dispose]: () => {},
  }
}

export async function withMysql<V>(url: string, work: (connection: Connection) => Promise<V>): Promise<V> {
  const connect = await connector(url)
  let connection: Connection
  try {
    connection = await connect()
  } catch (error) {
    throw new CliError(`cannot connect to ${serverOf(url)}: ${oneLine(mysqlError(error))}`)
  }
  try {
    return await work(connection)
  } finally {
    connection.destroy()
  }
}

async function connector(url: string): Promise<() => Promise<Connection>> {
  assertCompleteUrl(url)
  if (!URL.canParse(url) || new URL(url).hostname === '')
    throwInvalidUrl('MariaDB or MySQL', 'mysql://user:password@host:3306/database')
  // The driver does not know the other scheme.
  const uri = url.replace(/^mariadb:/, 'mysql:')
  const { createConnection } = await loadPackage('mysql2', () => import('mysql2/promise'))
  return () => createConnection({ uri })
}
