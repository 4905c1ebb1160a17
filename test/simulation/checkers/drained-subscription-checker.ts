import type { Informer } from '../../../src/informer/informer-types.js'
import { CLOSE_GRACE_MS } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import type { Follower } from '../workload/follower.js'
import { slownessOf } from './stop-checker.js'

/** The longest time without pending changes or calls before the drain ends, in milliseconds. */
const SLACK_MS = 2

/**
 * Checks a subscription that is closed with `drain`. It receives the changes that are pending at the call, and no later
 * ones (I5). The drain ends as soon as those are handled, or in time if something else closes it (I15).
 */
export class DrainedSubscriptionChecker {
  readonly #scenario: Scenario
  readonly #follower: Follower
  readonly #store: ReadonlyMap<string, Item>
  #idleSince: number
  #closedSince: number | undefined
  #isOpen = true
  #isInterrupted = false
  readonly #isStopping: () => boolean

  constructor(
    scenario: Scenario,
    follower: Follower,
    { informer, isStopping }: { readonly informer: Informer<Item, IndexesOf>; readonly isStopping: () => boolean },
  ) {
    this.#scenario = scenario
    this.#isStopping = isStopping
    this.#follower = follower
    this.#store = new Map(informer.entries())
    this.#idleSince = scenario.clock.elapsed
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  checkStep(): void {
    if (!this.#isOpen) return
    const { clock, violate } = this.#scenario
    const { name, subscription, runs, isClosed, isHolding } = this.#follower
    const slackMs = SLACK_MS + slownessOf(this.#scenario)
    if (isClosed) {
      this.#closedSince ??= this.#scenario.clock.awake
      const tookMs = this.#scenario.clock.awake - this.#closedSince
      if (tookMs > CLOSE_GRACE_MS + slackMs)
        violate('I15', `${name} was closed ${Math.round(tookMs)} ms ago, and its draining has not ended`)
      return
    }
    const waits = clock.still(() => subscription?.backlog.keys ?? 0)
    if (waits > 0 || isHolding || runs?.longest !== undefined) this.#idleSince = this.#scenario.clock.awake
    else if (this.#scenario.clock.awake - this.#idleSince > slackMs)
      violate('I15', `${name} has nothing left to handle, and its draining has not ended`)
  }

  interrupted(): void {
    this.#isInterrupted = true
  }

  settled(): void {
    this.#isOpen = false
    const { settings, mark } = this.#scenario
    if (this.#isStopping()) return
    const { isClosed, hasEnded } = this.#follower
    if (this.#isInterrupted || (isClosed && !hasEnded)) {
      mark('something else closed a subscription that was being drained')
      return
    }
    mark('a subscription was drained')
    // A field that changes by itself is not reported.
    if (!settings.flips) this.#follower.checkDrained(this.#store)
  }

  checkStopped(): void {
    if (this.#isOpen) this.#scenario.violate('I15', `${this.#follower.name} is still drained after stop()`)
  }
}
