import { parseTableName, quotedName } from '../../adapters/mysql/internal.js'
import { openMysql, withMysql } from '../sources/open-mysql.js'
import type { OpenSource, TableFlags } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, listCheck, runChecks, undecodableCheck, warningCheck } from './check.js'

type Facts = Readonly<Record<string, unknown>>

interface MysqlContext {
  open(): Promise<OpenSource>
  readonly server: Facts
  /** The columns of the key, with their collations. */
  readonly key: readonly Facts[]
  readonly definition: string
}

/** A mirror that was away for less than this should not have to list again, in seconds. */
const RETENTION_S = 3_600

export const diagnoseMysql: Diagnose<TableFlags> = async (url, flags, onProgress) => {
  const name = parseTableName(flags.table)
  const table =
    name === undefined ? flags.table : quotedName(...(name.database === undefined ? [] : [name.database]), name.name)
  const read = await withMysql(url, async (connection) => {
    const all = async (sql: string, ...values: string[]): Promise<Facts[]> => {
      const [rows] = await connection.query(sql, values)
      return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : []
    }
    const variables = [
      'version',
      'log_bin',
      'binlog_format',
      'gtid_mode',
      'binlog_expire_logs_seconds',
      'sync_binlog',
      'innodb_native_foreign_keys',
    ]
    const rows = await all(
      `SHOW GLOBAL VARIABLES WHERE variable_name IN (${variables.map(() => '?').join(', ')})`,
      ...variables,
    )
    const [definition] = await all(`SHOW CREATE TABLE ${table}`).catch(() => [])
    const key = await all(`SHOW FULL COLUMNS FROM ${table} WHERE \`Key\` = 'PRI'`).catch(() => [])
    return {
      server: Object.fromEntries(rows.map((row) => [String(row['Variable_name']), row['Value']])),
      definition: String(definition?.['Create Table'] ?? ''),
      key,
    }
  })
  return await runChecks(mysqlChecks, { open: () => openMysql(url, flags), ...read }, { onProgress })
}

export const mysqlChecks: readonly Check<MysqlContext>[] = [
  errorCheck('binlog', async ({ server }) => {
    const { log_bin: isLogged, binlog_format: format, gtid_mode: gtids } = server
    if (isLogged !== 'ON') return { problem: 'the server writes no binlog', remedy: 'start the server with --log-bin' }
    if (format !== 'ROW')
      return {
        problem: `binlog_format is ${String(format)}, which does not name the changed rows`,
        remedy: 'set binlog_format = ROW',
      }
    return gtids === undefined || gtids === 'ON'
      ? undefined
      : { problem: `gtid_mode is ${String(gtids)}`, remedy: 'set gtid_mode = ON and enforce_gtid_consistency = ON' }
  }),
  listCheck('the table cannot be mirrored'),
  warningCheck('retention', async ({ server: { binlog_expire_logs_seconds: seconds } }) => {
    // 0 keeps all files.
    if (seconds === undefined || Number(seconds) === 0 || Number(seconds) >= RETENTION_S) return undefined
    return {
      problem: `the binlog is kept for ${String(seconds)} s, so a mirror that was away for longer lists the table again`,
      remedy: `SET GLOBAL binlog_expire_logs_seconds = 86400`,
    }
  }),
  warningCheck('sync-binlog', async ({ server: { sync_binlog: every } }) => {
    if (Number(every) === 1) return undefined
    return {
      problem: `sync_binlog is ${String(every)}: a power failure may drop transactions that a mirror shows, and then each mirror lists the table`,
      remedy: 'SET GLOBAL sync_binlog = 1',
    }
  }),
  warningCheck('cascades', async ({ definition, server }) => {
    const rule = / ON (?:DELETE|UPDATE) (?:CASCADE|SET (?:NULL|DEFAULT))/.exec(definition)
    if (rule === null || server['innodb_native_foreign_keys'] === 'OFF') return undefined
    return {
      problem: `a foreign key of the table has${rule[0]}, whose changes the binlog lacks, so a change of its parent leads to a list`,
      remedy: 'delete the rows of the table in the program, before their parent',
    }
  }),
  warningCheck('key-collation', async ({ key }) => {
    const padded = key.find(({ Collation: name }) => typeof name === 'string' && !/nopad|_0900_|^binary$/.test(name))
    if (padded === undefined) return undefined
    return {
      problem: `the key column ${String(padded['Field'])} has the collation ${String(padded['Collation'])}, which ignores spaces at the end: 'a' and 'a ' are one row`,
      remedy: 'trim the keys before you write them, or use utf8mb4_nopad_bin (MariaDB) or utf8mb4_0900_bin (MySQL)',
    }
  }),
  undecodableCheck(),
]
