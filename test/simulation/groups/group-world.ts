import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { BackendShard } from '../backend/backend-shard.js'
import { type Planned, Schedule, type ScheduleOptions } from '../runner/schedule.js'
import { actions, kindsOf, planOf } from '../workload/fault-plan.js'
import { healsWithin, type Settings, settingsFor } from '../workload/settings.js'
import { GroupSystem } from './group-system.js'

const NAMES = ['eu', 'us', 'ap', 'sa']

const { suspend, 'clock jump': jump, restart: _restart, ...ofMembers } = actions
const memberKinds = kindsOf(ofMembers)
const allKinds = kindsOf({ suspend, 'clock jump': jump })
const groupKinds = kindsOf({ 'expire all': 3, 'relist all': 1, 'stop one': 0.4, 'stop all': 0.3, 'wait for all': 1 })

/** One schedule of a group: informers, each over a source of its own, which may not all list again at a time. */
export class GroupWorld extends Schedule {
  readonly kind = 'group'
  readonly #sites: readonly BackendShard[]
  #cast: GroupSystem
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (draws) => {
      const maxRelists = draws.pick('max relists', [1, 1, 2, undefined])
      const settings: Settings = { ...settingsFor(draws, true), isBreach: false }
      return maxRelists === undefined ? settings : { ...settings, maxRelists }
    })
    const { maxRelists, healAtMs, driftMs } = this.settings
    const whole = { healAtMs, driftMs, ...(maxRelists !== undefined && { maxRelists }) }
    const count = this.draws.pick('members', [2, 3, 3, 4])
    this.#sites = NAMES.slice(0, count).map(
      (name, nth) =>
        new BackendShard(
          this,
          { name, nth },
          (draws) => ({ ...settingsFor(draws, true), ...whole }),
          () => this.#driveOf(nth),
        ),
    )
    this.#cast = this.#newCast()
  }

  get cast(): GroupSystem {
    return this.#cast
  }

  plan(): readonly Planned[] {
    const { healAtMs } = this.settings
    const plan: Planned[] = []
    for (const { draws, deeds } of this.#sites)
      for (const action of planOf(draws, healAtMs, memberKinds))
        plan.push({ at: action.at, perform: () => deeds.perform(action) })
    for (const action of planOf(this.draws, healAtMs, allKinds)) {
      const perform = (): void => {
        this.#sites[0]?.deeds.perform(action)
        if (action.kind === 'suspend') this.#cast.skipped()
      }
      plan.push({ at: action.at, perform })
    }
    for (const { at, kind } of planOf(this.draws, healAtMs, groupKinds))
      plan.push({ at, perform: () => this.#perform(kind) })
    return plan.sort((a, b) => a.at - b.at)
  }

  restart(): GroupSystem {
    this.#cast = this.#newCast()
    return this.#cast
  }

  quiet(): void {
    for (const { draws, deeds } of this.#sites) {
      draws.isQuiet = true
      deeds.lastFlip()
    }
  }

  lastWrite(): void {
    for (const { deeds } of this.#sites) deeds.lastWrite()
  }

  tidy(): void {
    for (const { deeds } of this.#sites) deeds.restoreClock()
  }

  /** Who waits for all others may wait for as long as their lists stall. */
  get healsWithinMs(): number {
    return Math.max(...this.#sites.map(({ settings }) => healsWithin(settings))) + this.#sites.length * LIST_STALL_MS
  }

  #perform(kind: (typeof groupKinds)[number]['kind']): void {
    if (this.#cast.isStopping) return
    this.note(kind)
    switch (kind) {
      case 'expire all':
        this.#cast.expireAll()
        break
      case 'relist all':
        this.#cast.relistAll()
        break
      case 'wait for all':
        this.#cast.waitUntilSynced()
        break
      case 'stop one':
        this.#cast.stopOne()
        break
      case 'stop all':
        this.#cast.stop()
        break
    }
  }

  #driveOf(nth: number): GroupSystem['drives'][number] {
    const drive = this.#cast.drives[nth]
    if (drive === undefined) throw new Error(`there is no member ${nth}`)
    return drive
  }

  #newCast(): GroupSystem {
    return new GroupSystem(this, this.#sites, this.#lives++)
  }
}
