import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { redact } from '../../../src/util/redact.js'
import { shellQuoted } from '../../../src/util/shell-quoted.js'
import {
  checkOptions,
  isCount,
  isName,
  isNames,
  isOneOf,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { elementsOf, type Properties, propertiesOf } from '../../common/properties.js'
import { assertConnected } from '../connection/client-factory.js'
import { codeOf, postgresError } from '../connection/postgres-errors.js'
import type { ChangeLog, ChangeLogOptions, ChangeLogStatus, PgConnected } from './change-log-types.js'
import { outdatedCollationsSql, outdatedIndexes } from './outdated-collations.js'
import { MAX_INT4, quoteIdentifier, quoteLiteral } from './quoting.js'
import { LOCK_SQL, SCHEMA_SQL } from './schema-sql.js'
import { assertTrusted, UNTRUSTED_SQL } from './trusted-owner.js'

/** The longest wait for a lock at one attempt, so that the table's writers never wait longer behind it. */
const LOCK_TIMEOUT = '3s'
const LOCK_ATTEMPTS = 5

/**
 * Returns the SQL of a migration that creates the change log of a table. Any role with the needed rights can run it.
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option, TypeError if `table` is missing.
 *
 * @example
 * ```ts
 * import { installChangeLogSql } from 'listwatch/postgres'
 *
 * console.log(installChangeLogSql({ table: 'orders' })) // A migration, to run with your own tool.
 * ```
 */
export function installChangeLogSql(options: ChangeLogOptions): string {
  checkOptions('installChangeLogSql', options, {
    table: isName,
    key: isNames,
    level: isOneOf('auto', 'statement', 'row'),
    wake: isOneOf('auto', 'bucket', 'each', 'none'),
    bulk: isCount,
    grant: isNames,
  })
  if (propertiesOf(options)['table'] === undefined)
    throw new TypeError('installChangeLogSql: option "table" is missing')
  const { table, key, level, wake, bulk, grant } = options
  const named = Object.entries({
    key: key === undefined ? undefined : textArray(key),
    level: level === undefined ? undefined : quoteLiteral(level),
    wake: wake === undefined ? undefined : quoteLiteral(wake),
    bulk: bulk === undefined ? undefined : String(Math.min(bulk, MAX_INT4)),
    readers: grant === undefined ? undefined : textArray(grant),
  }).flatMap(([name, value]) => (value === undefined ? [] : [`, ${name} => ${value}`]))
  return migration(
    `${SCHEMA_SQL}
SELECT listwatch.install(${MIGRATED_TABLE}${named.join('')});`,
    table,
  )
}

/**
 * Returns the SQL of a migration that removes the change log of a table, or with `all` the schema `listwatch`.
 *
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option, TypeError if not exactly one of `table` and `all` is present.
 *
 * @example
 * ```ts
 * import { uninstallChangeLogSql } from 'listwatch/postgres'
 *
 * console.log(uninstallChangeLogSql({ table: 'orders' }))
 * ```
 */
export function uninstallChangeLogSql(options: { readonly table: string } | { readonly all: true }): string {
  checkOptions('uninstallChangeLogSql', options, { table: isName, all: isTrue })
  const table = tableToUninstall(options)
  if (table === undefined) {
    return migration(`${LOCK_SQL}
DO $do$ DECLARE rel pg_catalog.regclass; BEGIN
  FOR rel IN SELECT l.relid FROM listwatch.logs() l LOOP PERFORM listwatch.uninstall(rel); END LOOP;
END $do$;
DROP SCHEMA listwatch CASCADE;`)
  }
  return migration(`${LOCK_SQL}\nSELECT listwatch.uninstall(${MIGRATED_TABLE}) AS uninstall;`, table)
}

/** Returns undefined for all tables. Options that might mean one table or all of them are refused. */
function tableToUninstall(options: unknown): string | undefined {
  const { table, all } = propertiesOf(options)
  if ((table === undefined) === (all === undefined))
    throw new TypeError('uninstallChangeLogSql: exactly one of the options "table" and "all" must be present')
  return table === undefined ? undefined : String(table)
}

const isTrue: OptionCheck = (value) => (value === true ? undefined : 'must be true')

/**
 * Creates the change log of a table, or replaces it. Each of at most 5 attempts waits at most 3 s for the table's lock,
 * so that the table's writers never wait long behind it.
 * @throws SourceError `UNAUTHORIZED` with a hint if a right is missing, `UNAVAILABLE` if the table stays locked,
 * `PROTOCOL` or `UNAVAILABLE` with a hint for a table without a usable key. After an error nothing has changed.
 * OptionError for a wrong option, TypeError if the client is a pool or has no connection.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { installChangeLog } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * await installChangeLog(client, { table: 'orders' })
 * await client.end()
 * ```
 */
export async function installChangeLog(client: PgConnected, options: ChangeLogOptions): Promise<void> {
  assertConnected('installChangeLog', client, true)
  await migrate(client, installChangeLogSql(options), options.table)
}

/**
 * Removes the change log of a table, or with `all` the schema `listwatch` with all logs. Running mirrors fail with
 * `NOT_FOUND`.
 * @returns Whether there was a change log; with `all` always true.
 * @throws SourceError like `installChangeLog`.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { uninstallChangeLog } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * await uninstallChangeLog(client, { table: 'orders' })
 * await client.end()
 * ```
 */
export async function uninstallChangeLog(
  client: PgConnected,
  options: { readonly table: string } | { readonly all: true },
): Promise<boolean> {
  assertConnected('uninstallChangeLog', client, true)
  const sql = uninstallChangeLogSql(options)
  const table = tableToUninstall(options)
  const results = await migrate(client, sql, table)
  if (table === undefined) return true
  const rows = elementsOf(results).flatMap((result) => elementsOf(propertiesOf(result)['rows']))
  return rows.some((row) => propertiesOf(row)['uninstall'] === true)
}

/**
 * Removes all rows of the logs that are older than `keepSeconds` seconds (default 3 600).
 * @returns The number of removed rows, without those that another session removes at the same time.
 * @throws TypeError for a negative or infinite number of seconds, or a client without a connection; SourceError for an
 * error of the query.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { trimChangeLogs } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * console.log(await trimChangeLogs(client), 'rows removed')
 * await client.end()
 * ```
 */
export async function trimChangeLogs(client: PgConnected, keepSeconds = 3_600): Promise<number> {
  const flaw = keepSeconds >= 0 && Number.isFinite(keepSeconds)
  if (!flaw)
    throw new TypeError(`trimChangeLogs: the seconds to keep must be a number of at least 0, got ${keepSeconds}`)
  assertConnected('trimChangeLogs', client)
  const [schema] = await rowsOf(client, `SELECT ${UNTRUSTED_SQL} AS untrusted`)
  assertTrusted(schema?.['untrusted'])
  const [row] = await rowsOf(
    client,
    `SELECT listwatch.trim(pg_catalog.make_interval(secs => ${keepSeconds}))::pg_catalog.text AS removed`,
  )
  return Number(row?.['removed'])
}

/**
 * Returns the state of all change logs of the database, with their problems.
 * @returns The state of each change log, and of what they share.
 * @throws SourceError for an error of a query, TypeError for a client without a connection.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { changeLogStatus } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * for (const { table, problems } of (await changeLogStatus(client)).tables) console.log(table, problems)
 * await client.end()
 * ```
 */
export async function changeLogStatus(client: PgConnected): Promise<ChangeLogStatus> {
  assertConnected('changeLogStatus', client)
  const [server] = await rowsOf(client, SERVER_SQL)
  const notifyQueueUsage = Number(server?.['usage'])
  const oldestTransactionMs = Number(server?.['oldest'] ?? 0)
  if (server?.['is_installed'] !== true || server['untrusted'] === '') {
    return { schemaVersion: undefined, tables: [], notifyQueueUsage, oldestTransactionMs }
  }
  assertTrusted(server['untrusted'])
  const [schema] = await rowsOf(client, 'SELECT listwatch.schema_version() AS version')
  const tables: ChangeLog[] = []
  for (const row of await rowsOf(client, tablesSql(Number(server['version'])))) {
    const [count] = await rowsOf(
      client,
      `SELECT pg_catalog.count(*)::pg_catalog.text AS rows FROM ${String(row['log'])}`,
    )
    tables.push(tableOf(row, Number(count?.['rows'])))
  }
  return { schemaVersion: Number(schema?.['version']), tables, notifyQueueUsage, oldestTransactionMs }
}

const SERVER_SQL = `SELECT pg_catalog.to_regnamespace('listwatch') IS NOT NULL AS is_installed, pg_catalog.pg_notification_queue_usage() AS usage, pg_catalog.current_setting('server_version_num') AS version,
  ${UNTRUSTED_SQL} AS untrusted,
  (SELECT extract(epoch FROM pg_catalog.max(pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) a.xact_start)) OPERATOR(pg_catalog.*) 1000
     FROM pg_catalog.pg_stat_activity a WHERE a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()) AS oldest`

const tablesSql = (
  serverVersion: number,
): string => `SELECT l.relid::pg_catalog.regclass::pg_catalog.text AS "table", pg_catalog.format('listwatch.%I', c.relname) AS log, l.options,
  pg_catalog.pg_total_relation_size(l.log)::pg_catalog.text AS bytes, listwatch.problems(l.relid) AS problems, ${outdatedCollationsSql('l.relid', serverVersion)} AS refreshes
  FROM listwatch.logs() l JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.log ORDER BY 1`

function tableOf(row: Properties, logRows: number): ChangeLog {
  const { fires, wakes, keyColumns, readers } = propertiesOf(row['options'])
  const table = shellQuoted(String(row['table']))
  const problems = textsOf(row['problems']).map(
    (problem) => `${problem}: changes are missed; run: npx listwatch pg install <url> --table ${table}`,
  )
  const refreshes = textsOf(row['refreshes'])
  if (refreshes.length > 0) {
    const { problem, remedy } = outdatedIndexes(String(row['table']), refreshes)
    problems.push(`${problem}; ${remedy}`)
  }
  return {
    table: String(row['table']),
    log: String(row['log']),
    level: String(fires),
    wake: String(wakes),
    keyColumns: textsOf(keyColumns),
    readers: textsOf(readers),
    logRows,
    logBytes: Number(row['bytes']),
    problems,
  }
}

function textsOf(value: unknown): readonly string[] {
  return elementsOf(value).map(String)
}

/** Runs a migration. `table`: what it locks, for errors; default: the schema. */
export async function migrate(client: PgConnected, sql: string, table?: string): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.query(sql)
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {}) // The first error says more.
      if (isLocked(error) && attempt < LOCK_ATTEMPTS) continue
      if (codeOf(error) === '42501') throw await missingRightError(client, error, table)
      throw migrationError(error, table)
    }
  }
}

/** Whether a migration waited too long for a lock, or in a circle with another session: a later attempt may succeed. */
function isLocked(error: unknown): boolean {
  return ['55P03', '40P01'].includes(codeOf(error) ?? '')
}

function migrationError(error: unknown, table = 'the schema listwatch'): SourceError {
  const { hint } = propertiesOf(error)
  const { message, code, cause } = ownerError(error)
  const more = typeof hint === 'string' ? ` (${hint})` : ''
  const waited = isLocked(error) ? `${table} is locked by another session; nothing was changed: ` : ''
  return new SourceError(waited + message + more, { code, cause })
}

const ownersSql = (
  table: string | undefined,
): string => `SELECT current_user AS me, pg_catalog.current_database() AS database, pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS may_create,
  (SELECT r.rolname FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
    WHERE n.nspname OPERATOR(pg_catalog.=) 'listwatch'::pg_catalog.name AND r.rolname OPERATOR(pg_catalog.<>) current_user
      AND NOT (r.rolsuper AND pg_catalog.pg_has_role(r.oid, 'USAGE'))) AS schema_owner,
  (SELECT pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c
    WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(${table === undefined ? 'NULL' : quoteLiteral(table)}) AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')) AS table_owner`

/** Returns an error that names the role with the needed right, or the missing GRANT. */
async function missingRightError(
  client: PgConnected,
  thrown: unknown,
  table: string | undefined,
): Promise<SourceError> {
  const error = ownerError(thrown)
  const { rows } = await client.query(ownersSql(table)).catch(() => ({ rows: [] })) // The first error says more.
  const row = propertiesOf(rows[0])
  const me = quoteIdentifier(String(row['me']))
  const owners: readonly (readonly [what: string, owner: unknown])[] = [
    [`the table ${table}`, row['table_owner']],
    ['the schema listwatch', row['schema_owner']],
  ]
  const foreign = owners.filter(([, owner]) => typeof owner === 'string')
  const hints = foreign.map(([what, owner]) => {
    const role = quoteIdentifier(String(owner))
    const orMember = what.startsWith('the table') ? `, or after GRANT ${role} TO ${me}` : ''
    return `${what} belongs to ${role}: run it as that role${orMember}`
  })
  if (foreign.length === 0 && row['may_create'] === false) {
    const database = quoteIdentifier(String(row['database']))
    hints.push(`as the owner of the database run: GRANT CREATE ON DATABASE ${database} TO ${me}`)
  }
  if (hints.length === 0) return error
  const message = redact(messageOf(thrown))
  return new SourceError([message, ...hints].join('; '), { code: error.code, cause: error.cause })
}

async function rowsOf(client: PgConnected, sql: string): Promise<readonly Properties[]> {
  try {
    return (await client.query(sql)).rows.map(propertiesOf)
  } catch (error) {
    throw ownerError(error)
  }
}

/** Like `postgresError`, but with hints for owners: rights of readers do not help here. */
function ownerError(thrown: unknown): SourceError {
  const error = postgresError(thrown)
  if (codeOf(thrown) !== '42501') return error
  const message = `${redact(messageOf(thrown))}; run it as the owner of the table and of the schema listwatch`
  return new SourceError(message, { code: error.code, cause: error.cause })
}

/** The table that a migration has looked up, for SQL. */
const MIGRATED_TABLE = `pg_catalog.current_setting('listwatch.table')::pg_catalog.oid::pg_catalog.regclass`

/**
 * Returns the SQL of one transaction. Only the name of `table` is looked up on the search path of the role that runs it.
 * At another isolation level its checks would read the catalog of before the lock.
 */
export function migration(body: string, table?: string): string {
  const lookUp =
    table === undefined
      ? ''
      : `SELECT pg_catalog.set_config('listwatch.table', ${quoteLiteral(table)}::pg_catalog.regclass::pg_catalog.oid::pg_catalog.text, true);\n`
  return `BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';
${lookUp}SET LOCAL search_path = pg_catalog, pg_temp;
${body}
COMMIT;
`
}

function textArray(texts: readonly string[]): string {
  return `ARRAY[${texts.map(quoteLiteral).join(', ')}]::pg_catalog.text[]`
}
