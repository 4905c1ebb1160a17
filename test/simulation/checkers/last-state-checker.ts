import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { UnmergedFollower } from './unmerged-follower.js'

/** Checks the last state that a controller receives of deleted keys, until a run for the delete has succeeded. */
export class LastStateChecker {
  readonly #scenario: Scenario
  readonly #name: string
  readonly #unmerged: UnmergedFollower | undefined
  /** Keys that it knows, or whose delete it has not reconciled. */
  readonly #open = new Set<string>()
  /** The number of changes of a key when its last run began. */
  readonly #begun = new Map<string, number | undefined>()
  /** The number of changes of a key when its delete was last reconciled. */
  readonly #done = new Map<string, number | undefined>()

  constructor(scenario: Scenario, name: string, unmerged: UnmergedFollower | undefined) {
    this.#scenario = scenario
    this.#name = name
    this.#unmerged = unmerged
  }

  begins(key: string, object: Item | undefined, deleted: Item | undefined): void {
    const { violate } = this.#scenario
    const times = this.#unmerged?.timesOf(key)
    this.#begun.set(key, times)
    const of = `${this.#name} receives of ${nameOf(key)}`
    if (object !== undefined) {
      if (deleted !== undefined) violate('controllers', `${of} the object and the last state`)
      this.#open.add(key)
      return
    }
    if (deleted === undefined) {
      if (this.#open.has(key)) violate('controllers', `${of} a delete without a last state`)
      return
    }
    this.#open.add(key)
    if (times !== undefined && this.#done.get(key) === times)
      violate('controllers', `${of} a last state that it has reconciled`)
    const last = this.#unmerged?.lastOf(key)
    if (last !== undefined && deleted !== last && this.#unmerged?.isGone(key))
      violate('controllers', `${of} n${deleted.n} as its last state, and it was n${last.n}`)
  }

  succeeded(key: string, deleted: Item | undefined): void {
    if (deleted === undefined) return
    const begun = this.#begun.get(key)
    this.#done.set(key, begun)
    // The key may have come back and gone again meanwhile: that delete needs a run as well.
    const isAgain = this.#unmerged?.timesOf(key) !== begun && this.#unmerged?.lastOf(key) !== deleted
    if (!isAgain || this.#scenario.settings.driftMs > 0) this.#open.delete(key)
  }
}
