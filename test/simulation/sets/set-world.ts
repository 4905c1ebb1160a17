import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { type SourceSet, sourceSet } from '../../../src/informer/source-set.js'
import { History, type Item } from '../backend/history.js'
import { type Planned, Schedule, type ScheduleOptions } from '../runner/schedule.js'
import { type Action, actions, kindOf, kindsOf, planOf } from '../workload/fault-plan.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import { healsWithin, KEYS, type Settings, settingsFor } from '../workload/settings.js'
import { SetDriver } from './set-driver.js'
import { SetMember } from './set-member.js'
import { SetMembers } from './set-members.js'
import { Backend } from './shards.js'

const NAMES = ['eu', 'us', '__proto__', 'ap']

const writing = [
  'put',
  'put again',
  'delete',
  'transaction',
  'recreate',
  'corrupt',
  'give up',
  'compact',
  'restore',
] as const
const using = [
  'subscribe',
  'close',
  'reconcile',
  'enqueue',
  'drain controller',
  'wait for head',
  'fresh',
  'until',
  'relist',
  'misuse',
] as const
const looking = ['add index', 'begin snapshot', 'end snapshot'] as const
const disturbing = ['suspend', 'restart', 'clock jump'] as const

const writes = writing.map((kind) => kindOf(kind, actions[kind]))
const uses = [
  ...[...using, ...looking, ...disturbing].map((kind) => kindOf(kind, actions[kind])),
  ...kindsOf({ 'add source': 2.5, 'remove source': 1.8, 'replace source': 0.8, 'expire all': 1 }),
]

type Use = (typeof using)[number] | (typeof looking)[number]

/** How often a set changes inside a handler or a listener, where it does at all. */
const MEDDLES = 0.02

/** One schedule of an informer over several sources, which come and go. */
export class SetWorld extends Schedule {
  readonly kind = 'set'
  readonly #slots: SetMembers
  readonly #set: SourceSet<Item> = sourceSet<Item>({})
  /** Whether all of them are shards of one backend. */
  readonly #isSharded: boolean
  readonly #meddles: number
  /** Whether a source comes or goes just now. */
  #isChanging = false
  #cast: SetDriver
  #lives = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options, (draws) => {
      const maxRelists = draws.pick('max relists', [undefined, undefined, 1, 2])
      return { ...settingsFor(draws, true), flips: false, ...(maxRelists !== undefined && { maxRelists }) }
    })
    const { draws, settings } = this
    const isShared = draws.chance('shared keys', 0.2)
    this.#isSharded = !isShared && draws.chance('one backend', 0.4)
    this.#meddles = draws.chance('meddles', 0.4) ? MEDDLES : 0
    const names = NAMES.slice(0, draws.pick('sources', [2, 3, 3, 4]))
    const hands = isShared ? undefined : deal(draws, names.length)
    const reader = {
      world: this,
      get state(): string {
        return this.world.#cast?.state ?? ''
      },
      stop: () => this.#cast.stop(),
      skipped: () => this.#cast.skipped(),
    }
    const slots = names.map((name, nth) => {
      const settingsOf = (own: RandomDecisions): Settings => settingsOfSlot(own, settings, hands?.[nth], isShared)
      return new SetMember(
        this,
        { name, nth, isExact: !isShared && settings.maxRelists === undefined && settings.driftMs === 0 },
        settingsOf,
        reader,
      )
    })
    this.#slots = new SetMembers(slots, isShared)
    const isBreach = slots.some((slot) => slot.settings.isBreach)
    Object.assign(settings, { keys: [...new Set(slots.flatMap((slot) => slot.settings.keys))], isBreach })
    if (this.#isSharded) this.#shard(slots)
    for (const slot of slots) {
      if (draws.chance('begins', 0.75)) this.#set.add(slot.name, slot.source)
      else slot.isIn = false
    }
    this.#cast = this.#newCast()
  }

  get cast(): SetDriver {
    return this.#cast
  }

  plan(): readonly Planned[] {
    const { healAtMs } = this.settings
    const plan: Planned[] = []
    for (const { site } of this.#slots)
      for (const action of planOf(site.draws, healAtMs, writes))
        plan.push({ at: action.at, perform: () => site.deeds.perform(action) })
    for (const action of planOf(this.draws, healAtMs, uses))
      plan.push({ at: action.at, perform: () => this.#perform(action) })
    return plan.sort((a, b) => a.at - b.at)
  }

  restart(): SetDriver {
    this.mark('a set was read by another informer')
    this.#cast = this.#newCast()
    return this.#cast
  }

  quiet(): void {
    for (const { site } of this.#slots) site.draws.isQuiet = true
  }

  lastWrite(): void {
    for (const { site } of this.#slots) site.deeds.lastWrite()
    // A stopped informer follows its set no more.
    const out = this.#slots.all.find(({ isIn }) => !isIn)
    const [member] = this.#slots.members
    if (member !== undefined) this.#remove(member)
    if (out !== undefined) this.#add(out)
  }

  tidy(): void {
    for (const { site } of this.#slots) site.deeds.restoreClock()
  }

  get healsWithinMs(): number {
    return Math.max(...this.#slots.all.map(({ settings }) => healsWithin(settings))) + NAMES.length * LIST_STALL_MS
  }

  #perform({ kind, label }: Action<(typeof uses)[number]['kind']>): void {
    const { draws, settings } = this
    const cast = this.#cast
    const key = draws.pick(label, settings.keys)
    switch (kind) {
      case 'add source':
        this.#add(draws.pick(label, this.#out))
        break
      case 'remove source':
        this.#remove(draws.pick(label, this.#slots.members))
        break
      case 'replace source': {
        const slot = draws.pick(label, this.#slots.members)
        this.#remove(slot)
        this.#add(slot)
        break
      }
      case 'expire all':
        this.note(kind)
        for (const { source, settings } of this.#slots.members) if (!settings.isBreach) source.expire()
        break
      case 'suspend':
      case 'clock jump':
        this.#slots.all[0]?.site.deeds.perform({ kind, label, at: 0 })
        break
      case 'restart':
        this.note('is stopped')
        cast.stop()
        break
      default:
        if (!cast.isStopping) use(cast, kind, key)
    }
  }

  get #out(): readonly SetMember[] {
    return this.#slots.all.filter(({ isIn }) => !isIn)
  }

  #add(slot: SetMember | undefined): void {
    if (slot === undefined || slot.isIn) return
    const isNew = !this.#isSharded && this.draws.chance('another backend', 0.4)
    this.#cast.lookWhetherFilled()
    slot.renew(isNew, () => new History(slot.site.deeds.initial()))
    this.note('a source is added', slot.name, isNew ? 'of another backend' : '')
    if (slot.removals > 0) this.mark('a source came back')
    if (!this.#cast.isStopping) this.#cast.read(slot)
    this.#isChanging = true
    this.#set.add(slot.name, slot.source)
    this.#isChanging = false
  }

  #remove(slot: SetMember | undefined): void {
    if (slot === undefined || !slot.isIn) return
    this.note('a source is taken out', slot.name)
    this.#markRemoval(slot)
    this.#cast.turns?.left(slot)
    slot.removed()
    this.#isChanging = true
    this.#set.remove(slot.name)
    this.#isChanging = false
    this.#cast.lookWhetherFilled()
  }

  #markRemoval({ name }: SetMember): void {
    const state = this.#cast.stateOf(name)
    if (state?.endsWith('listing')) this.mark('a source was taken out in the middle of a list')
    if (state === 'backing-off') this.mark('a source was taken out during a backoff')
    if (this.#slots.members.length === 1) this.mark('the last source was taken out')
  }

  /** A handler or a listener is told something, and changes the set there and then. */
  #meddle(): void {
    if (this.draws.isQuiet || this.#meddles === 0 || this.#isChanging) return
    const stream = this.draws.of('meddles')
    if (stream.next() >= this.#meddles || !this.draws.take(`meddle#${stream.drawn}`)) return
    this.mark('a set changed inside a callback')
    const slot = this.draws.pick('meddles with', this.#slots.all)
    if (slot?.isIn) this.#remove(slot)
    else this.#add(slot)
  }

  #shard(slots: readonly SetMember[]): void {
    const backend = new Backend()
    for (const slot of slots) slot.history = backend.shard(slot.history.head.state, () => slot.source.wake())
  }

  #newCast(): SetDriver {
    return new SetDriver(this, this.#slots, this.#set, this.#lives++, () => this.#meddle())
  }
}

function use(cast: SetDriver, kind: Use, key: string): void {
  const { draws } = cast.stage
  switch (kind) {
    case 'subscribe':
      cast.follow()
      break
    case 'close':
      cast.close(draws.pick('close', cast.followers))
      break
    case 'reconcile':
      cast.reconcile()
      break
    case 'enqueue':
      draws.pick('enqueue', cast.reconcilers)?.enqueue(key)
      break
    case 'drain controller':
      cast.drain(key)
      break
    case 'wait for head':
      cast.waiters.forHead()
      break
    case 'fresh':
      cast.waiters.fresh()
      break
    case 'until':
      cast.waiters.until(key)
      break
    case 'relist':
      cast.relist()
      break
    case 'misuse':
      cast.misuse()
      break
    case 'add index':
      cast.addIndex()
      break
    case 'begin snapshot':
      cast.beginSnapshot()
      break
    case 'end snapshot':
      cast.endSnapshot()
      break
  }
}

/** What one source is like: much is its own, and some the informer's. */
function settingsOfSlot(
  own: RandomDecisions,
  whole: Settings,
  keys: readonly string[] | undefined,
  isShared: boolean,
): Settings {
  const drawn = settingsFor(own, true)
  const { hasOrder, onInvalid, freezes, omits, clears, hasSchema, auditMs, healAtMs, driftMs } = whole
  const isBreach = drawn.isBreach && hasOrder && !isShared
  const { mix } = drawn
  if (!isBreach) mix.exclude('reorder', 'late-commit', 'lose-event', 'lose-delete', 'lie-in-bookmark', 'lie-in-list')
  if (!hasOrder) mix.exclude('repeat', 'repeat-older', 'stale-list')
  if (isBreach && auditMs !== false) mix.exclude('expire-live', 'expire-watch')
  const shared = { hasOrder, onInvalid, freezes, omits, clears, hasSchema, auditMs, healAtMs, driftMs, flips: false }
  return { ...drawn, ...shared, isBreach, keys: keys ?? drawn.keys }
}

/** Hands out keys, to each other ones. */
function deal(draws: RandomDecisions, count: number): readonly string[][] {
  const pool = [...KEYS]
  const each = draws.pick('key count', [1, 2, 2, Math.floor(pool.length / count)])
  return Array.from({ length: count }, () =>
    Array.from({ length: each }, () => pool.splice(draws.below('keys', pool.length), 1)[0] as string),
  )
}
