import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { apiStatusIn } from '../http/api-error.js'

/** So many watches in a row that fail from one version, and there is no way on from it. */
const MAX_FAILURES = 3

/**
 * Finds versions that no watch leads on from, though the server does not call them expired: without a watch cache it fails
 * for ever (500) where etcd was compacted in the middle of what it would have to tell.
 */
export class StuckResumeDetector {
  #at: Version | undefined
  #failures = 0

  /** A watch from there failed so. Gives that, or `VERSION_EXPIRED` where it was the last of several. */
  classify(error: unknown, after: Version): unknown {
    if (apiStatusIn(error)?.code !== 500) return error
    this.#failures = after === this.#at ? this.#failures + 1 : 1
    this.#at = after
    if (this.#failures < MAX_FAILURES) return error
    this.reset()
    const message = `no watch leads on from ${after}: ${MAX_FAILURES} in a row have failed`
    return new SourceError(message, { code: 'VERSION_EXPIRED', cause: error })
  }

  /** A watch ended as they do. */
  reset(): void {
    this.#at = undefined
    this.#failures = 0
  }
}
