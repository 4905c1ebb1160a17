import { History } from '../backend/history.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { planFor } from '../workload/fault-plan.js'
import { healsWithin, settingsFor } from '../workload/settings.js'
import { Workload } from '../workload/workload.js'
import { HandComposedDriver } from './hand-composed-driver.js'
import { InformerDriver } from './informer-driver.js'
import type { SourceScenario } from './scenario.js'
import { type Planned, SourceWorld } from './source-world.js'
import type { SingleSourceSystem } from './system-under-test.js'

/** One schedule of one source. */
export class SingleSourceWorld extends SourceWorld implements SourceScenario {
  readonly kind = 'one'
  readonly history: History
  readonly #workload: Workload
  #driver: SingleSourceSystem
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (decisions) => settingsFor(decisions))
    this.#workload = new Workload(this)
    this.history = new History(this.#workload.initial())
    this.#driver = this.#newDriver()
  }

  get driver(): SingleSourceSystem {
    return this.#driver
  }

  get system(): SingleSourceSystem {
    return this.#driver
  }

  addBriefly = (withinMs: number): void => this.#workload.addBriefly(withinMs)

  comeAndGo = (key: string): void => this.#workload.comeAndGo(key)

  writeRepeatedly = (key: string): void => this.#workload.writeRepeatedly(key)

  inGap = (): void => this.#workload.inGap()

  plan(): readonly Planned[] {
    return planFor(this.decisions, this.settings.healAtMs).map((action) => ({
      at: action.at,
      perform: () => this.#workload.perform(action),
    }))
  }

  restart(): SingleSourceSystem {
    this.#driver = this.#newDriver()
    return this.#driver
  }

  quiet(): void {
    this.#workload.lastFlip()
  }

  lastWrite(): void {
    this.#workload.lastWrite()
  }

  protected override tidy(): void {
    this.#workload.restoreClock()
  }

  get healsWithinMs(): number {
    return healsWithin(this.settings)
  }

  #newDriver(): SingleSourceSystem {
    return this.settings.driver === 'informer' ? new InformerDriver(this, this.#lives++) : new HandComposedDriver(this)
  }
}
