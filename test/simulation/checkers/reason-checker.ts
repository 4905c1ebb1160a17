import type { ReconcileContext } from '../../../src/subscriptions/controller-types.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'

/** What is known about a key since its last run began. */
interface KeyFacts {
  /** How its last run ended; undefined before the first run. */
  last: 'succeeded' | 'failed' | 'asked' | 'runs' | undefined
  /** Whether it was enqueued, perhaps with a delay. */
  isEnqueued: boolean
  /** Whether it was enqueued without a delay since its last run began. */
  isEnqueuedNow: boolean
  begunAt: number
}

export interface ReasonCheckerOptions {
  readonly name: string
  /** The time of the last change of a key; undefined if unknown. */
  readonly changedAt: ((key: string) => number) | undefined
  /** Whether it also runs keys for resyncs. */
  readonly resyncs: boolean
}

/** Checks the reason of each run of a controller, and that it says why an object is gone exactly if it is. */
export class ReasonChecker {
  readonly #scenario: Scenario
  readonly #options: ReasonCheckerOptions
  readonly #keys = new Map<string, KeyFacts>()

  constructor(scenario: Scenario, options: ReasonCheckerOptions) {
    this.#scenario = scenario
    this.#options = options
  }

  /** `isNow`: certainly, and without a delay. */
  enqueued(key: string, isNow: boolean): void {
    const facts = this.#of(key)
    facts.isEnqueued = true
    if (isNow) facts.isEnqueuedNow = true
  }

  begins(key: string, context: ReconcileContext<Item>): void {
    const { clock, violate } = this.#scenario
    const facts = this.#of(key)
    const { object, deleted, gone, reason } = context
    const of = `${this.#options.name} runs ${nameOf(key)} with the reason ${reason}`
    const flaw = this.#flawIn(facts, key, context)
    if (flaw !== undefined) violate('controllers', `${of}, but ${flaw}`)
    if ((gone === undefined) !== (object !== undefined)) violate('controllers', `${of}, and it is gone: ${gone}`)
    if (gone === 'deleted' && deleted === undefined) violate('controllers', `${of}, deleted without a last state`)
    facts.isEnqueuedNow = false
    facts.last = 'runs'
    facts.begunAt = clock.elapsed
  }

  ended(key: string, hasFailed: boolean, asks: boolean): void {
    this.#of(key).last = hasFailed ? 'failed' : asks ? 'asked' : 'succeeded'
  }

  #flawIn(
    { last, isEnqueued, isEnqueuedNow, begunAt }: KeyFacts,
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

  #of(key: string): KeyFacts {
    let facts = this.#keys.get(key)
    if (facts === undefined) {
      facts = { last: undefined, isEnqueued: false, isEnqueuedNow: false, begunAt: -Infinity }
      this.#keys.set(key, facts)
    }
    return facts
  }
}
