import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { shellQuoted } from '../../../src/util/shell-quoted.js'
import { propertiesOf } from '../../common/properties.js'

/** The history after the version was removed or is incomplete: the core lists the table once. */
export function expired(reason: string, detail: string): SourceError {
  return new SourceError(`the version has expired (${reason}): ${detail}`, { code: 'VERSION_EXPIRED' })
}

export function codeOf(thrown: unknown): string | undefined {
  const { code } = propertiesOf(thrown)
  return typeof code === 'string' ? code : undefined
}

/**
 * Converts an error of the driver, the network or the server. Codes that are not listed here are transient, because
 * most errors of Postgres do not say that a retry is useless. `client` and `table`: the client of pg that failed, and
 * the table that it should read, if they are known.
 */
export function postgresError(thrown: unknown, client?: unknown, table?: string): SourceError {
  if (thrown instanceof SourceError) return thrown
  const code = codeOf(thrown)
  const message = redact(messageOf(thrown))
  return new SourceError(message + hintFor(code, message, client, table), {
    code: sourceErrorCodeOf(code, message),
    cause: redactError(thrown),
  })
}

function sourceErrorCodeOf(code: string | undefined, message: string): SourceErrorCode {
  switch (code) {
    case '28000': // invalid authorization
    case '28P01': // wrong password
    case '42501': // insufficient privilege
      return 'UNAUTHORIZED'
    case '3D000': // no such database
    case '3F000': // no such schema
    case '42P01': // no such table
    case '42883': // no such function
      return 'NOT_FOUND'
    case '42703': // no such column
    case '42601': // syntax
    case '42804': // wrong type
    case '42P17': // not immutable
      return 'PROTOCOL'
    default:
      return /password/.test(message) && code === undefined ? 'UNAUTHORIZED' : 'UNAVAILABLE'
  }
}

function hintFor(code: string | undefined, message: string, client: unknown, table: string | undefined): string {
  switch (code) {
    case 'ECONNREFUSED':
      return ' (no server listens there: check host and port)'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return ' (no such host: check its name)'
    case '42501':
      if (/row-level security/.test(message)) return ''
      return `; as the owner of the table run: ${grantCommand(client, table)}`
    case '0A000': // unlogged tables
    case '25006': // LISTEN
      return /recovery/.test(message) ? ' (the server is a standby; mirrors need the primary)' : ''
    default:
      if (/does not support SSL/.test(message))
        return ` (${addressOf(client)} has no TLS: check host and port, or connect without TLS: sslmode=disable)`
      return /SASL|client password must be a string/.test(message)
        ? ' (the server requires a password, and the client has none)'
        : ''
  }
}

/** The command that grants the role of a client of pg the rights to read a table. */
export function grantCommand(client: unknown, table: string | undefined): string {
  const { user } = propertiesOf(client)
  const role = typeof user === 'string' && user !== '' ? shellWord(user) : '<role>'
  return `npx listwatch pg install <url> --table ${table === undefined ? '<table>' : shellWord(table)} --grant ${role}`
}

export function shellWord(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : shellQuoted(word)
}

function addressOf(client: unknown): string {
  const { host, port } = propertiesOf(client)
  return typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : 'the server'
}

export function isTooLong(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === 'ERR_STRING_TOO_LONG'
}

export function isPermissionDenied(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === '42501'
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === '55P03'
}
