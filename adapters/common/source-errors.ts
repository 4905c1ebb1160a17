import { SourceError } from '../../src/contract/errors.js'

/** The history after the version has been removed: the core lists the source once. */
export function expired(detail: string): SourceError {
  return new SourceError(`the version has expired: ${detail}`, { code: 'VERSION_EXPIRED' })
}

/** The source now has another history under the same name. */
export function forked(detail: string): SourceError {
  return new SourceError(`this is another history than the version's: ${detail}`, { code: 'EPOCH_CHANGED' })
}

/** A transient failure: the core retries after a delay. */
export function unavailable(detail: string, cause?: unknown): SourceError {
  return new SourceError(detail, { code: 'UNAVAILABLE', ...(cause === undefined ? {} : { cause }) })
}

export function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof SourceError && thrown.code === 'UNAVAILABLE'
}

export function isExpired(thrown: unknown): thrown is SourceError {
  return thrown instanceof SourceError && thrown.code === 'VERSION_EXPIRED'
}
