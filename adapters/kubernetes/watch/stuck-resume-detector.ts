import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { apiStatusIn } from '../http/api-error.js'

/** After this number of failed watches from one version in a row, the mirror lists. */
const MAX_FAILURES = 3

/**
 * Detects versions from which no watch succeeds although the server does not report them as expired. A server without a
 * watch cache fails indefinitely (500) if etcd was compacted within the requested history.
 */
export class StuckResumeDetector {
  #at: Version | undefined
  #failures = 0

  /** Returns `VERSION_EXPIRED` if this is the last of several failures from one version; otherwise the error itself. */
  classify(error: unknown, after: Version): unknown {
    if (apiStatusIn(error)?.code !== 500) return error
    this.#failures = after === this.#at ? this.#failures + 1 : 1
    this.#at = after
    if (this.#failures < MAX_FAILURES) return error
    this.reset()
    const message = `no watch can resume from ${after}: ${MAX_FAILURES} in a row have failed`
    return new SourceError(message, { code: 'VERSION_EXPIRED', cause: error })
  }

  /** A watch ended without an error. */
  reset(): void {
    this.#at = undefined
    this.#failures = 0
  }
}
