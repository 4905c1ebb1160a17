import { messageOf, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { redact, redactError } from '../../src/util/redact.js'
import { propertiesOf } from '../common/properties.js'

/** The names of the result codes that are distinguished. better-sqlite3 has the name, node:sqlite the number. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  14: 'SQLITE_CANTOPEN',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
}

function resultOf(thrown: unknown): string | undefined {
  const { errcode, code } = propertiesOf(thrown)
  if (typeof errcode === 'number') return NAMES[errcode & 0xff] ?? 'other'
  return typeof code === 'string' ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : undefined
}

/** Results of a read that succeeds later: another connection holds a lock, or has to undo what a crashed writer left. */
const TRANSIENT: ReadonlySet<string | undefined> = new Set(['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_READONLY'])

export function isBusy(thrown: unknown): boolean {
  return TRANSIENT.has(resultOf(thrown))
}

/** Whether node:sqlite refuses to return an integer beyond 2^53 as a number. */
export function isOutOfRange(thrown: unknown): boolean {
  return propertiesOf(thrown)['code'] === 'ERR_OUT_OF_RANGE'
}

const INSTALL = ' (nothing is installed in this file; run: npx listwatch sqlite install <file> --table <table>)'

export function sqliteError(thrown: unknown): SourceError {
  if (thrown instanceof SourceError) return thrown
  const result = resultOf(thrown)
  const message = redact(messageOf(thrown))
  const isMissing = /no such table: (?:main\.)?listwatch_/.test(message)
  const hint = isMissing ? INSTALL : hintFor(result)
  return new SourceError(message + hint, { code: isMissing ? 'NOT_FOUND' : codeOf(result), cause: redactError(thrown) })
}

function hintFor(result: string | undefined): string {
  if (result === 'SQLITE_CANTOPEN') return ' (no such file, or no right to read it)'
  return result === 'SQLITE_READONLY'
    ? ' (a writer crashed: a connection that may write has to undo its transaction, when it reads the file next)'
    : ''
}

function codeOf(result: string | undefined): SourceErrorCode {
  switch (result) {
    case 'SQLITE_CANTOPEN':
      return 'NOT_FOUND'
    case 'SQLITE_PERM':
    case 'SQLITE_AUTH':
      return 'UNAUTHORIZED'
    case 'SQLITE_ERROR': // Such as an unknown column in `sql`.
    case 'SQLITE_NOTADB':
      return 'PROTOCOL'
    default:
      return 'UNAVAILABLE'
  }
}
