import {
  type ChangeLog,
  type ChangeLogOptions,
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  installLeases,
  installLeasesSql,
  trimChangeLogs,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from '../../adapters/postgres/index.js'
import { formatDuration, parseDuration } from '../args/duration.js'
import { oneOrAll } from '../args/parsers.js'
import { colors } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { withCommands } from '../output/error-hints.js'
import { thousands } from '../output/status-view.js'
import { say } from '../output/write-all.js'
import { withPg } from '../sources/pg-client.js'

const LARGE_LOG_BYTES = 1024 ** 3
const LONG_TRANSACTION_MS = 10 * 60_000

export interface InstallFlags extends ChangeLogOptions {
  readonly print?: boolean
}

export async function pgInstall(url: string | undefined, { print, ...options }: InstallFlags): Promise<void> {
  if (print === true) return void process.stdout.write(installChangeLogSql(options))
  await withPg({ url: urlOf(url), table: options.table }, async (client) => {
    await installChangeLog(client, options)
    const log = (await changeLogStatus(client)).tables.find(({ table }) => isSameTable(table, options.table))
    const what =
      log === undefined ? '' : ` (key ${log.keyColumns.join(', ')}; triggers for each ${log.level}; wake ${log.wake})`
    say(`installed on ${options.table}${what}`)
    if (log?.wake === 'none')
      say('no transaction wakes readers, because transactions may be prepared here; readers poll once a second')
  })
}

export async function pgInstallLeases(
  url: string | undefined,
  {
    print,
    grant,
    group,
  }: { readonly print?: boolean; readonly grant?: readonly string[]; readonly group?: readonly string[] },
): Promise<void> {
  if ((grant === undefined) !== (group === undefined))
    throw new CliError('give --grant and --group together: a role is granted the use of named groups')
  const options = grant === undefined || group === undefined ? {} : { grant, groups: group }
  if (print === true) return void process.stdout.write(installLeasesSql(options))
  await withPg({ url: urlOf(url) }, (client) => installLeases(client, options))
  say('installed the tables and functions of leases')
}

export async function pgUninstall(
  url: string | undefined,
  { table, all, print }: { readonly table?: string; readonly all?: boolean; readonly print?: boolean },
): Promise<void> {
  const what = oneOrAll({ table, all })
  if (print === true) return void process.stdout.write(uninstallChangeLogSql(what))
  const isRemoved = await withPg({ url: urlOf(url), table }, (client) => uninstallChangeLog(client, what))
  const done = isRemoved ? `removed from ${table}` : `there was no change log of ${table}`
  process.stdout.write(table === undefined ? 'removed the schema listwatch and all triggers\n' : `${done}\n`)
}

/** Shows the installed change logs. The exit code is 1 if there are warnings. */
export async function pgStatus(url: string, { json }: { readonly json?: boolean }): Promise<void> {
  const status = await withPg({ url }, changeLogStatus)
  const warnings = [
    ...status.tables.flatMap(({ table, problems }) =>
      problems.map((problem) => `${table}: ${withCommands(problem, { url })}`),
    ),
    ...status.tables
      .filter(({ logBytes }) => logBytes > LARGE_LOG_BYTES)
      .map(
        ({ table, logBytes }) =>
          `${table}: the log has ${megabytes(logBytes)}; run: ${withCommands('listwatch pg trim <url>', { url })}`,
      ),
    ...(status.oldestTransactionMs > LONG_TRANSACTION_MS
      ? [
          `a transaction has been open for ${formatDuration(status.oldestTransactionMs)}: dead rows of the logs cannot be vacuumed`,
        ]
      : []),
    ...(status.notifyQueueUsage > 0.5
      ? [
          `the queue of notifications is ${Math.round(status.notifyQueueUsage * 100)} % full: a session listens and does not read`,
        ]
      : []),
  ]
  if (json === true) say(JSON.stringify({ ...status, warnings }))
  else if (status.schemaVersion === undefined) say('listwatch is not installed in this database')
  else {
    for (const log of status.tables) say(describe(log))
    if (status.tables.length === 0) say('the schema listwatch is installed, and no table is tracked')
    for (const warning of warnings) say(`${colors.yellow('warning')} ${warning}`)
  }
  if (warnings.length > 0) process.exitCode = 1
}

export async function pgTrim(url: string, { keep }: { readonly keep?: string }): Promise<void> {
  const keepMs = keep === undefined ? 3_600_000 : keep === '0' ? 0 : parseDuration(keep, '--keep')
  const removed = await withPg({ url }, (client) => trimChangeLogs(client, keepMs / 1_000))
  say(`removed ${thousands(removed)} rows from the logs`)
}

function describe({ table, keyColumns, level, wake, logRows, logBytes, readers, problems }: ChangeLog): string {
  const mark = problems.length === 0 ? colors.green('ok') : colors.red('broken')
  const granted = readers.length === 0 ? '' : `, readers ${readers.join(', ')}`
  return `${mark} ${colors.bold(table)} (key ${keyColumns.join(', ')}; triggers for each ${level}; wake ${wake}${granted}) log ${thousands(logRows)} rows, ${megabytes(logBytes)}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`
}

function isSameTable(regclass: string, given: string): boolean {
  return regclass === given || regclass.endsWith(`.${given}`) || given.endsWith(`.${regclass}`)
}

function urlOf(url: string | undefined): string {
  if (url === undefined) throw new CliError('give the URL of the database, or --print to see the SQL')
  return url
}
