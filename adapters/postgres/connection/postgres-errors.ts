import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { shellQuoted } from '../../../src/util/shell-quoted.js'
import { propertiesOf } from '../../common/properties.js'
import { networkHint } from '../../common/source-errors.js'

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

/** By SQLSTATE. */
const CODES: Readonly<Record<string, SourceErrorCode>> = {
  '28000': 'UNAUTHORIZED', // invalid authorization
  '28P01': 'UNAUTHORIZED', // wrong password
  '42501': 'UNAUTHORIZED', // insufficient privilege
  '3D000': 'NOT_FOUND', // no such database
  '3F000': 'NOT_FOUND', // no such schema
  '42P01': 'NOT_FOUND', // no such table
  '42883': 'NOT_FOUND', // no such function
  '42703': 'PROTOCOL', // no such column
  '42601': 'PROTOCOL', // syntax
  '42804': 'PROTOCOL', // wrong type
  '42P17': 'PROTOCOL', // not immutable
}

function sourceErrorCodeOf(code: string | undefined, message: string): SourceErrorCode {
  if (code === undefined) return /password/.test(message) ? 'UNAUTHORIZED' : 'UNAVAILABLE'
  return CODES[code] ?? 'UNAVAILABLE'
}

function hintFor(code: string | undefined, message: string, client: unknown, table: string | undefined): string {
  switch (code) {
    case '42501':
      if (/row-level security/.test(message)) return ''
      return `; as the owner of the table run: ${grantCommand(client, table)}`
    case '0A000': // unlogged tables
    case '25006': // LISTEN
      return /recovery/.test(message) ? ' (the server is a standby; mirrors need the primary)' : ''
    default: {
      const hint = networkHint(code ?? '', '')
      if (hint) return ` (${hint})`
      if (/does not support SSL/.test(message))
        return ` (${addressOf(client)} has no TLS: check host and port, or connect without TLS: sslmode=disable)`
      return /SASL|client password must be a string/.test(message)
        ? ' (the server requires a password, and the client has none)'
        : ''
    }
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
