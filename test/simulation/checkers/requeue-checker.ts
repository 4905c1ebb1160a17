import type { ReconcileContext } from '../../../src/subscriptions/controller/controller-types.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'

const SLACK_MS = 2
/** The longest wait of a failed key that was enqueued or changed, in milliseconds. */
const CHANGED_KEY_MS = 100
const NEVER = -Infinity

interface Due {
  readonly at: number
  /** The suspended time before it. */
  readonly skipped: number
  /** Whether the run is certain: before the first list no key is run, and one delay may count for another. */
  readonly isFirm: boolean
  /** Whether a run is certain, though not its time. */
  readonly isOwed: boolean
}

interface KeyRequests {
  due: Due[]
  /** The time of another run unless there is an earlier one: from `requeueAfter`, or after a failure. */
  again: Due | undefined
  reasonAt: number
  begunAt: number
  /** How its last run ended; undefined before the first run. */
  last: 'succeeded' | 'failed' | 'asked' | 'runs' | undefined
  failedAt: number
  isEnqueued: boolean
  isEnqueuedNow: boolean
}

export interface RequeueCheckerOptions {
  readonly name: string
  readonly changedAt: ((key: string) => number) | undefined
  readonly resyncs: boolean
  /** The last time without capacity for another run. */
  readonly fullAt: () => number
}

/**
 * Checks that a controller runs a key when requested: at the time of `enqueue`, whatever happened to the key meanwhile,
 * and at the time of `requeueAfter` unless there was another run. It never runs a key without a reason, which it names.
 * It says why an object is gone exactly if it is.
 */
export class RequeueChecker {
  readonly #scenario: Scenario
  readonly #options: RequeueCheckerOptions
  readonly #keys = new Map<string, KeyRequests>()
  #isSealed = false

  constructor(scenario: Scenario, options: RequeueCheckerOptions) {
    this.#scenario = scenario
    this.#options = options
  }

  get isWaiting(): boolean {
    const { elapsed } = this.#scenario.clock
    return [...this.#keys.values()].some(({ due, again }) =>
      [...due, ...optional(again)].some(({ at }) => at > elapsed),
    )
  }

  /** Keys that were enqueued and should have run by now if there was capacity. */
  get overdue(): Set<string> {
    const { clock, settings } = this.#scenario
    const isOver = ({ at, skipped, isOwed }: Due): boolean =>
      isOwed && at < clock.elapsed - SLACK_MS && skipped === clock.skipped
    const keys = new Set<string>()
    if (settings.driftMs > 0) return keys
    for (const [key, { due }] of this.#keys) if (due.some(isOver)) keys.add(key)
    return keys
  }

  /** No delay counts any more. It is unknown whether one ends at this very time. */
  sealed(): void {
    this.#isSealed = true
    const { elapsed } = this.#scenario.clock
    const left = (due: Due): readonly Due[] => {
      if (due.at > elapsed + SLACK_MS) return []
      return [due.at < elapsed - SLACK_MS ? due : { ...due, isFirm: false }]
    }
    for (const requests of this.#keys.values()) {
      requests.due = requests.due.flatMap(left)
      requests.again = optional(requests.again).flatMap(left)[0]
    }
  }

  /** Called with each `enqueue`; not `isFirm` before the first list. A stop that has begun may ignore it. */
  enqueued(key: string, delayMs: number, isFirm: boolean, isStopping: boolean): void {
    const requests = this.#of(key)
    requests.isEnqueued = true
    requests.isEnqueuedNow ||= delayMs === 0 && !isStopping
    const { elapsed } = this.#scenario.clock
    const at = elapsed + delayMs
    // At the time of a failure, it is unknown whether the call still belongs to the run.
    const isCertain = requests.failedAt !== elapsed
    if (delayMs === 0) requests.due.push(this.#due(at, isFirm && isCertain, isCertain))
    else this.#merge(requests, this.#due(at, isFirm && !this.#isDueNow(requests)))
  }

  begins(key: string, context: ReconcileContext<Item>): void {
    const { clock, mark, settings, violate } = this.#scenario
    const { name, changedAt, resyncs } = this.#options
    const requests = this.#of(key)
    const { elapsed } = clock
    const past = requests.due.filter(({ at }) => at <= elapsed + SLACK_MS)
    // A time during a suspension comes late, perhaps only after this run has begun.
    for (const { at, skipped } of past)
      requests.reasonAt = Math.max(requests.reasonAt, skipped === clock.skipped ? at : elapsed)
    this.#checkLate(key, requests)
    const isAgain = requests.again !== undefined && requests.again.at <= elapsed + SLACK_MS
    const hasFailed = requests.last === 'failed'
    if (isAgain && !hasFailed) mark('a controller ran a key again after requeueAfter')
    const isExact = settings.driftMs === 0 && changedAt !== undefined && !resyncs
    const hasReason = hasFailed || isAgain || Math.max(requests.reasonAt, changedAt?.(key) ?? NEVER) >= requests.begunAt
    if (isExact && !hasReason) violate('controllers', `${name} runs ${nameOf(key)}, and there is no reason for it`)
    requests.due = requests.due.filter(({ at }) => at > elapsed)
    requests.again = undefined
    this.#checkReason(key, requests, context)
    requests.isEnqueuedNow = false
    requests.last = 'runs'
    requests.begunAt = elapsed
  }

  /** A run has ended; `againMs` is its `requeueAfter`, if it succeeded. `isGivenUp`: it failed, and is not retried. */
  ended(key: string, againMs: number | undefined, hasFailed: boolean, isGivenUp: boolean): void {
    const requests = this.#of(key)
    const { elapsed } = this.#scenario.clock
    const isAsked = againMs !== undefined && !isGivenUp
    requests.last = hasFailed && !isGivenUp ? 'failed' : isAsked ? 'asked' : 'succeeded'
    if (hasFailed) requests.failedAt = elapsed
    if (againMs !== undefined && !hasFailed && !this.#isSealed) requests.again = this.#due(elapsed + againMs)
    // Keys that were enqueued during the run are run after it; after a failure, as part of the retry.
    const isNow = ({ at }: Due): boolean => at <= elapsed
    const now = requests.due.filter(isNow)
    if (now.length === 0) return
    // A time during a suspension comes late, perhaps only after this run has ended.
    if (now.some(({ skipped }) => skipped !== this.#scenario.clock.skipped)) requests.reasonAt = elapsed
    requests.due = requests.due.filter((due) => !isNow(due))
    const next = this.#due(
      elapsed + (hasFailed ? CHANGED_KEY_MS : 0),
      now.some(({ isFirm }) => isFirm),
    )
    if (hasFailed) requests.again = this.#isSealed ? undefined : next
    else requests.due.push(next)
  }

  check(): void {
    for (const [key, requests] of this.#keys) this.#checkLate(key, requests)
  }

  /** Of several delays, the shortest counts. */
  #merge(requests: KeyRequests, next: Due): void {
    const { elapsed } = this.#scenario.clock
    const before = requests.due.filter(({ at }) => at > elapsed && at <= next.at)
    if (before.some(({ isFirm }) => isFirm)) return
    const isFirm = next.isFirm && before.length === 0
    const others = requests.due.filter(({ at }) => at <= next.at || !isFirm)
    requests.due = [
      ...others.map((each) => (each.at <= next.at ? each : { ...each, isFirm: false, isOwed: false })),
      { ...next, isFirm, isOwed: isFirm },
    ]
  }

  /** Whether a delay ends at this time, so that it is unknown whether it has ended. */
  #isDueNow({ due, reasonAt }: KeyRequests): boolean {
    const { elapsed, skipped } = this.#scenario.clock
    const isNow = (each: Due): boolean =>
      Math.abs(each.at - elapsed) <= SLACK_MS || (each.at < elapsed && each.skipped !== skipped)
    return reasonAt >= elapsed - SLACK_MS || due.some(isNow)
  }

  #checkLate(key: string, { due, again }: KeyRequests): void {
    const { clock, settings, violate } = this.#scenario
    const { name, fullAt } = this.#options
    for (const { at, skipped, isFirm } of [...due, ...optional(again)]) {
      const lateMs = clock.elapsed - at
      const isExact = isFirm && settings.driftMs === 0 && clock.skipped === skipped && fullAt() <= at
      if (isExact && lateMs > SLACK_MS)
        violate('controllers', `${name} has not run ${nameOf(key)} ${Math.round(lateMs)} ms after the requested time`)
    }
  }

  #checkReason(key: string, requests: KeyRequests, context: ReconcileContext<Item>): void {
    const { violate } = this.#scenario
    const { object, lastObject, gone, reason } = context
    const of = `${this.#options.name} runs ${nameOf(key)} with the reason ${reason}`
    const flaw = this.#flawIn(requests, key, context)
    if (flaw !== undefined) violate('controllers', `${of}, but ${flaw}`)
    if ((gone === undefined) !== (object !== undefined)) violate('controllers', `${of}, and it is gone: ${gone}`)
    if (gone === 'deleted' && lastObject === undefined) violate('controllers', `${of}, deleted without a last state`)
  }

  #flawIn(
    { last, isEnqueued, isEnqueuedNow, begunAt }: KeyRequests,
    key: string,
    { attempt, reason }: ReconcileContext<Item>,
  ): string | undefined {
    const { resyncs } = this.#options
    // If each read of the clock takes time, the witness may receive a change after the controller.
    const changedAt = this.#scenario.settings.driftMs === 0 ? this.#options.changedAt : undefined
    if (isEnqueuedNow && reason !== 'enqueued' && reason !== 'changed') return 'it was enqueued'
    switch (reason) {
      case 'initial':
        return last === undefined || last === 'failed' ? undefined : 'it ran before'
      case 'changed':
        return changedAt === undefined || changedAt(key) >= begunAt ? undefined : 'it did not change'
      case 'enqueued':
        return isEnqueued ? undefined : 'it was not enqueued'
      case 'gained':
        return 'there are no replicas'
      case 'retry':
        return last === 'failed' && attempt > 1 ? undefined : 'its last run did not fail'
      case 'requeued':
        return last === 'asked' ? undefined : 'its last run did not ask for it'
      case 'watches':
        return 'it watches nothing'
      case 'resync':
        return resyncs ? undefined : 'there are no resyncs'
    }
  }

  #due(at: number, isFirm = true, isOwed = isFirm): Due {
    return { at, skipped: this.#scenario.clock.skipped, isFirm, isOwed }
  }

  #of(key: string): KeyRequests {
    let requests = this.#keys.get(key)
    if (requests === undefined) {
      // Before its first run, anything may have happened to a key.
      const never = { reasonAt: NEVER, begunAt: NEVER, failedAt: NEVER }
      requests = { due: [], again: undefined, last: undefined, isEnqueued: false, isEnqueuedNow: false, ...never }
      this.#keys.set(key, requests)
    }
    return requests
  }
}

function optional(due: Due | undefined): readonly Due[] {
  return due === undefined ? [] : [due]
}
