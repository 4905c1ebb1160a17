import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { BackendShard } from '../backend/backend-shard.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { type Planned, SourceWorld } from '../system/source-world.js'
import { actions, kindsOf, planOf } from '../workload/fault-plan.js'
import { healsWithin, type Settings, settingsFor } from '../workload/settings.js'
import { GroupSystem } from './group-system.js'

const NAMES = ['eu', 'us', 'ap', 'sa']

const { suspend, 'clock jump': jump, restart: _restart, ...ofMembers } = actions
const memberKinds = kindsOf(ofMembers)
const allKinds = kindsOf({ suspend, 'clock jump': jump })
const groupKinds = kindsOf({ 'expire all': 3, 'relist all': 1, 'stop one': 0.4, 'stop all': 0.3, 'wait for all': 1 })

/** One schedule of a group of informers, each over a source of its own, with a limit of simultaneous relists. */
export class GroupWorld extends SourceWorld {
  readonly kind = 'group'
  readonly #shards: readonly BackendShard[]
  #system: GroupSystem
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (decisions) => {
      const maxRelists = decisions.pick('max relists', [1, 1, 2, undefined])
      const settings: Settings = { ...settingsFor(decisions, { isInformer: true }), isBreach: false }
      return maxRelists === undefined ? settings : { ...settings, maxRelists }
    })
    const { maxRelists, healAtMs, driftMs } = this.settings
    const whole = { healAtMs, driftMs, ...(maxRelists !== undefined && { maxRelists }) }
    const count = this.decisions.pick('members', [2, 3, 3, 4])
    this.#shards = NAMES.slice(0, count).map(
      (name, nth) =>
        new BackendShard(
          this,
          { name, nth },
          (decisions) => ({ ...settingsFor(decisions, { isInformer: true }), ...whole }),
          () => this.#driverOf(nth),
        ),
    )
    this.#system = this.#newSystem()
  }

  get system(): GroupSystem {
    return this.#system
  }

  plan(): readonly Planned[] {
    const { healAtMs } = this.settings
    const plan: Planned[] = []
    for (const { decisions, workload } of this.#shards)
      for (const action of planOf(decisions, healAtMs, memberKinds))
        plan.push({ at: action.at, perform: () => workload.perform(action) })
    for (const action of planOf(this.decisions, healAtMs, allKinds)) {
      const perform = (): void => {
        this.#shards[0]?.workload.perform(action)
        if (action.kind === 'suspend') this.#system.skipped()
      }
      plan.push({ at: action.at, perform })
    }
    for (const { at, kind } of planOf(this.decisions, healAtMs, groupKinds))
      plan.push({ at, perform: () => this.#perform(kind) })
    return plan.sort((a, b) => a.at - b.at)
  }

  restart(): GroupSystem {
    this.#system = this.#newSystem()
    return this.#system
  }

  quiet(): void {
    for (const { decisions, workload } of this.#shards) {
      decisions.isQuiet = true
      workload.lastFlip()
    }
  }

  lastWrite(): void {
    for (const { workload } of this.#shards) workload.lastWrite()
  }

  protected override tidy(): void {
    for (const { workload } of this.#shards) workload.restoreClock()
  }

  /** A member that waits for all others may wait as long as their lists stall. */
  get healsWithinMs(): number {
    return Math.max(...this.#shards.map(({ settings }) => healsWithin(settings))) + this.#shards.length * LIST_STALL_MS
  }

  #perform(kind: (typeof groupKinds)[number]['kind']): void {
    if (this.#system.isStopping) return
    this.note(kind)
    switch (kind) {
      case 'expire all':
        this.#system.expireAll()
        break
      case 'relist all':
        this.#system.relistAll()
        break
      case 'wait for all':
        this.#system.waitUntilSynced()
        break
      case 'stop one':
        this.#system.stopOne()
        break
      case 'stop all':
        this.#system.stop()
        break
    }
  }

  #driverOf(nth: number): GroupSystem['drivers'][number] {
    const driver = this.#system.drivers[nth]
    if (driver === undefined) throw new Error(`there is no member ${nth}`)
    return driver
  }

  #newSystem(): GroupSystem {
    return new GroupSystem(this, this.#shards, this.#lives++)
  }
}
