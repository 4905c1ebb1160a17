import type { Controller, Informer, Version } from '../../../src/index.js'
import { CLOSE_GRACE_MS } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import { slownessOf } from './stop-checker.js'

const SLACK_MS = 2

/** Before its first run, a controller that has just begun replays the store: slow code reads the clock more often. */
const REPLAYS = 2

export interface Left {
  /** The content of each key that changed and was not reconciled since. */
  readonly changed: Map<string, number | undefined>
  readonly enqueued: Set<string>
  readonly hasLater: boolean
}

export interface ControllerDrainOptions {
  readonly name: string
  readonly controller: Controller
  readonly informer: Informer<Item, IndexesOf>
  readonly left: Left
}

/**
 * Checks a controller that is drained while its source continues. Earlier changes are reconciled, and later ones are
 * not run (I5). The drain ends as soon as no run is left, or in time if something else closes the controller (I15).
 */
export class ControllerDrainChecker {
  readonly #scenario: Scenario
  readonly #options: ControllerDrainOptions
  readonly #isExact: boolean
  readonly #version: Version | undefined
  readonly #begun = new Set<string>()
  /** Calls of `close` that have not settled. */
  #calls = 0
  /** The earliest time since which no key runs. */
  #idleSince: number
  /** The time that suspensions took, as far as they are known here. */
  #skipped: number
  #isFilled: boolean
  #isChecked = false
  #interruptedAt: number | undefined

  constructor(scenario: Scenario, options: ControllerDrainOptions) {
    this.#scenario = scenario
    this.#options = options
    this.#isExact = scenario.settings.driftMs === 0
    this.#version = options.informer.version
    this.#idleSince = scenario.clock.elapsed
    this.#skipped = scenario.clock.skipped
    this.#isFilled = options.informer.status.isSynced
    if (options.left.hasLater) scenario.mark('a controller was drained while a key waited for its time')
  }

  get isOpen(): boolean {
    return this.#calls > 0
  }

  get isInterrupted(): boolean {
    return this.#interruptedAt !== undefined
  }

  called(): void {
    this.#calls++
  }

  begins(key: string): void {
    const { changed, enqueued } = this.#options.left
    // Slow code takes the pending keys in several parts, and a key may be in more than one of them.
    if (this.#isExact && this.#begun.has(key))
      this.#scenario.violate('I5', `${this.#options.name} runs ${nameOf(key)} twice after it was to end`)
    this.#begun.add(key)
    changed.delete(key)
    enqueued.delete(key)
  }

  ended(key: string, hasFailed: boolean): void {
    this.#idleSince = this.#scenario.clock.elapsed
    if (!hasFailed) return
    // A failed key is not retried.
    this.#options.left.changed.delete(key)
    this.#options.left.enqueued.delete(key)
  }

  /** Something else closes it; `isRunning`: while a key runs. */
  interrupted(isRunning: boolean): void {
    if (this.#interruptedAt !== undefined || !this.isOpen) return
    this.#interruptedAt = this.#scenario.clock.awake
    if (isRunning) this.#scenario.mark('something else closed a controller that was being drained')
  }

  checkStep(running: number): void {
    if (!this.isOpen) return
    const { clock, settings, violate } = this.#scenario
    const { name, informer } = this.#options
    if (this.#interruptedAt !== undefined) {
      const tookMs = this.#scenario.clock.awake - this.#interruptedAt
      if (tookMs > CLOSE_GRACE_MS + SLACK_MS + slownessOf(this.#scenario))
        violate('I15', `${name} was closed ${Math.round(tookMs)} ms ago, and its draining has not ended`)
      return
    }
    // A drain takes several turns of the event loop, and a suspension may come between two of them.
    if (clock.skipped !== this.#skipped) {
      this.#skipped = clock.skipped
      this.#idleSince = clock.elapsed
    }
    // Before the first list, no key is run.
    if (!this.#isFilled) {
      this.#isFilled = informer.status.isSynced
      this.#idleSince = clock.elapsed
    }
    if (running > 0 || !this.#isFilled) return
    const idleMs = clock.reached - this.#idleSince
    const slowMs = slownessOf(this.#scenario) * (this.#begun.size === 0 ? REPLAYS : 1)
    if (idleMs > SLACK_MS + slowMs + settings.driftMs)
      violate('I15', `${name} is drained, and has run nothing for ${Math.round(idleMs)} ms`)
  }

  settled(): void {
    this.#calls--
  }

  /**
   * The drain has ended without an interruption. `done`: the content that it has reconciled of each key; `failed`: the
   * keys whose last run failed.
   */
  check(done: ReadonlyMap<string, number | undefined>, failed: ReadonlySet<string>): void {
    if (this.#isChecked) return
    this.#isChecked = true
    // The informer was stopped before its first list.
    if (!this.#isFilled) return
    const { violate, mark } = this.#scenario
    const { name, controller, informer, left } = this.#options
    for (const [key, wanted] of left.changed)
      if (done.get(key) !== wanted)
        violate('I5', `${name} was drained with ${nameOf(key)} at n${done.get(key)}, which was n${wanted} before`)
    for (const key of left.enqueued)
      violate('I5', `${name} was drained, and has not run ${nameOf(key)}, which was enqueued before`)
    if (this.#begun.size > 0) mark('a drained controller ran its pending keys')
    if (this.#version === undefined) return
    if (failed.size === 0 && controller.version !== this.#version)
      violate('I7', `${name} was drained at ${this.#version}, and its version is ${controller.version}`)
    if (informer.version !== this.#version) mark('a controller was drained while its source continued')
  }
}
