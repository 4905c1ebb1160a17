import type { Mark } from '../runner/coverage-marks.js'
import type { Invariant, Scenario } from '../system/scenario.js'
import type { SimClock } from '../system/sim-clock.js'
import { hashOf, mix, RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import { Workload, type WorkloadTarget } from '../workload/workload.js'
import { History } from './history.js'

/** The chance of one of several: draws of its own, whose decisions count among those of the whole schedule. */
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

/** How many contents one site writes at most: so one never writes what another does. */
const CONTENTS = 1_000_000

/** One of several backends: its history, its writers, its faults. What is seen of it is the scene's. */
export class BackendShard implements WorkloadTarget {
  readonly name: string
  readonly clock: SimClock
  readonly draws: ShardDecisions
  readonly settings: Settings
  readonly deeds: Workload
  readonly mark: (mark: Mark) => void
  history: History
  readonly #scene: Scenario
  readonly #driveOf: () => WorkloadTarget['drive']

  constructor(
    scene: Scenario,
    { name, nth }: { readonly name: string; readonly nth: number },
    settingsOf: (draws: RandomDecisions) => Settings,
    driveOf: () => WorkloadTarget['drive'],
  ) {
    this.name = name
    this.#scene = scene
    this.#driveOf = driveOf
    this.clock = scene.clock
    this.mark = scene.mark
    this.draws = new ShardDecisions(scene.draws, name)
    this.settings = settingsOf(this.draws)
    this.deeds = new Workload(this, nth * CONTENTS)
    this.history = new History(this.deeds.initial())
  }

  get drive(): WorkloadTarget['drive'] {
    return this.#driveOf()
  }

  note = (what: string, ...about: readonly (string | number)[]): void => this.#scene.note(what, ...about, this.name)

  violate = (invariant: Invariant, message: string): void => this.#scene.violate(invariant, `${this.name}: ${message}`)

  listenersOf(signal: AbortSignal): number {
    return this.#scene.listenersOf(signal)
  }

  inGap = (): void => this.deeds.inGap()

  pileUp = (key: string): void => this.deeds.pileUp(key)

  comeAndGo = (withinMs: number): void => this.deeds.comeAndGo(withinMs)
}
