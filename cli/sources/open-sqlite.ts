import type { DatabaseSync } from 'node:sqlite'
import { sqliteSource } from '../../adapters/sqlite/index.js'
import { SourceError } from '../../src/contract/errors.js'
import { fieldOf } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import { oneLine, PROGRAM } from '../output/error-hints.js'
import type { OpenSource, Row, TableFlags } from './source-types.js'

/** How long a command waits while a writer holds a lock, in milliseconds. */
const TIMEOUT_MS = 5_000

export async function openSqlite(path: string, { table, columns, sql }: TableFlags): Promise<OpenSource> {
  const { DatabaseSync: Database } = await loadSqlite()
  const source = sqliteSource<Row>({
    connect: () => new Database(path, { readOnly: true }),
    table,
    ...(columns === undefined ? {} : { columns }),
    ...(sql === undefined ? {} : { sql }),
  })
  const message = (text: string): string => text.replaceAll('npx listwatch ', `${PROGRAM} `)
  return {
    source,
    kind: 'sqlite',
    of: table,
    toCliError: (error) => new CliError(message(`${path}: ${error.message}`)),
    message,
    [Symbol.dispose]: () => {},
  }
}

/** Runs `work` on a connection of its own. Converts its errors to a CliError. */
export async function withSqlite<V>(
  path: string,
  work: (database: DatabaseSync) => V,
  mode: 'read' | 'write' = 'read',
): Promise<V> {
  const { DatabaseSync: Database } = await loadSqlite()
  try {
    // A connection that may write would create a missing file.
    new Database(path, { readOnly: true }).close()
    const database = new Database(path, { readOnly: mode === 'read' })
    try {
      database.exec(`PRAGMA busy_timeout = ${TIMEOUT_MS}`) // Node 22.15 and older versions ignore the option "timeout".
      return work(database)
    } finally {
      database.close()
    }
  } catch (error) {
    const isOurs = error instanceof SourceError || fieldOf(error, 'code') === 'ERR_SQLITE_ERROR'
    throw isOurs ? new CliError(`${path}: ${oneLine(error)}`) : error
  }
}

export async function loadSqlite(): Promise<typeof import('node:sqlite')> {
  try {
    return await import('node:sqlite')
  } catch {
    throw new CliError(`Node ${process.version} has no node:sqlite; use Node 22.13 or newer`)
  }
}
