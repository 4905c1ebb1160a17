import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { propertiesOf } from '../../common/properties.js'
import { networkHint } from '../../common/source-errors.js'

/** Codes of the two servers. Others are transient, unless they are of a wrong statement. */
const CODES: Readonly<Record<string, SourceErrorCode>> = {
  ER_ACCESS_DENIED_ERROR: 'UNAUTHORIZED',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'UNAUTHORIZED',
  ER_DBACCESS_DENIED_ERROR: 'UNAUTHORIZED',
  ER_TABLEACCESS_DENIED_ERROR: 'UNAUTHORIZED',
  ER_COLUMNACCESS_DENIED_ERROR: 'UNAUTHORIZED',
  ER_SPECIFIC_ACCESS_DENIED_ERROR: 'UNAUTHORIZED',
  ER_ACCOUNT_HAS_BEEN_LOCKED: 'UNAUTHORIZED',
  ER_MUST_CHANGE_PASSWORD_LOGIN: 'UNAUTHORIZED',
  ER_BAD_DB_ERROR: 'NOT_FOUND',
  ER_NO_SUCH_TABLE: 'NOT_FOUND',
  ER_INVALID_GROUP_FUNC_USE: 'PROTOCOL',
  ER_TOO_MANY_USER_CONNECTIONS: 'UNAVAILABLE',
  ER_USER_LIMIT_REACHED: 'UNAVAILABLE',
}
const CANNOT_SEND = 1236
/** The log does not have the position or the transaction, or has other bytes there. A list gets past damaged bytes. */
const WRONG_POSITION =
  /impossible position|position > file size|middle of event|bogus data|exceeded max_allowed_packet|crc check|more GTIDs|not in the master|missing the GTID|diverged/i
/** The classes of SQLSTATE for wrong statements: a wrong number of columns, wrong values, wrong syntax, unknown names. */
const WRONG_STATEMENT = /^(?:21|22|42)/

export function mysqlError(thrown: unknown): SourceError {
  if (thrown instanceof SourceError) return thrown
  const { code, errno, sqlState } = propertiesOf(thrown)
  // "YES" after "password:" would be redacted.
  const message = messageOf(thrown).replace(/\(using password: (\w+)\)/, (_, is) =>
    is === 'NO' ? '(without a password)' : '(with a password)',
  )
  const hint = /^ER_(?:DB|TABLE|COLUMN)ACCESS_DENIED_ERROR$/.test(String(code))
    ? 'the user needs the right SELECT on the table'
    : networkHint(message, 'check the option ssl of the connection')
  return new SourceError(redact(message) + (hint === undefined ? '' : ` (${hint})`), {
    code: errno === CANNOT_SEND ? binlogCodeOf(message) : (CODES[String(code)] ?? codeOf(sqlState)),
    cause: redactError(thrown),
  })
}

function codeOf(sqlState: unknown): SourceErrorCode {
  return WRONG_STATEMENT.test(String(sqlState)) ? 'PROTOCOL' : 'UNAVAILABLE'
}

function binlogCodeOf(message: string): SourceErrorCode {
  // Another reader took the id of this one.
  if (/same server_(uu)?id/i.test(message)) return 'UNAVAILABLE'
  if (/purged|could not find first log/i.test(message)) return 'VERSION_EXPIRED'
  return WRONG_POSITION.test(message) ? 'EPOCH_CHANGED' : 'UNAVAILABLE'
}

function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof SourceError && codes.includes(String(propertiesOf(error.cause)['code']))
}

export function isLockTimeout(error: unknown): boolean {
  return isCode(error, 'ER_LOCK_WAIT_TIMEOUT')
}

/** Whether the table was changed after the snapshot, which cannot be read any more. */
export function isTableChanged(error: unknown): boolean {
  return isCode(error, 'ER_TABLE_DEF_CHANGED')
}

/** Whether the table, or a column, was removed after the statement was written. A list finds out what there is now. */
export function isOfDdl(error: unknown): boolean {
  return isCode(error, 'ER_BAD_FIELD_ERROR', 'ER_NO_SUCH_TABLE')
}

/** Whether the error concerns one table, so that others can be read. */
export function isOfTable(error: unknown): error is SourceError {
  return (
    error instanceof SourceError && ['NOT_FOUND', 'UNAUTHORIZED', 'PROTOCOL', 'VERSION_EXPIRED'].includes(error.code)
  )
}
