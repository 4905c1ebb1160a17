import { statfs } from 'node:fs/promises'
import { type ChangeLogStatus, changeLogStatus } from '../../adapters/sqlite/index.js'
import type { ListContext } from '../../src/contract/source.js'
import { fieldOf } from '../args/fields.js'
import { PROGRAM } from '../output/error-hints.js'
import { openSqlite, withSqlite } from '../sources/open-sqlite.js'
import type { OpenSource, TableFlags } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, listCheck, runChecks, undecodableCheck, warningCheck } from './check.js'

/** File systems of networks, by the type that statfs returns. Their locks do not hold. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x1021997, '9p'],
  [0x65735546, 'FUSE'],
])
/** The default of `maxDeltaRows`. A log that keeps fewer rows lists again sooner than that. */
const DELTA_ROWS = 250_000

interface SqliteContext {
  open(): Promise<OpenSource>
  readonly path: string
  readonly status: ChangeLogStatus
  /** The length of a text with a NUL, as the driver of this Node returns it. */
  readonly textLength: number
}

export const diagnoseSqlite: Diagnose<TableFlags> = async (path, flags, onProgress) => {
  const read = await withSqlite(path, (database) => ({
    status: changeLogStatus(database),
    textLength: String(fieldOf(database.prepare("SELECT 'a' || char(0) || 'b' AS text").get(), 'text')).length,
  }))
  // The checks report what the source would warn of.
  const open = async (): Promise<OpenSource> => {
    const opened = await openSqlite(path, flags)
    const { name, list, watch } = opened.source
    const source = { name, list: (context: ListContext) => list.call(opened.source, { ...context, warn: () => {} }) }
    return { ...opened, source: { ...source, watch: watch.bind(opened.source) } }
  }
  return await runChecks(sqliteChecks, { open, path, ...read }, { onProgress })
}

export const sqliteChecks: readonly Check<SqliteContext>[] = [
  listCheck('the table cannot be mirrored'),
  warningCheck('log', async ({ path, status }) => {
    const [first] = status.tables.flatMap(({ table, problems }) => problems.map((each) => `${table}: ${each}`))
    return first === undefined ? undefined : { problem: first, remedy: `see: ${PROGRAM} sqlite status ${path}` }
  }),
  warningCheck('log-rows', async ({ path, status: { keepRows } }) => {
    if (keepRows >= DELTA_ROWS) return undefined
    return {
      problem: `the log keeps ${keepRows} rows, so a mirror that was away for more changes lists the table again`,
      remedy: `run: ${PROGRAM} sqlite install ${path} --table <table> --keep-rows 1000000`,
    }
  }),
  warningCheck('journal-mode', async ({ status: { journalMode } }) => {
    if (journalMode === 'wal') return undefined
    return {
      problem: `the journal mode is ${journalMode}, in which readers and writers wait for each other`,
      remedy: 'run: PRAGMA journal_mode = WAL',
    }
  }),
  errorCheck('file-system', async ({ path }) => {
    const network = NETWORKS.get((await statfs(path)).type >>> 0)
    if (network === undefined) return undefined
    return {
      problem: `the file is on ${network}, on which SQLite cannot lock it, so commits are lost and the file is damaged`,
      remedy: 'move the file to a disk of the machine of its writers',
    }
  }),
  warningCheck('nul', async ({ textLength }) => {
    if (textLength === 3) return undefined
    return {
      problem: 'node:sqlite of this Node cuts a text at its first NUL, so keys may become equal',
      remedy: 'use Node 24 or newer, or better-sqlite3',
    }
  }),
  undecodableCheck(),
]
