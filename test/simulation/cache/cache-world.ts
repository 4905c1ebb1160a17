import { History } from '../backend/history.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import type { InformerDriver } from '../system/informer-driver.js'
import type { SourceScenario } from '../system/scenario.js'
import { type Planned, SourceWorld } from '../system/source-world.js'
import { actions, kindsOf, planOf } from '../workload/fault-plan.js'
import { healsWithin, settingsFor } from '../workload/settings.js'
import { Workload } from '../workload/workload.js'
import { CachedDriver } from './cached-driver.js'
import { SimulatedCache, SimulatedDisk } from './simulated-cache.js'

const kinds = kindsOf({ ...actions, restart: 0.5, compact: 1.5, restore: 0.5 })
const processKinds = kindsOf({ 'restart later': 1.2, crash: 1 })

/** A disk that hangs delays the stop of a process by this. */
const STOP_MS = 25_000

/** One schedule of processes, one after the other, over one source and one cache. */
export class CacheWorld extends SourceWorld implements SourceScenario {
  readonly kind = 'cache'
  readonly history: History
  readonly #workload: Workload
  readonly #disk: SimulatedDisk
  #driver: CachedDriver
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    // A cache restores copies, as its format allows: of plain objects.
    super(seed, options, (decisions) => ({
      ...settingsFor(decisions, { isInformer: true, keepsPromises: true }),
      copies: true,
      body: undefined,
    }))
    this.#workload = new Workload(this)
    this.history = new History(this.#workload.initial())
    this.#disk = new SimulatedDisk(this)
    this.#driver = this.#newDriver()
  }

  get driver(): InformerDriver {
    return this.#driver
  }

  get system(): CachedDriver {
    return this.#driver
  }

  addBriefly = (withinMs: number): void => this.#workload.addBriefly(withinMs)

  comeAndGo = (key: string): void => this.#workload.comeAndGo(key)

  writeRepeatedly = (key: string): void => this.#workload.writeRepeatedly(key)

  inGap = (): void => this.#workload.inGap()

  plan(): readonly Planned[] {
    const { healAtMs } = this.settings
    const plan: Planned[] = planOf(this.decisions, healAtMs, kinds).map((action) => ({
      at: action.at,
      perform: () => this.#workload.perform(action),
    }))
    for (const { at, kind, label } of planOf(this.decisions, healAtMs, processKinds)) {
      const awayMs = this.decisions.pick(label, [0, 20, 400, 3_000]) * this.decisions.next(label)
      plan.push({
        at,
        perform: () => (kind === 'crash' ? this.#driver.crash(awayMs) : this.#driver.stopFor(awayMs)),
      })
    }
    return plan.sort((a, b) => a.at - b.at)
  }

  restart(): CachedDriver {
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
    return healsWithin(this.settings) + STOP_MS
  }

  override get stopsWithinMs(): number {
    return STOP_MS
  }

  #newDriver(): CachedDriver {
    const life = this.#lives++
    return new CachedDriver(this, life, new SimulatedCache(this, this.#disk, life))
  }
}
