import type { Clock } from '../contract/clock.js'
import { isEpochChange, over, SourceError } from '../contract/errors.js'
import { assertMark, type Version } from '../contract/version.js'
import { checkOptions, isPositive, isSignal, isString, type OptionCheck } from '../util/validate-options.js'

/** How long to wait at most. Without either: for ever. */
export interface Wait {
  /** Rejects with its reason when it aborts. */
  readonly signal?: AbortSignal | undefined
  /** Rejects with a SourceError with code `TIMEOUT` after this many milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** The same, for a version. */
export interface VersionWait extends Wait {
  /** Over several sources: whose version it is. */
  readonly source?: string | undefined
}

/** Both ends of a promise; only the first call counts. */
export interface Settle<V> {
  resolve(value: V): void
  reject(reason: unknown): void
}

const waitChecks: Readonly<Record<string, OptionCheck>> = { signal: isSignal, timeoutMs: isPositive }

export function checkWait(call: string, wait: unknown): void {
  checkOptions(call, wait, waitChecks)
}

export function checkVersionWait(version: unknown, wait: unknown): void {
  if (typeof version !== 'string') throw new TypeError(`waitFor: the version must be a string, got ${typeof version}`)
  checkOptions('waitFor', wait, { ...waitChecks, source: isString })
}

/**
 * A promise that also ends with the caller's signal or time-out. `register` gets both ends, and gives what takes them
 * back; it may settle at once. Nothing is left behind, whichever comes first. `whyNot` says how things are when time is up.
 */
export function waiting<V>(
  what: string,
  { signal, timeoutMs }: Wait,
  clock: Clock,
  register: (settle: Settle<V>) => () => void,
  whyNot?: () => string,
): Promise<V> {
  return new Promise<V>((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const timer = timeoutMs === undefined ? undefined : new AbortController()
    let unregister: (() => void) | undefined
    let isSettled = false
    const settled = (): boolean => {
      if (isSettled) return false
      isSettled = true
      unregister?.()
      signal?.removeEventListener('abort', abort)
      timer?.abort(over)
      return true
    }
    const settle: Settle<V> = {
      resolve: (value) => settled() && resolve(value),
      reject: (reason) => settled() && reject(reason),
    }
    const abort = (): void => settle.reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      unregister = register(settle)
    } catch (error) {
      settle.reject(error)
      return
    }
    if (isSettled) unregister()
    else if (timeoutMs !== undefined && timer !== undefined) {
      const late = (): void => {
        const why = whyNot === undefined ? '' : `; ${whyNot()}`
        settle.reject(new SourceError(`${what}: not within ${timeoutMs} ms${why}`, { code: 'TIMEOUT' }))
      }
      clock.sleep(timeoutMs, timer.signal).then(late, () => {})
    }
  })
}

/** Waits for something, no longer than `ms`; nothing is left of the wait. */
export async function within(ms: number, something: Promise<unknown>, clock: Clock): Promise<void> {
  const timer = new AbortController()
  await Promise.race([something, clock.sleep(ms, timer.signal).catch(() => {})])
  timer.abort(over)
}

/** Everybody who waits for something that happens once; afterwards it has happened for all who come. */
export class Gate {
  readonly #waiting = new Set<Settle<void>>()
  #isOpen = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): void {
    this.#isOpen = true
    for (const settle of [...this.#waiting]) settle.resolve()
  }

  /** Turns away who waits now; the gate stays as it is. */
  refuse(reason: unknown): void {
    for (const settle of [...this.#waiting]) settle.reject(reason)
  }

  enter(settle: Settle<void>): () => void {
    if (this.#isOpen) settle.resolve()
    else this.#waiting.add(settle)
    return () => this.#waiting.delete(settle)
  }
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

  refuse(reason: unknown): void {
    for (const settle of [...this.#waiting.keys()]) settle.reject(reason)
  }

  /** The epoch of `at` is over: rejects the waits for marks of it. Marks of another epoch may be of the one that begins. */
  fork(at: Version, reason: unknown, isLaterEpoch?: (at: Version, mark: Version) => boolean): void {
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
