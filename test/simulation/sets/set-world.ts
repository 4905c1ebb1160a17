import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { type SourceSet, sourceSet } from '../../../src/informer/sources/source-set.js'
import { type Commit, History, type Item, type Mutation, type State } from '../backend/history.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { type Planned, SourceWorld } from '../system/source-world.js'
import { type Action, actions, isKeyOf, kindOf, kindsOf, writes } from '../workload/fault-plan.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import { healsWithin, KEYS, type Settings, settingsFor } from '../workload/settings.js'
import { SetDriver } from './set-driver.js'
import { SetMember } from './set-member.js'
import { SetMembers } from './set-members.js'

const NAMES = ['eu', 'us', '__proto__', 'ap']

const consuming = ['subscribe', 'close', 'reconcile', 'enqueue', 'drain controller'] as const
const calling = ['wait for head', 'fresh', 'until', 'relist', 'misuse'] as const
const reading = ['add index', 'begin snapshot', 'end snapshot'] as const
const disturbing = ['suspend', 'restart', 'clock jump'] as const
const uses = [
  ...[...consuming, ...calling, ...reading, ...disturbing].map((kind) => kindOf(kind, actions[kind])),
  ...kindsOf({ 'add source': 2.5, 'remove source': 1.8, 'replace source': 0.8, 'expire all': 1 }),
]

/** The probability that a set changes inside a handler or a listener. */
const SET_CHANGE_RATE = 0.02

/** One schedule of an informer over several sources, which come and go. */
export class SetWorld extends SourceWorld {
  readonly kind = 'set'
  readonly #members: SetMembers
  readonly #set: SourceSet<Item> = sourceSet<Item>({})
  /** Whether all of them are shards of one backend. */
  readonly #isSharded: boolean
  readonly #setChangeRate: number
  #isChanging = false
  #system: SetDriver
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (decisions) => {
      const maxRelists = decisions.pick('max relists', [undefined, undefined, 1, 2])
      return { ...settingsFor(decisions), flips: false, ...(maxRelists !== undefined && { maxRelists }) }
    })
    const { decisions, settings } = this
    const isShared = decisions.chance('shared keys', 0.2)
    this.#isSharded = !isShared && decisions.chance('one backend', 0.4)
    this.#setChangeRate = decisions.chance('meddles', 0.4) ? SET_CHANGE_RATE : 0
    const names = NAMES.slice(0, decisions.pick('sources', [2, 3, 3, 4]))
    const hands = isShared ? undefined : deal(decisions, names.length)
    const members = names.map((name, nth) => {
      const settingsOf = (own: RandomDecisions): Settings => settingsOfMember(own, settings, hands?.[nth], isShared)
      return new SetMember(
        this,
        { name, nth, isExact: !isShared && settings.maxRelists === undefined && settings.driftMs === 0 },
        settingsOf,
        () => this.#system,
      )
    })
    this.#members = new SetMembers(members, isShared)
    const isBreach = members.some((member) => member.settings.isBreach)
    Object.assign(settings, { keys: [...new Set(members.flatMap((member) => member.settings.keys))], isBreach })
    if (this.#isSharded) this.#shard(members)
    for (const member of members) {
      if (decisions.chance('begins', 0.75)) this.#set.add(member.name, member.source)
      else member.isIn = false
    }
    this.#system = this.#newSystem()
  }

  get system(): SetDriver {
    return this.#system
  }

  plan(): Planned[] {
    return [
      ...this.#members.all.flatMap(({ decisions, workload }) =>
        this.planned(decisions, writes, (action) => workload.perform(action)),
      ),
      ...this.planned(this.decisions, uses, (action) => this.#perform(action)),
    ]
  }

  restart(): SetDriver {
    this.mark('a set was read by another informer')
    this.#system = this.#newSystem()
    return this.#system
  }

  quiet(): void {
    for (const { decisions } of this.#members) decisions.isQuiet = true
    if (!this.decisions.chance('gives up in the end', 0.5)) return
    for (const { decisions, workload } of this.#members) if (decisions.chance('gives up', 0.5)) workload.deleteInvalid()
  }

  lastWrite(): void {
    for (const { workload } of this.#members) workload.lastWrite()
    // A stopped informer does not follow its set.
    const out = this.#members.all.find(({ isIn }) => !isIn)
    const [member] = this.#members.current
    if (member !== undefined) this.#remove(member)
    if (out !== undefined) this.#add(out)
  }

  protected override tidy(): void {
    for (const { workload } of this.#members) workload.restoreClock()
  }

  get healsWithinMs(): number {
    return Math.max(...this.#members.all.map(({ settings }) => healsWithin(settings))) + NAMES.length * LIST_STALL_MS
  }

  #perform({ kind, label }: Action<(typeof uses)[number]['kind']>): void {
    const { decisions, settings } = this
    const system = this.#system
    const key = decisions.pick(label, settings.keys)
    const performed = {
      'add source': () => this.#add(decisions.pick(label, this.#out)),
      'remove source': () => this.#remove(decisions.pick(label, this.#members.current)),
      'replace source': () => {
        const member = decisions.pick(label, this.#members.current)
        this.#remove(member)
        this.#add(member)
      },
      'expire all': () => {
        this.note('expire all')
        for (const { source, settings } of this.#members.current) if (!settings.isBreach) source.expire()
      },
      suspend: () => this.#members.all[0]?.workload.perform({ kind: 'suspend', label, at: 0 }),
      'clock jump': () => this.#members.all[0]?.workload.perform({ kind: 'clock jump', label, at: 0 }),
      restart: () => {
        this.note('is stopped')
        system.stop()
      },
    }
    if (isKeyOf(performed, kind)) performed[kind]()
    else system.use(kind, key)
  }

  get #out(): readonly SetMember[] {
    return this.#members.all.filter(({ isIn }) => !isIn)
  }

  #add(member: SetMember | undefined): void {
    if (member === undefined || member.isIn) return
    const isNew = !this.#isSharded && this.decisions.chance('another backend', 0.4)
    this.#system.noteFilled()
    member.renew(isNew, () => new History(member.workload.initial()))
    this.note('a source is added', member.name, isNew ? 'of another backend' : '')
    if (member.removals > 0) this.mark('a source came back')
    if (!this.#system.isStopping) this.#system.read(member)
    this.#isChanging = true
    this.#set.add(member.name, member.source)
    this.#isChanging = false
  }

  #remove(member: SetMember | undefined): void {
    if (member === undefined || !member.isIn) return
    this.note('a source is taken out', member.name)
    this.#markRemoval(member)
    this.#system.relistSlots?.left(member)
    member.removed()
    this.#isChanging = true
    this.#set.remove(member.name)
    this.#isChanging = false
    this.#system.noteFilled()
  }

  #markRemoval({ name }: SetMember): void {
    const state = this.#system.stateOf(name)
    if (state?.endsWith('listing')) this.mark('a source was taken out in the middle of a list')
    if (state === 'backing-off') this.mark('a source was taken out during a backoff')
    if (this.#members.current.length === 1) this.mark('the last source was taken out')
  }

  #changeSet(): void {
    if (this.decisions.isQuiet || this.#setChangeRate === 0 || this.#isChanging) return
    const stream = this.decisions.of('meddles')
    if (stream.next() >= this.#setChangeRate || !this.decisions.take(`meddle#${stream.drawn}`)) return
    this.mark('a set changed inside a callback')
    const member = this.decisions.pick('meddles with', this.#members.all)
    if (member?.isIn) this.#remove(member)
    else this.#add(member)
  }

  #shard(members: readonly SetMember[]): void {
    const backend = new Backend()
    for (const member of members) member.begin(backend.shard(member.history.head.state, () => member.source.wake()))
  }

  #newSystem(): SetDriver {
    return new SetDriver(this, this.#members, this.#set, this.#lives++, () => this.#changeSet())
  }
}

/** The settings of one source: some are its own, some are the informer's. */
function settingsOfMember(
  own: RandomDecisions,
  whole: Settings,
  keys: readonly string[] | undefined,
  isShared: boolean,
): Settings {
  const drawn = settingsFor(own)
  const { hasOrder, onInvalid, freezes, interns, omits, clears, hasSchema, auditMs, healAtMs, driftMs } = whole
  const isBreach = drawn.isBreach && hasOrder && !isShared
  const { mix } = drawn
  if (!isBreach) mix.exclude('reorder', 'late-commit', 'lose-event', 'lose-delete', 'lie-in-bookmark', 'lie-in-list')
  if (!hasOrder) mix.exclude('repeat', 'repeat-older', 'stale-list')
  if (isBreach && auditMs !== false) mix.exclude('expire-live', 'expire-watch')
  const ofInformer = { onInvalid, freezes, interns, omits, clears, hasSchema, auditMs }
  const shared = { ...ofInformer, hasOrder, healAtMs, driftMs, flips: false }
  return { ...drawn, ...shared, isBreach, keys: keys ?? drawn.keys }
}

function deal(decisions: RandomDecisions, count: number): readonly string[][] {
  const pool = [...KEYS]
  const each = decisions.pick('key count', [1, 2, 2, Math.floor(pool.length / count)])
  return Array.from({ length: count }, () =>
    Array.from({ length: each }, () => pool.splice(decisions.below('keys', pool.length), 1)[0] as string),
  )
}

/**
 * One backend that is read in shards: each has its own keys, and every transaction advances the version of all of them.
 */
export class Backend {
  /** The shards, each with the function that wakes its watches. */
  readonly #shards = new Map<Shard, () => void>()

  shard(initial: State, woken: () => void): History {
    const shard = new Shard(initial, (follow) => {
      for (const [other, wake] of this.#shards) {
        if (other === shard) continue
        follow(other)
        wake()
      }
    })
    this.#shards.set(shard, woken)
    return shard
  }
}

class Shard extends History {
  readonly #others: (follow: (other: Shard) => void) => void

  constructor(initial: State, others: (follow: (other: Shard) => void) => void) {
    super(initial)
    this.#others = others
  }

  override commit(mutations: readonly Mutation[], id: number): Commit {
    this.#others((other) => other.#followCommit(id))
    return super.commit(mutations, id)
  }

  override restore(from: Commit): Commit {
    this.#others((other) => other.#followRestore(from.sequence))
    return super.restore(from)
  }

  #followCommit(id: number): void {
    super.commit([], id)
  }

  #followRestore(sequence: number): void {
    super.restore(this.inEpoch(sequence) ?? this.first)
  }
}
