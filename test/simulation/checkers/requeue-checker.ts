import { nameOf, type Scenario } from '../system/scenario.js'

/** How far from its time a run may be. */
const SLACK_MS = 2
/** After a failure with news a key waits for so long, at most. */
const CHANGED_KEY_MS = 100
const NEVER = -Infinity

/** A time that somebody has asked for. */
interface Due {
  readonly at: number
  /** How much of the time had gone by unnoticed. */
  readonly skipped: number
  /** Whether it is certain: before the first list nothing is run, and one delay may count for another. */
  readonly isFirm: boolean
  /** Whether it is certain that it has to be run, though nobody knows when. */
  readonly isOwed: boolean
}

/** What was asked of one key. */
interface KeyRequests {
  /** When it was asked to be run by `enqueue`, and has to be still. */
  due: Due[]
  /** When there is to be another run, unless there is one before: as the last one wanted, or because it failed. */
  again: Due | undefined
  /** When something last happened that is a reason for a run. */
  reasonAt: number
  begunAt: number
  hasFailed: boolean
  /** When a run last failed. */
  failedAt: number
}

export interface RequeueCheckerOptions {
  readonly name: string
  /** When something was last told of a key; undefined where nobody knows. */
  readonly changedAt: ((key: string) => number) | undefined
  /** Whether it also runs keys to look at them again. */
  readonly resyncs: boolean
  /** When there was last no room for another run. */
  readonly fullAt: () => number
}

/**
 * Judges whether a controller runs a key when it was asked to: by `enqueue` at that time, whatever happened to the key
 * meanwhile; by `requeueAfter` then, unless something happened before. And never without a reason.
 */
export class RequeueChecker {
  readonly #scenario: Scenario
  readonly #options: RequeueCheckerOptions
  readonly #keys = new Map<string, KeyRequests>()
  /** Whether no time is waited for any more. */
  #isSealed = false

  constructor(scenario: Scenario, options: RequeueCheckerOptions) {
    this.#scenario = scenario
    this.#options = options
  }

  /** Whether something that was asked for is still to come. */
  get isWaiting(): boolean {
    const { elapsed } = this.#scenario.clock
    return [...this.#keys.values()].some(({ due, again }) =>
      [...due, ...optional(again)].some(({ at }) => at > elapsed),
    )
  }

  /** Keys that were asked for, and should have been run by now unless there was no room for that. */
  get overdue(): Set<string> {
    const { clock, settings } = this.#scenario
    const isOver = ({ at, skipped, isOwed }: Due): boolean =>
      isOwed && at < clock.elapsed - SLACK_MS && skipped === clock.skipped
    const keys = new Set<string>()
    if (settings.driftMs > 0) return keys
    for (const [key, { due }] of this.#keys) if (due.some(isOver)) keys.add(key)
    return keys
  }

  /** From now on no time is waited for: at this very moment nobody can tell whether one has come. */
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

  /** Asked for by `enqueue`; not `isFirm` before the first list. */
  enqueued(key: string, delayMs: number, isFirm: boolean): void {
    const requests = this.#of(key)
    const { elapsed } = this.#scenario.clock
    const at = elapsed + delayMs
    // At the very moment of a failure nobody can tell whether it still counts as asked for during the run.
    const isCertain = requests.failedAt !== elapsed
    if (delayMs === 0) requests.due.push(this.#due(at, isFirm && isCertain, isCertain))
    else this.#merge(requests, this.#due(at, isFirm && !this.#isDueNow(requests)))
  }

  begins(key: string): void {
    const { clock, mark, settings, violate } = this.#scenario
    const { name, changedAt, resyncs } = this.#options
    const requests = this.#of(key)
    const { elapsed } = clock
    const past = requests.due.filter(({ at }) => at <= elapsed + SLACK_MS)
    // What went by unnoticed comes late, and perhaps only after this run has begun.
    for (const { at, skipped } of past)
      requests.reasonAt = Math.max(requests.reasonAt, skipped === clock.skipped ? at : elapsed)
    this.#checkLate(key, requests)
    const isAgain = requests.again !== undefined && requests.again.at <= elapsed + SLACK_MS
    if (isAgain && !requests.hasFailed) mark('a controller looked again when it had asked to')
    const isExact = settings.driftMs === 0 && changedAt !== undefined && !resyncs
    const hasReason =
      requests.hasFailed || isAgain || Math.max(requests.reasonAt, changedAt?.(key) ?? NEVER) >= requests.begunAt
    if (isExact && !hasReason) violate('controllers', `${name} runs ${nameOf(key)}, and nobody asked for that`)
    requests.due = requests.due.filter(({ at }) => at > elapsed)
    requests.again = undefined
    requests.begunAt = elapsed
  }

  /** A run has ended; `againMs` is when it wanted another, where it succeeded. */
  ended(key: string, againMs: number | undefined, hasFailed: boolean): void {
    const requests = this.#of(key)
    const { elapsed } = this.#scenario.clock
    requests.hasFailed = hasFailed
    if (hasFailed) requests.failedAt = elapsed
    if (againMs !== undefined && !hasFailed && !this.#isSealed) requests.again = this.#due(elapsed + againMs)
    // What was asked for during the run comes after it; where that failed, as part of the next try.
    const isNow = ({ at }: Due): boolean => at <= elapsed
    const now = requests.due.filter(isNow)
    if (now.length === 0) return
    requests.due = requests.due.filter((due) => !isNow(due))
    const next = this.#due(
      elapsed + (hasFailed ? CHANGED_KEY_MS : 0),
      now.some(({ isFirm }) => isFirm),
    )
    if (hasFailed) requests.again = this.#isSealed ? undefined : next
    else requests.due.push(next)
  }

  /** Nothing runs any more: what was asked for until now has been run. */
  check(): void {
    for (const [key, requests] of this.#keys) this.#checkLate(key, requests)
  }

  /** Of several delays the one that ends first counts. */
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

  /** A delay ends at this moment: nobody can tell whether it has already. */
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
        violate(
          'controllers',
          `${name} has not run ${nameOf(key)} ${Math.round(lateMs)} ms after the time that was asked for`,
        )
    }
  }

  #due(at: number, isFirm = true, isOwed = isFirm): Due {
    return { at, skipped: this.#scenario.clock.skipped, isFirm, isOwed }
  }

  #of(key: string): KeyRequests {
    let requests = this.#keys.get(key)
    if (requests === undefined) {
      // Of a key that was never run anything may have happened before.
      requests = { due: [], again: undefined, reasonAt: NEVER, begunAt: NEVER, hasFailed: false, failedAt: NEVER }
      this.#keys.set(key, requests)
    }
    return requests
  }
}

function optional(due: Due | undefined): readonly Due[] {
  return due === undefined ? [] : [due]
}
