import { SourceError, type Wait } from '../../../src/index.js'
import type { History } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import { checkSecrets } from './error-report-checker.js'

interface Expected<V> {
  readonly what: string
  readonly mark?: string
  /** Whether `hasWaiters` of the source is true meanwhile. Default: no. */
  readonly notifiesSource?: 'surely' | 'perhaps'
  readonly limits: Wait
  /** Whether it may fail with this code now, besides a timeout. */
  mayFail(code: string): boolean
  ended(value: V): void
  /** Whether its condition is met: then it must end. */
  isDue?(): boolean
  /** Whether its consumer was closed: then it must have ended. */
  hasConsumerEnded?(): boolean
  /** Whether it waits for a head of the source that nothing requests. */
  isForgotten?(): boolean
  /** Whether it may never end: it waits for a handler that never settles. */
  mayNeverEnd?(): boolean
}

type Pending = { readonly awaited: Omit<Expected<never>, 'ended'>; readonly since: number; mustEnd: boolean }

/** The largest number of clock reads in one check; each read takes time if the clock drifts. */
const CLOCK_READS = 300

/** All pending waits. Each ends when its condition is met or its time is over, and fails only for a valid reason. */
export class WaiterChecker {
  readonly #scenario: Scenario
  readonly #pending = new Map<string, Pending>()
  #count = 0

  constructor(scenario: Scenario) {
    this.#scenario = scenario
  }

  get unfinished(): string | undefined {
    for (const [id, { awaited }] of this.#pending) if (awaited.mayNeverEnd?.() !== true) return id
    return undefined
  }

  /** Marks waits whose condition cannot be met any more. */
  mustEnd(which: (awaited: { readonly mark?: string }) => boolean): void {
    for (const pending of this.#pending.values()) if (which(pending.awaited)) pending.mustEnd = true
  }

  /** Whether `hasWaiters` has to be true now. */
  get notifiesSource(): 'surely' | 'perhaps' | 'no' {
    let notifiesSource: 'perhaps' | 'no' = 'no'
    for (const { awaited } of this.#pending.values()) {
      if (awaited.notifiesSource === 'surely') return 'surely'
      notifiesSource = awaited.notifiesSource ?? notifiesSource
    }
    return notifiesSource
  }

  get any(): string | undefined {
    const [id] = this.#pending.keys()
    return id
  }

  wait<V>(promise: Promise<V>, awaited: Expected<V>): void {
    const { note } = this.#scenario
    const { what } = awaited
    note('waits', what)
    const id = `${what} (${++this.#count})`
    const since = this.#scenario.clock.elapsed
    const { signal } = awaited.limits
    const left = (): void => {
      this.#pending.delete(id)
      if (signal !== undefined && this.#scenario.listenersOf(signal) > 0)
        this.#scenario.violate('I15', `${what} ended with a listener on its signal`)
    }
    this.#pending.set(id, { awaited, since, mustEnd: false })
    promise.then(
      (value) => {
        left()
        note('a wait ends', what)
        awaited.ended(value)
      },
      (error: unknown) => {
        left()
        const code = error instanceof SourceError ? error.code : String(error)
        note('a wait fails', what, code)
        checkSecrets(this.#scenario, error, what)
        if (signal?.aborted && error === signal.reason)
          this.#scenario.mark('a wait ended because its caller aborted it')
        else this.#failed(awaited, code, since)
      },
    )
  }

  checkStep(): void {
    const { clock, settings, violate } = this.#scenario
    for (const [id, { awaited, since, mustEnd }] of this.#pending) {
      if (mustEnd) violate('waits', `the history of ${awaited.mark} is over, and ${id} waits`)
      if (awaited.limits.signal?.aborted) violate('waits', `the caller of ${id} aborted, and it waits`)
      if (awaited.isForgotten?.()) violate('waits', `${id} waits for the head of the source, and nothing requests it`)
      if (awaited.hasConsumerEnded?.()) violate('waits', `${id} waits for a consumer that was closed`)
      if (awaited.isDue?.()) violate('waits', `${id} has its condition met, and waits`)
      // Callbacks are called in order, however late: a timeout before everything that is due after it.
      const waitedMs = clock.reached - since
      if (waitedMs > (awaited.limits.timeoutMs ?? Infinity) + 1 + CLOCK_READS * settings.driftMs)
        violate('waits', `${id} waits for ${waitedMs} ms, longer than it may`)
    }
  }

  #failed(awaited: Omit<Expected<never>, 'ended'>, code: string, since: number): void {
    const { mark, violate, clock } = this.#scenario
    const { what, limits } = awaited
    if (code === 'TIMEOUT' && clock.elapsed - since >= (limits.timeoutMs ?? Infinity)) {
      mark('a wait ended because its time was over')
      return
    }
    if (!awaited.mayFail(code)) violate('waits', `${what} ended with ${code}, for no reason`)
    else if (code === 'EPOCH_CHANGED') mark('a wait ended because the epoch changed')
  }
}

/** Whether the history has forked since this version of it. */
export function forkedSince(history: History, version: string): () => boolean {
  const { epoch } = history.at(version)
  return () => history.head.epoch > epoch
}

/** Whether a version includes a mark, or belongs to a later epoch. */
export function includes(history: History, version: string | undefined, mark: string): boolean {
  if (version === undefined) return false
  const [at, wanted] = [history.at(version), history.at(mark)]
  return at.epoch > wanted.epoch || (at.epoch === wanted.epoch && at.sequence >= wanted.sequence)
}

/**
 * Whether a version of the same epoch includes a mark. A mark of an earlier epoch waits until the source has responded.
 */
export function isReached(history: History, version: string | undefined, mark: string): boolean {
  return includes(history, version, mark) && history.at(version ?? mark).epoch === history.at(mark).epoch
}
