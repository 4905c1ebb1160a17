import { SourceError } from '../../src/contract/errors.js'

/** The history after the version has been removed: the core lists the source once. */
export function expired(detail: string): SourceError {
  return new SourceError(`the version has expired: ${detail}`, { code: 'VERSION_EXPIRED' })
}

/** The source now has another history under the same name. */
export function forked(detail: string): SourceError {
  return new SourceError(`this is another history than the version's: ${detail}`, { code: 'EPOCH_CHANGED' })
}

/** The object of the source cannot be mirrored as it is. */
export function refused(message: string, cause?: unknown): SourceError {
  return new SourceError(message, { code: 'PROTOCOL', cause })
}

export function notFound(message: string, cause?: unknown): SourceError {
  return new SourceError(message, { code: 'NOT_FOUND', cause })
}

/** A transient failure: the core retries after a delay. */
export function unavailable(detail: string, cause?: unknown): SourceError {
  return new SourceError(detail, { code: 'UNAVAILABLE', cause })
}

export function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof SourceError && thrown.code === 'UNAVAILABLE'
}

export function isExpired(thrown: unknown): thrown is SourceError {
  return thrown instanceof SourceError && thrown.code === 'VERSION_EXPIRED'
}

/** What a user can do about an error of the network, if it is one. `tlsHint`: how TLS is configured. */
export function networkHint(message: string, tlsHint: string): string | undefined {
  if (/ECONNREFUSED/.test(message)) return 'no server listens there: check host and port'
  if (/ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(message)) return 'no such host: check its name'
  return /certificate|SSL|TLS|wrong version number/i.test(message) ? tlsHint : undefined
}
