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
import { withSqlite } from '../sources/open-sqlite.js'

interface InstallFlags {
  readonly table: string
  readonly key?: readonly string[]
  readonly keepRows?: number
  readonly print?: boolean
}

export async function sqliteInstall(file: string, { print, ...options }: InstallFlags): Promise<void> {
  if (print === true) {
    process.stdout.write(await withSqlite(file, (database) => installChangeLogSql(database, options)))
    return
  }
  const { tables, journalMode } = await withSqlite(
    file,
    (database) => {
      installChangeLog(database, options)
      return changeLogStatus(database)
    },
    'write',
  )
  const log = tables.find(({ table }) => table.toLowerCase() === options.table.toLowerCase())
  process.stdout.write(`installed on ${options.table} (key ${log?.key.join(', ') ?? ''})\n`)
  for (const problem of log?.problems ?? []) process.stdout.write(`${colors.yellow('warning')} ${problem}\n`)
  if (journalMode !== 'wal') process.stdout.write(`${colors.yellow('warning')} ${NO_WAL}\n`)
}

const NO_WAL = 'without WAL readers and writers wait for each other; run: PRAGMA journal_mode = WAL'

/** Shows the change log. The exit code is 1 if there are problems. */
export async function sqliteStatus(file: string, { json }: { readonly json?: boolean }): Promise<void> {
  const status = await withSqlite(file, changeLogStatus)
  const { epoch, tables, logRows, keepRows, journalMode } = status
  if (json === true) process.stdout.write(`${JSON.stringify(status)}\n`)
  else if (epoch === undefined) process.stdout.write(`listwatch is not installed in ${file}\n`)
  else {
    process.stdout.write(
      `epoch ${epoch}, log ${thousands(logRows)} of ${thousands(keepRows)} rows, journal mode ${journalMode}\n`,
    )
    if (tables.length === 0) process.stdout.write('no table has triggers\n')
    for (const { table, key, problems } of tables) {
      const mark = problems.length === 0 ? colors.green('ok') : colors.red('broken')
      process.stdout.write(`${mark} ${colors.bold(table)} (key ${key.join(', ')})\n`)
      for (const problem of problems) process.stdout.write(`${colors.yellow('warning')} ${table}: ${problem}\n`)
    }
    if (journalMode !== 'wal') process.stdout.write(`${colors.yellow('warning')} ${NO_WAL}\n`)
  }
  if (tables.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

export async function sqliteUninstall(
  file: string,
  { table, all, print }: { readonly table?: string; readonly all?: boolean; readonly print?: boolean },
): Promise<void> {
  const what = oneOrAll({ table, all })
  if (print === true) {
    process.stdout.write(await withSqlite(file, (database) => uninstallChangeLogSql(database, what)))
    return
  }
  const isRemoved = await withSqlite(file, (database) => uninstallChangeLog(database, what), 'write')
  const where = table ?? file
  process.stdout.write(isRemoved ? `removed from ${where}\n` : `there was no change log of ${where}\n`)
}

export async function sqliteEpoch(file: string): Promise<void> {
  await withSqlite(file, startEpoch, 'write')
  process.stdout.write(`began another epoch of ${file}; each mirror lists again\n`)
}
