import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'

/** A folder that is removed at the end of the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Opens a file that `sql` fills. */
export function writerOf(path: string, sql: string): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec(sql)
  return database
}
