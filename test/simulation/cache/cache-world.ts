import type { ScheduleOptions } from '../runner/schedule.js'
import { OneSourceWorld } from '../system/single-source-world.js'
import type { Planned } from '../system/source-world.js'
import { actions, kindsOf, planOf } from '../workload/fault-plan.js'
import { settingsFor } from '../workload/settings.js'
import { CachedDriver } from './cached-driver.js'
import { SimulatedCache, SimulatedDisk } from './simulated-cache.js'

const kinds = kindsOf({ ...actions, restart: 0.5, compact: 1.5, restore: 0.5 })
const processKinds = kindsOf({ 'restart later': 1.2, crash: 1 })

/** A disk that hangs delays the stop of a process by this. */
const STOP_MS = 25_000

/** One schedule of processes, one after the other, over one source and one cache. */
export class CacheWorld extends OneSourceWorld<CachedDriver> {
  readonly kind = 'cache'
  readonly #disk: SimulatedDisk

  constructor(seed: number, options: ScheduleOptions = {}) {
    // A cache restores copies, as its format allows: of plain objects.
    super(seed, options, (decisions) => ({
      ...settingsFor(decisions, { isInformer: true, keepsPromises: true }),
      copies: true,
      body: undefined,
    }))
    this.#disk = new SimulatedDisk(this)
    this.restart()
  }

  plan(): readonly Planned[] {
    const { healAtMs } = this.settings
    const plan: Planned[] = planOf(this.decisions, healAtMs, kinds).map((action) => ({
      at: action.at,
      perform: () => this.workload.perform(action),
    }))
    for (const { at, kind, label } of planOf(this.decisions, healAtMs, processKinds)) {
      const awayMs = this.decisions.pick(label, [0, 20, 400, 3_000]) * this.decisions.next(label)
      plan.push({
        at,
        perform: () => (kind === 'crash' ? this.driver.crash(awayMs) : this.driver.stopFor(awayMs)),
      })
    }
    return plan.sort((a, b) => a.at - b.at)
  }

  override get healsWithinMs(): number {
    return super.healsWithinMs + STOP_MS
  }

  override get stopsWithinMs(): number {
    return STOP_MS
  }

  protected newDriver(life: number): CachedDriver {
    return new CachedDriver(this, life, new SimulatedCache(this, this.#disk, life))
  }
}
