import { isEpochChange, SourceError } from '../contract/errors.js'
import { assertMark, type Version } from '../contract/version.js'
import { type Settle, type Wait, waitChecks } from '../util/deadline.js'
import { isThenable } from '../util/type-guards.js'
import { checkOptions, isString } from '../util/validate-options.js'

/**
 * The limits of a wait for a version.
 *
 * @example
 * ```ts
 * const informer = createInformer({ source: sourceSet({ eu: sourceOf('eu'), us: sourceOf('us') }) })
 * await informer.waitFor(mark, { source: 'eu', timeoutMs: 5_000 })
 * ```
 */
export interface VersionWait extends Wait {
  /** With several sources: the name of the source of the version. Required then. */
  readonly source?: string | undefined
}

export function checkVersionWait(version: unknown, wait: unknown): void {
  if (typeof version !== 'string') {
    const got = isThenable(version) ? 'a promise: await it first' : typeof version
    throw new TypeError(`waitFor: the version must be a string, got ${got}`)
  }
  checkOptions('waitFor', wait, { ...waitChecks, source: isString })
}

/** Called with a wait for a mark of another epoch than that of the store. It rejects the wait, or lets it continue. */
export type OnOtherEpoch = (settle: Settle<void>, mark: Version, error: unknown) => void

export class VersionWaiters {
  readonly #hasReached: (at: Version, mark: Version) => boolean
  readonly #onOtherEpoch: OnOtherEpoch
  readonly #waiting = new Map<Settle<void>, Version>()

  constructor(
    hasReached: (at: Version, mark: Version) => boolean,
    onOtherEpoch: OnOtherEpoch = (settle, _mark, error) => settle.reject(error),
  ) {
    this.#hasReached = hasReached
    this.#onOtherEpoch = onOtherEpoch
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves once `at`, or a version with which `check` is called later, includes `mark`. */
  enter(mark: Version, at: Version | undefined, settle: Settle<void>): () => void {
    try {
      assertMark(mark)
    } catch (error) {
      settle.reject(refusalOf(error))
      return () => {}
    }
    this.#waiting.set(settle, mark)
    if (at !== undefined && this.#settleIfReached(settle, mark, at)) this.#waiting.delete(settle)
    return () => this.#waiting.delete(settle)
  }

  /** Whether `at` includes `mark`; false also for a mark of another epoch, and for one that is not a version. */
  includes(at: Version, mark: Version): boolean {
    try {
      return this.#hasReached(at, mark)
    } catch {
      return false
    }
  }

  check(at: Version | undefined): void {
    if (at === undefined || this.#waiting.size === 0) return
    for (const [settle, mark] of [...this.#waiting]) this.#settleIfReached(settle, mark, at)
  }

  rejectAll(reason: unknown): void {
    for (const settle of [...this.#waiting.keys()]) settle.reject(reason)
  }

  /** The epoch of `at` has ended. Marks of another epoch may be of the next one. */
  epochChanged(at: Version, reason: unknown, isLaterEpoch?: (at: Version, mark: Version) => boolean): void {
    for (const [settle, mark] of [...this.#waiting]) {
      try {
        if (!this.#hasReached(at, mark) && isLaterEpoch?.(at, mark) === true) continue
      } catch (error) {
        if (isEpochChange(error)) continue
      }
      settle.reject(reason)
    }
  }

  #settleIfReached(settle: Settle<void>, mark: Version, at: Version): boolean {
    try {
      if (!this.#hasReached(at, mark)) return false
      settle.resolve()
    } catch (error) {
      if (isEpochChange(error)) {
        this.#onOtherEpoch(settle, mark, error)
        return false
      }
      settle.reject(refusalOf(error))
    }
    return true
  }
}

/** A mark may come from a client. One that is not a version of the source is a mistake of that client. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof SourceError) || error.code !== 'PROTOCOL') return error
  return new SourceError(error.message, { code: 'INVALID_MARK', cause: error })
}
