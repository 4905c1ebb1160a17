import { ByHandDrive } from './by-hand-drive.js'
import { Deeds } from './deeds.js'
import type { Drive } from './drive.js'
import { History } from './history.js'
import { InformerDrive } from './informer-drive.js'
import { planFor } from './plan.js'
import { type Planned, Schedule, type ScheduleOptions } from './schedule.js'
import { healsWithin, settingsFor } from './settings.js'
import type { Stage } from './stage.js'

/** One schedule of one source. */
export class World extends Schedule implements Stage {
  readonly kind = 'one'
  readonly history: History
  readonly #deeds: Deeds
  #drive: Drive
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (draws) => settingsFor(draws))
    this.#deeds = new Deeds(this)
    this.history = new History(this.#deeds.initial())
    this.#drive = this.#newDrive()
  }

  get drive(): Drive {
    return this.#drive
  }

  get cast(): Drive {
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

  restart(): Drive {
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

  #newDrive(): Drive {
    return this.settings.drive === 'informer' ? new InformerDrive(this, this.#lives++) : new ByHandDrive(this)
  }
}
