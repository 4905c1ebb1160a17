import { History } from '../backend/history.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { actions, kindsOf } from '../workload/fault-plan.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import { healsWithin, type Settings, settingsFor } from '../workload/settings.js'
import { Workload } from '../workload/workload.js'
import { InformerDriver } from './informer-driver.js'
import type { SourceScenario } from './scenario.js'
import { type Planned, SourceWorld } from './source-world.js'

/** One schedule of one source, with one system after the other. Its constructor ends with the first `restart`. */
export abstract class OneSourceWorld<D extends InformerDriver> extends SourceWorld implements SourceScenario {
  readonly workload: Workload
  readonly history: History
  #driver: D | undefined
  #lives = 0

  constructor(seed: number, options: ScheduleOptions, settingsOf: (decisions: RandomDecisions) => Settings) {
    super(seed, options, settingsOf)
    this.workload = new Workload(this)
    this.history = new History(this.workload.initial())
  }

  protected abstract newDriver(life: number): D

  get driver(): D {
    if (this.#driver === undefined) throw new Error('there is no driver yet')
    return this.#driver
  }

  get system(): D | undefined {
    return this.#driver
  }

  restart(): D {
    this.#driver = this.newDriver(this.#lives++)
    return this.#driver
  }

  quiet(): void {
    this.workload.lastFlip()
  }

  lastWrite(): void {
    this.workload.lastWrite()
  }

  get healsWithinMs(): number {
    return healsWithin(this.settings)
  }

  protected override tidy(): void {
    this.workload.restoreClock()
  }
}

const kinds = kindsOf(actions)

export class SingleSourceWorld extends OneSourceWorld<InformerDriver> {
  readonly kind = 'one'

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (decisions) => settingsFor(decisions))
    this.restart()
  }

  plan(): Planned[] {
    return this.planned(this.decisions, kinds, (action) => this.workload.perform(action))
  }

  protected newDriver(life: number): InformerDriver {
    return new InformerDriver(this, life)
  }
}
