import type { Wait } from '../../../src/util/deadline.js'
import type { Item } from '../backend/history.js'
import { WaiterChecker } from '../checkers/waiter-checker.js'
import type { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Follower } from './follower.js'

/** A consumer that may have ended. */
export interface Ending {
  readonly name: string
  readonly isClosed: boolean
  /** Whether it is being drained. */
  readonly isEnding: boolean
  readonly mayOverflow?: boolean
  readonly neverSettles?: boolean
}

/** The error codes of a failed `head` request. */
export const TRANSIENT: readonly string[] = ['UNAVAILABLE', 'TIMEOUT', 'DECODE']

/** Callers that wait, for any number of sources; each wait must end in time and for a correct reason. */
export abstract class InformerWaiters<D extends InformerSystem<Scenario, Follower>> {
  readonly pending: WaiterChecker
  protected readonly driver: D
  protected readonly scenario: D['scenario']

  constructor(driver: D) {
    this.driver = driver
    this.scenario = driver.scenario
    this.pending = new WaiterChecker(driver.scenario)
  }

  protected abstract get isReadable(): boolean
  abstract forHead(): void
  abstract fresh(): void
  abstract relist(): unknown
  abstract synced(): void
  ofFollower?(): void

  until(key: string): void {
    const { informer, callers } = this.driver
    const { decisions } = this.scenario
    const isThere = decisions.chance('until', 0.5)
    const limits = callers.sign('until', { timeoutMs: 1 + decisions.below('timeout', 20_000) })
    const condition = (object: object | undefined): boolean => (object !== undefined) === isThere
    let isOver = false
    const holds = (object: Item | undefined): boolean => {
      if (isOver) this.scenario.violate('waits', 'the condition of an until that has ended is called')
      return condition(object)
    }
    const wait = informer.until(key, holds, limits)
    const end = () => (isOver = true)
    wait.then(end, end)
    this.pending.wait(wait, {
      what: `until ${nameOf(key)}`,
      limits,
      isDue: () => this.isReadable && condition(informer.get(key)),
      mayFail: (code) => this.isStopped(code),
      ended: (object) => {
        if (!condition(object)) this.scenario.violate('waits', `until ${nameOf(key)} ended with ${object?.n}`)
      },
    })
  }

  protected limits(what: string): Wait {
    const { decisions } = this.scenario
    const timeoutMs = decisions.chance('limit', 0.3) ? 1 + decisions.below('timeout', 5_000) : 600_000
    return this.driver.callers.sign(what, { timeoutMs })
  }

  /** A stop ends all waits; closing or overflowing a consumer ends its own. */
  protected isStopped(code: string, consumer?: Ending): boolean {
    if (code === 'STOPPED') return this.driver.isStopping || consumer?.isClosed === true || consumer?.isEnding === true
    return code === 'HANDLER' && consumer?.mayOverflow === true
  }
}
