import {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  startEpoch,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from '../../adapters/sqlite/index.js'
import { oneOrAll } from '../args/parsers.js'
import { colors } from '../bundled.js'
import { thousands } from '../output/status-view.js'
import { say } from '../output/write-all.js'
import { withSqlite } from '../sources/open-sqlite.js'

interface InstallFlags {
  readonly table: string
  readonly key?: readonly string[]
  readonly keepRows?: number
  readonly print?: boolean
}

export async function sqliteInstall(file: string, { print, ...options }: InstallFlags): Promise<void> {
  if (print === true)
    return void process.stdout.write(await withSqlite(file, (database) => installChangeLogSql(database, options)))
  const { tables, journalMode } = await withSqlite(
    file,
    (database) => {
      installChangeLog(database, options)
      return changeLogStatus(database)
    },
    'write',
  )
  const log = tables.find(({ table }) => table.toLowerCase() === options.table.toLowerCase())
  say(`installed on ${options.table} (key ${log?.key.join(', ') ?? ''})`)
  for (const problem of log?.problems ?? []) say(`${colors.yellow('warning')} ${problem}`)
  if (journalMode !== 'wal') say(`${colors.yellow('warning')} ${NO_WAL}`)
}

const NO_WAL = 'without WAL readers and writers wait for each other; run: PRAGMA journal_mode = WAL'

/** Shows the change log. The exit code is 1 if there are problems. */
export async function sqliteStatus(file: string, { json }: { readonly json?: boolean }): Promise<void> {
  const status = await withSqlite(file, changeLogStatus)
  const { epoch, tables, logRows, keepRows, journalMode } = status
  if (json === true) say(JSON.stringify(status))
  else if (epoch === undefined) say(`listwatch is not installed in ${file}`)
  else {
    say(`epoch ${epoch}, log ${thousands(logRows)} of ${thousands(keepRows)} rows, journal mode ${journalMode}`)
    if (tables.length === 0) say('no table has triggers')
    for (const { table, key, problems } of tables) {
      const mark = problems.length === 0 ? colors.green('ok') : colors.red('broken')
      say(`${mark} ${colors.bold(table)} (key ${key.join(', ')})`)
      for (const problem of problems) say(`${colors.yellow('warning')} ${table}: ${problem}`)
    }
    if (journalMode !== 'wal') say(`${colors.yellow('warning')} ${NO_WAL}`)
  }
  if (tables.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

export async function sqliteUninstall(
  file: string,
  { table, all, print }: { readonly table?: string; readonly all?: boolean; readonly print?: boolean },
): Promise<void> {
  const what = oneOrAll({ table, all })
  if (print === true)
    return void process.stdout.write(await withSqlite(file, (database) => uninstallChangeLogSql(database, what)))
  const isRemoved = await withSqlite(file, (database) => uninstallChangeLog(database, what), 'write')
  const where = table ?? file
  say(isRemoved ? `removed from ${where}` : `there was no change log of ${where}`)
}

export async function sqliteEpoch(file: string): Promise<void> {
  await withSqlite(file, startEpoch, 'write')
  say(`began another epoch of ${file}; each mirror lists again`)
}
