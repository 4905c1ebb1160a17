import { messageOf, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { redact, redactError } from '../../src/util/redact.js'

/** Why a version can no longer be resumed from. */
export type ExpiredReason =
  | 'trimmed'
  | 'shape'
  | 'access'
  | 'truncate or bulk change'
  | 'generation'
  | 'too many changes'
  | 'prepared transaction'

/** The history after our version is gone, or does not tell all: one relist. */
export function expired(reason: ExpiredReason, detail: string): SourceError {
  return new SourceError(`the version has expired (${reason}): ${detail}`, { code: 'VERSION_EXPIRED' })
}

/** The SQLSTATE of an error of Postgres, or the code of one of the network. */
export function codeOf(thrown: unknown): string | undefined {
  const { code } = Object(thrown) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/**
 * What an error of the driver, the network or the server means. What is not here is transient: Postgres says of most
 * errors only that it did not work this time.
 */
export function postgresError(thrown: unknown): SourceError {
  if (thrown instanceof SourceError) return thrown
  const code = codeOf(thrown)
  const message = redact(messageOf(thrown))
  return new SourceError(message + hintFor(code, message), {
    code: meaningOf(code, message),
    cause: redactError(thrown),
  })
}

function meaningOf(code: string | undefined, message: string): SourceErrorCode {
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

function hintFor(code: string | undefined, message: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return ' (no server listens there: check host and port)'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return ' (no such host: check its name)'
    case '42501':
      return ' (a role that was granted columns keeps these alone); as the owner of the table run: listwatch pg install <url> --table <table> --grant <role>'
    case '0A000': // unlogged tables
    case '25006': // LISTEN
      return /recovery/.test(message) ? ' (the server is a standby; mirrors need the primary)' : ''
    default:
      return /SASL|client password must be a string/.test(message)
        ? ' (the server wants a password, and none was given)'
        : ''
  }
}
