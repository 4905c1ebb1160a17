import type { CollectionBatch, CollectionSource, HistoryWatchContext } from '../../../src/contract/shared-history.js'
import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { SplitHistory } from '../../../src/contract/split-source.js'
import { SourceError } from '../../../src/index.js'
import { type Commit, History, type Item, type Mutation, type State } from '../backend/history.js'
import { SimulatedSource } from '../backend/simulated-source.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import type { SourceScenario } from '../system/scenario.js'
import type { SleepCounter } from '../system/sim-clock.js'
import { type Planned, SourceWorld } from '../system/source-world.js'
import { TENANTS } from '../workload/declared-indexes.js'
import { actions, kindsOf, writes } from '../workload/fault-plan.js'
import { healsWithin, KEYS, type Settings, settingsFor } from '../workload/settings.js'
import { Workload } from '../workload/workload.js'
import { ACCOUNTS, BALANCE, COLLECTIONS, collectionOf } from './collections.js'
import { type UseOfViews, ViewSystem } from './view-system.js'

const { storm, vanish, suspend, restart, 'clock jump': jump } = actions
const all = [...writes, ...kindsOf({ storm, vanish, suspend, restart, 'clock jump': jump })]
const uses = kindsOf({
  ...{ 'begin view': 2, 'stop view': 0.6, 'stop input': 0.5, 'begin input': 1, 'world outside': 1 },
  ...{ 'wait for head': 1.5, fresh: 0.5, relist: 1, 'begin snapshot': 0.5, 'end snapshot': 0.5 },
} satisfies Readonly<Record<UseOfViews, number>>)

const LOSS_RATE = 0.02
/** Greater than the numbers of all other objects. */
const FIRST_BALANCE = 1_000_000_000
/** The time until an audit of each view has ended. */
const AUDITED_MS = 600_000

/** One schedule of informers that change in one commit, and of views over them. */
export class ViewWorld extends SourceWorld implements SourceScenario {
  readonly kind = 'views'
  readonly workload: Workload
  readonly history: History
  readonly source: SimulatedSource
  readonly collections: readonly CollectionSource<Item>[]
  /** One for all lives: the collections of a history keep it. */
  readonly ownClock: SleepCounter = this.clock.facade()
  /** The settings with all keys, those of the accounts too. */
  readonly whole: Settings
  /** Whether nothing happens for which a collection may leave its history. */
  readonly isStrict: boolean
  #system: ViewSystem
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (decisions) => {
      const count = decisions.pick('keys of a collection', [1, 2, 3, 3])
      const drawn = settingsFor(decisions, { keepsPromises: true })
      const keys = KEYS.slice(0, COLLECTIONS.length * count)
      return { ...drawn, keys, hasOrder: true, hasSchema: false, omits: undefined, body: undefined }
    })
    const { decisions, settings } = this
    // An object without a key in the batch that ends a list is one of the list: it deletes nothing.
    settings.mix.exclude('keyless-event', 'malformed-event', 'keyless-in-poll')
    this.isStrict = decisions.chance('strict', 0.3)
    if (this.isStrict) settings.mix.exclude('refuse-for-good', 'refuse-watch-for-good', 'step-throws')
    this.whole = { ...settings, keys: [...settings.keys, ...ACCOUNTS] }
    this.workload = new Workload(this)
    this.history = new Bank(this.workload.initial(), settings.hasRevisions)
    this.source = new SimulatedSource(this, undefined)
    const holdMs = this.isStrict ? Infinity : decisions.pick('hold', [0, 3_000, 30_000])
    const historyOf = (): SplitHistory => new LossyHistory(this, holdMs)
    const history = historyOf()
    const last = decisions.chance('two histories', 0.25) ? historyOf() : history
    this.collections = COLLECTIONS.map((name, nth) => (nth < 2 ? history : last).collection<Item>(name))
    this.#system = this.restart()
  }

  get system(): ViewSystem {
    return this.#system
  }

  get driver(): ViewSystem {
    return this.#system
  }

  plan(): Planned[] {
    return [
      ...this.planned(this.decisions, all, (action) => this.workload.perform(action)),
      ...this.planned(this.decisions, uses, ({ kind, label }) => this.#system.use(kind, label)),
    ]
  }

  restart(): ViewSystem {
    this.#system = new ViewSystem(this, this.#lives++)
    return this.#system
  }

  quiet(): void {}

  lastWrite(): void {
    this.workload.lastWrite()
  }

  get healsWithinMs(): number {
    return healsWithin(this.settings) + COLLECTIONS.length * LIST_STALL_MS + AUDITED_MS
  }

  protected override tidy(): void {
    this.workload.restoreClock()
  }
}

/** The history of collections, of which single ones are lost. */
class LossyHistory extends SplitHistory {
  readonly #world: ViewWorld

  constructor(world: ViewWorld, holdMs: number) {
    super(world.source, (key) => [collectionOf(key), key], holdMs)
    this.#world = world
  }

  override async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const { decisions } = this.#world
    const losses = decisions.of('losses')
    for await (const batch of super.watch(context)) {
      const isLost =
        !decisions.isQuiet && losses.chance(LOSS_RATE) && decisions.take(`lose a collection#${losses.drawn}`)
      if (isLost) this.#world.mark('a collection was lost')
      const error = new SourceError('the collection is lost', { code: 'VERSION_EXPIRED' })
      yield isLost ? { ...batch, lost: new Map([[losses.pick([...context.positions.keys()]), error]]) } : batch
    }
  }
}

/** A backend whose transactions of several keys write two accounts, too. Their numbers have the same difference. */
class Bank extends History {
  readonly #hasRevisions: boolean

  constructor(initial: State, hasRevisions: boolean) {
    super(initial)
    this.#hasRevisions = hasRevisions
  }

  override commit(mutations: readonly Mutation[], id: number): Commit {
    const transfer = mutations.length < 2 ? [] : ACCOUNTS.map((key, nth) => this.#booked(key, nth))
    return super.commit([...mutations, ...transfer], id)
  }

  #booked(key: string, nth: number): Mutation {
    const { sequence, state } = this.head
    const item = { n: FIRST_BALANCE + 2 * sequence + nth * BALANCE, tenant: TENANTS[nth] ?? '', tags: [], rank: nth }
    const revision = this.#hasRevisions ? String(sequence + 1) : undefined
    return { key, stored: { key, item, uid: key, revision, isInvalid: false }, was: state.get(key) }
  }
}
