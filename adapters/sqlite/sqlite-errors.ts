import { messageOf, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { redact, redactError } from '../../src/util/redact.js'
import { propertiesOf } from '../shared/properties.js'

/** The names of the result codes that are distinguished. better-sqlite3 has the name, node:sqlite the number. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  14: 'SQLITE_CANTOPEN',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
}

/** Returns the name of SQLite's primary result code; undefined for any other error. */
function resultOf(thrown: unknown): string | undefined {
  const { errcode, code } = propertiesOf(thrown)
  if (typeof errcode === 'number') return NAMES[errcode & 0xff] ?? 'other'
  return typeof code === 'string' ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : undefined
}

/** Whether another connection holds a lock. */
export function isBusy(thrown: unknown): boolean {
  const result = resultOf(thrown)
  return result === 'SQLITE_BUSY' || result === 'SQLITE_LOCKED'
}

/** Whether node:sqlite refuses to return an integer beyond 2^53 as a number. */
export function isOutOfRange(thrown: unknown): boolean {
  return propertiesOf(thrown)['code'] === 'ERR_OUT_OF_RANGE'
}

/** Converts an error of the driver or of SQLite. */
export function sqliteError(thrown: unknown): SourceError {
  if (thrown instanceof SourceError) return thrown
  const result = resultOf(thrown)
  const hint = result === 'SQLITE_CANTOPEN' ? ' (no such file, or no right to read it)' : ''
  return new SourceError(redact(messageOf(thrown)) + hint, { code: codeOf(result), cause: redactError(thrown) })
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
