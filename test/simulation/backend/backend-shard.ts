import type { Mark } from '../runner/coverage-marks.js'
import type { Invariant, Scenario } from '../system/scenario.js'
import type { SimClock } from '../system/sim-clock.js'
import { hashOf, mix, RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import { Workload, type WorkloadTarget } from '../workload/workload.js'
import { History } from './history.js'

/** The random decisions of one shard: its own streams, whose decisions count among those of the whole schedule. */
export class ShardDecisions extends RandomDecisions {
  readonly #whole: RandomDecisions
  readonly #name: string

  constructor(whole: RandomDecisions, name: string) {
    super(mix(whole.seed) ^ hashOf(name))
    this.#whole = whole
    this.#name = name
  }

  override take(name: string): boolean {
    return this.#whole.take(`${name}~${this.#name}`)
  }
}

/** The number of contents of one shard. No shard writes a content of another shard. */
const CONTENTS = 1_000_000

/** One of several backends: its history, its writers, its faults. Its observations go to the scenario. */
export class BackendShard implements WorkloadTarget {
  readonly name: string
  readonly clock: SimClock
  readonly decisions: ShardDecisions
  readonly settings: Settings
  readonly workload: Workload
  readonly mark: (mark: Mark) => void
  history: History
  readonly #scenario: Scenario
  readonly #driverOf: () => WorkloadTarget['driver']

  constructor(
    scenario: Scenario,
    { name, nth }: { readonly name: string; readonly nth: number },
    settingsOf: (decisions: RandomDecisions) => Settings,
    driverOf: () => WorkloadTarget['driver'],
  ) {
    this.name = name
    this.#scenario = scenario
    this.#driverOf = driverOf
    this.clock = scenario.clock
    this.mark = scenario.mark
    this.decisions = new ShardDecisions(scenario.decisions, name)
    this.settings = settingsOf(this.decisions)
    this.workload = new Workload(this, nth * CONTENTS)
    this.history = new History(this.workload.initial())
  }

  get driver(): WorkloadTarget['driver'] {
    return this.#driverOf()
  }

  note = (what: string, ...about: readonly (string | number)[]): void => this.#scenario.note(what, ...about, this.name)

  violate = (invariant: Invariant, message: string): void =>
    this.#scenario.violate(invariant, `${this.name}: ${message}`)

  listenersOf(signal: AbortSignal): number {
    return this.#scenario.listenersOf(signal)
  }
}
