import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { BackendShard } from '../backend/backend-shard.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { type Planned, SourceWorld } from '../system/source-world.js'
import { actions, kindsOf } from '../workload/fault-plan.js'
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
      const settings: Settings = { ...settingsFor(decisions), isBreach: false }
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
          (decisions) => ({ ...settingsFor(decisions), ...whole }),
          () => this.#driverOf(nth),
        ),
    )
    this.#system = this.#newSystem()
  }

  get system(): GroupSystem {
    return this.#system
  }

  plan(): Planned[] {
    return [
      ...this.#shards.flatMap(({ decisions, workload }) =>
        this.planned(decisions, memberKinds, (action) => workload.perform(action)),
      ),
      ...this.planned(this.decisions, allKinds, (action) => {
        this.#shards[0]?.workload.perform(action)
        if (action.kind === 'suspend') this.#system.skipped()
      }),
      ...this.planned(this.decisions, groupKinds, ({ kind }) => this.#perform(kind)),
    ]
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
    const system = this.#system
    const performed: Readonly<Record<typeof kind, () => void>> = {
      'expire all': () => system.expireAll(),
      'relist all': () => system.relistAll(),
      'wait for all': () => system.waitUntilSynced(),
      'stop one': () => system.stopOne(),
      'stop all': () => system.stop(),
    }
    performed[kind]()
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
