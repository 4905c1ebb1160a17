import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'

/** Who is told of every change. */
export interface Knowing {
  /** When it was last told of a key. */
  receivedAt(key: string): number
  /** How often it was told of a key. */
  timesOf(key: string): number
  /** What it was told when a key was deleted last. */
  lastOf(key: string): Item | undefined
}

/** Judges what a controller is told of keys that are gone: the last state, until a run for that has succeeded. */
export class LastStateChecker {
  readonly #scenario: Scenario
  readonly #name: string
  readonly #unmerged: Knowing | undefined
  /** Keys that it knows, or whose deletion it has not reconciled. */
  readonly #open = new Set<string>()
  /** How often the witness had been told of a key when its last run began. */
  readonly #begun = new Map<string, number | undefined>()
  /** The same, of the last run that reconciled that the key is gone. */
  readonly #done = new Map<string, number | undefined>()

  constructor(scenario: Scenario, name: string, unmerged: Knowing | undefined) {
    this.#scenario = scenario
    this.#name = name
    this.#unmerged = unmerged
  }

  begins(key: string, object: Item | undefined, deleted: Item | undefined): void {
    const { violate } = this.#scenario
    const times = this.#unmerged?.timesOf(key)
    this.#begun.set(key, times)
    const of = `${this.#name} is told of ${nameOf(key)}`
    if (object !== undefined) {
      if (deleted !== undefined) violate('controllers', `${of} what it is and what it was`)
      this.#open.add(key)
      return
    }
    if (deleted === undefined) {
      if (this.#open.has(key)) violate('controllers', `${of} that it is gone, and no last state`)
      return
    }
    this.#open.add(key)
    if (times !== undefined && this.#done.get(key) === times)
      violate('controllers', `${of} a last state that it has reconciled`)
    const last = this.#unmerged?.lastOf(key)
    if (last !== undefined && deleted !== last)
      violate('controllers', `${of} n${deleted.n} as its last state, and it was n${last.n}`)
  }

  /** A run that was told this has succeeded. */
  succeeded(key: string, deleted: Item | undefined): void {
    if (deleted === undefined) return
    const begun = this.#begun.get(key)
    this.#done.set(key, begun)
    // It may have come back and gone again meanwhile: of that a run must be told as well.
    const isAgain = this.#unmerged?.timesOf(key) !== begun && this.#unmerged?.lastOf(key) !== deleted
    if (!isAgain || this.#scenario.settings.driftMs > 0) this.#open.delete(key)
  }
}
