import { History } from '../backend/history.js'
import { type Planned, Schedule, type ScheduleOptions } from '../runner/schedule.js'
import { planFor } from '../workload/fault-plan.js'
import { healsWithin, settingsFor } from '../workload/settings.js'
import { Workload } from '../workload/workload.js'
import { HandComposedDriver } from './hand-composed-driver.js'
import { InformerDriver } from './informer-driver.js'
import type { SourceScenario } from './scenario.js'
import type { SystemUnderTest } from './system-under-test.js'

/** One schedule of one source. */
export class SingleSourceWorld extends Schedule implements SourceScenario {
  readonly kind = 'one'
  readonly history: History
  readonly #deeds: Workload
  #drive: SystemUnderTest
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (draws) => settingsFor(draws))
    this.#deeds = new Workload(this)
    this.history = new History(this.#deeds.initial())
    this.#drive = this.#newDrive()
  }

  get drive(): SystemUnderTest {
    return this.#drive
  }

  get cast(): SystemUnderTest {
    return this.#drive
  }

  comeAndGo = (withinMs: number): void => this.#deeds.comeAndGo(withinMs)

  pileUp = (key: string): void => this.#deeds.pileUp(key)

  inGap = (): void => this.#deeds.inGap()

  plan(): readonly Planned[] {
    return planFor(this.draws, this.settings.healAtMs).map((action) => ({
      at: action.at,
      perform: () => this.#deeds.perform(action),
    }))
  }

  restart(): SystemUnderTest {
    this.#drive = this.#newDrive()
    return this.#drive
  }

  quiet(): void {
    this.#deeds.lastFlip()
  }

  lastWrite(): void {
    this.#deeds.lastWrite()
  }

  tidy(): void {
    this.#deeds.restoreClock()
  }

  get healsWithinMs(): number {
    return healsWithin(this.settings)
  }

  #newDrive(): SystemUnderTest {
    return this.settings.drive === 'informer' ? new InformerDriver(this, this.#lives++) : new HandComposedDriver(this)
  }
}
