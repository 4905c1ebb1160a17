import { isEpochChange } from '../contract/errors.js'
import { assertMark, type Version } from '../contract/version.js'
import { type Settle, type Wait, waitChecks } from '../util/deadline.js'
import { checkOptions, isString } from '../util/validate-options.js'

/** The same, for a version. */
export interface VersionWait extends Wait {
  /** Over several sources: whose version it is. */
  readonly source?: string | undefined
}

export function checkVersionWait(version: unknown, wait: unknown): void {
  if (typeof version !== 'string') throw new TypeError(`waitFor: the version must be a string, got ${typeof version}`)
  checkOptions('waitFor', wait, { ...waitChecks, source: isString })
}

/** Decides about a wait for a mark of another epoch than the store's: rejects it with `error`, or leaves it. */
export type JudgeOther = (settle: Settle<void>, mark: Version, error: unknown) => void

/** Everybody who waits for a version. */
export class VersionWaiters {
  readonly #hasReached: (at: Version, mark: Version) => boolean
  readonly #judgeOther: JudgeOther
  readonly #waiting = new Map<Settle<void>, Version>()

  /** Without `judgeOther` a wait for a mark of another epoch rejects. */
  constructor(
    hasReached: (at: Version, mark: Version) => boolean,
    judgeOther: JudgeOther = (settle, _mark, error) => settle.reject(error),
  ) {
    this.#hasReached = hasReached
    this.#judgeOther = judgeOther
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves once `at`, or a version with which `check` is called later, includes `mark`. */
  enter(mark: Version, at: Version | undefined, settle: Settle<void>): () => void {
    try {
      assertMark(mark)
    } catch (error) {
      settle.reject(error)
      return () => {}
    }
    this.#waiting.set(settle, mark)
    if (at !== undefined && this.#tell(settle, mark, at)) this.#waiting.delete(settle)
    return () => this.#waiting.delete(settle)
  }

  /** Whether `at` includes `mark`; false for a mark of another epoch. */
  includes(at: Version, mark: Version): boolean {
    try {
      return this.#hasReached(at, mark)
    } catch (error) {
      if (isEpochChange(error)) return false
      throw error
    }
  }

  check(at: Version | undefined): void {
    if (at === undefined || this.#waiting.size === 0) return
    for (const [settle, mark] of [...this.#waiting]) this.#tell(settle, mark, at)
  }

  rejectAll(reason: unknown): void {
    for (const settle of [...this.#waiting.keys()]) settle.reject(reason)
  }

  /** The epoch of `at` is over: rejects the waits for marks of it. Marks of another epoch may be of the one that begins. */
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

  /** Whether the wait is over. */
  #tell(settle: Settle<void>, mark: Version, at: Version): boolean {
    try {
      if (!this.#hasReached(at, mark)) return false
      settle.resolve()
    } catch (error) {
      if (isEpochChange(error)) {
        this.#judgeOther(settle, mark, error)
        return false
      }
      settle.reject(error)
    }
    return true
  }
}
