import type { Version } from '../../../src/contract/version.js'
import type { Item, Mutation, State, Stored } from '../backend/history.js'
import { InformerDriver } from '../system/informer-driver.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import { setWallClock } from '../system/wall-clock.js'
import { RANKS, TAGS, TENANTS } from './declared-indexes.js'
import { type Action, isKeyOf } from './fault-plan.js'
import { withBody } from './item-bodies.js'
import { hashOf, mix } from './random-decisions.js'

export interface WorkloadTarget extends SourceScenario {
  readonly driver: Pick<InformerDriver, 'source' | 'state' | 'stop' | 'skipped'>
}

const SUSPENDED_MS = 10 * 60_000
const ENQUEUES = 40
const STORM = 8
/** Storms add no commits after this many, so that a slow source can send all of them within the time to heal. */
const MOST_COMMITS = 700
const DAY_MS = 24 * 3_600_000

/** The actions of writers and users. Each action draws from its own label. */
export class Workload {
  readonly #world: WorkloadTarget
  #contents: number
  #uids = 0
  /** The offset of the wall clock that this schedule has set. */
  #jumpedMs = 0

  /** Its contents have the numbers after `contents`. */
  constructor(world: WorkloadTarget, contents = 0) {
    this.#world = world
    this.#contents = contents
  }

  initial(): State {
    const { decisions, settings } = this.#world
    const state = new Map<string, Stored>()
    for (const key of settings.keys)
      if (decisions.chance('initial', 0.5)) state.set(key, this.#stored(key, 'initial', '0'))
    return state
  }

  perform({ kind, label }: Action): void {
    const { history, settings, note, clock, decisions } = this.#world
    const key = decisions.pick(label, settings.keys)
    const known = history.head.state.get(key)
    const performed = {
      put: () => this.#commit(label, [this.#put(key, label)]),
      'put again': () => {
        if (known !== undefined)
          this.#commit(label, [{ key, stored: { ...known, revision: this.#revision(this.#next) }, was: known }])
      },
      delete: () => known !== undefined && this.#commit(label, [this.#delete(key)]),
      recreate: () => this.#recreate(key, label),
      storm: () => this.#storm(key, label, decisions.pick(label, [1, 20, 300])),
      // If only an audit may repair the store, a list may not.
      vanish: () => (!settings.isBreach || settings.auditMs === false) && this.#vanish(key, label),
      transaction: () => this.#transaction(label),
      corrupt: () => this.#corrupt(key, label),
      'give up': () => {
        this.#corrupt(key, label)
        clock.in(decisions.next(label) * 3_000, () => {
          if (!decisions.isQuiet && this.#world.history.head.state.get(key)?.isInvalid)
            this.#commit(label, [this.#delete(key)])
        })
      },
      compact: () => this.#compact(label),
      restore: () => this.#restore(label),
      suspend: () => {
        note('the machine is suspended')
        clock.skip(decisions.next(label) * SUSPENDED_MS)
        this.#world.driver.skipped()
      },
      restart: () => {
        note('is stopped')
        this.#world.driver.stop()
      },
      'clock jump': () => this.#jump(label),
      'flip field': () => this.#flip(key),
      'drain controller': () => this.#drain(key, label),
      'enqueue many': () => this.#enqueueMany(label),
      'restore twice': () => this.#restoreTwice(label),
    }
    if (isKeyOf(performed, kind)) performed[kind]()
    else if (this.#world.driver instanceof InformerDriver) this.#world.driver.use(kind, key)
  }

  restoreClock(): void {
    setWallClock(-this.#jumpedMs)
    this.#jumpedMs = 0
  }

  /** No watch is open: only a list reveals a key that comes and goes now. */
  #writeInGap(): void {
    const { decisions, history, settings } = this.#world
    if (decisions.isQuiet) return
    // Often the key that was written last: readers may not have received it yet.
    const [last] = history.head.mutations
    const key = last !== undefined && decisions.chance('gap', 0.7) ? last.key : decisions.pick('gap', settings.keys)
    const isThere = history.head.state.has(key)
    this.#commit('in the gap', [isThere ? this.#delete(key) : this.#put(key, 'gap')])
  }

  /** A watch failed: writers may write now. */
  inGap(): void {
    const { clock, decisions, settings } = this.#world
    if (!settings.mix.strikes('write-in-gap')) return
    for (let count = 1 + decisions.below('gap', 3); count > 0; count--)
      clock.in(decisions.next('gap') * decisions.pick('gap', [20, 200, 600]), () => this.#writeInGap())
  }

  /** Writes one key again and again, faster than it is delivered. */
  #storm(key: string, label: string, apartMs: number): void {
    const { clock, decisions, history } = this.#world
    for (let nth = STORM + decisions.below(label, STORM); nth > 0; nth--)
      clock.in(nth * apartMs, () => {
        if (!decisions.isQuiet && history.head.sequence < MOST_COMMITS) this.#commit(label, [this.#put(key, label)])
      })
  }

  /** Drains a controller, often while its source writes the key. */
  #drain(key: string, label: string): void {
    const { clock, decisions, driver, history } = this.#world
    if (!(driver instanceof InformerDriver)) return
    driver.drain(key)
    const apartMs = decisions.pick(label, [0, 2, 50, 150])
    for (let nth = apartMs === 0 ? 0 : STORM - decisions.below(label, 2); nth > 0; nth--)
      clock.in(nth * apartMs, () => {
        if (decisions.isQuiet) return
        this.#commit(label, [history.head.state.has(key) ? this.#delete(key) : this.#put(key, label)])
      })
  }

  #corrupt(key: string, label: string): void {
    const known = this.#world.history.head.state.get(key)
    const stored = known ?? this.#stored(key, label, this.#next)
    this.#commit(label, [
      { key, stored: { ...stored, revision: this.#revision(this.#next), isInvalid: true }, was: known },
    ])
  }

  /** Enqueues keys with delays, and then with shorter ones. */
  #enqueueMany(label: string): void {
    const { decisions, driver, settings } = this.#world
    if (!(driver instanceof InformerDriver) || driver.isStopping) return
    if (driver.reconcilers.length === 0) driver.reconcile()
    const reconciler = decisions.pick(label, driver.reconcilers)
    for (let nth = ENQUEUES; nth > 0; nth--)
      reconciler?.enqueueIn(decisions.pick(label, settings.keys), 100 * nth + decisions.below(label, 2_000))
  }

  /**
   * Restores twice, the second time before the first restore can have been read. Writers wait for their writes in each.
   */
  #restoreTwice(label: string): void {
    const { clock, decisions, driver, settings } = this.#world
    const restore = (): void => {
      if (decisions.isQuiet) return
      this.#restore(label)
      this.#commit(label, [this.#put(decisions.pick(label, settings.keys), label)])
      if (driver instanceof InformerDriver && !driver.isStopping) driver.waiters.forHead()
    }
    restore()
    clock.in(decisions.next(label) * settings.latencyMs, restore)
  }

  /** Deletes and recreates a key, then deletes it while no watch is open: its second delete is found only by a list. */
  #vanish(key: string, label: string): void {
    const { clock, decisions, driver, history, settings } = this.#world
    const later = (times: number, act: () => void): void =>
      void clock.in(times * (1 + settings.latencyMs) + decisions.next(label) * 20, () => {
        if (!decisions.isQuiet) act()
      })
    if (!history.head.state.has(key)) this.#commit(label, [this.#put(key, label)])
    later(1, () => this.#commit(label, [this.#delete(key)]))
    later(2, () => this.#commit(label, [this.#put(key, label)]))
    later(4, () => {
      driver.source.expire()
      if (history.head.state.has(key)) this.#commit(label, [this.#delete(key)])
    })
  }

  writeRepeatedly(key: string): void {
    const { decisions, settings } = this.#world
    if (decisions.isQuiet || !settings.keys.includes(key)) return
    if (settings.mix.strikes('pile-up')) this.#storm(key, 'pile up', decisions.pick('pile up', [1, 20, 100]))
    if (settings.mix.strikes('vanish-meanwhile')) this.#vanish(decisions.pick('vanish', settings.keys), 'vanish')
  }

  comeAndGo(key: string): void {
    const { clock, decisions, history, settings } = this.#world
    if (decisions.isQuiet || !settings.keys.includes(key)) return
    const comesIn = decisions.next('comes back') * 50
    clock.in(comesIn, () => {
      if (!history.head.state.has(key)) this.#commit('comes', [this.#put(key, 'comes back')])
    })
    clock.in(comesIn + decisions.next('comes back') * 400, () => {
      if (history.head.state.has(key)) this.#commit('goes', [this.#delete(key)])
    })
  }

  deleteInvalid(): void {
    for (const { key, isInvalid } of this.#world.history.head.state.values())
      if (isInvalid) this.#commit('give up', [this.#delete(key)])
  }

  addBriefly(withinMs: number): void {
    const { clock, decisions, history, settings } = this.#world
    const key = settings.keys.find((each) => !history.head.state.has(each))
    if (key === undefined) return
    clock.in(decisions.next('come and go') * withinMs, () => this.#commit('comes', [this.#put(key, 'come and go')]))
    clock.in(4 * withinMs + decisions.next('come and go') * 300, () => {
      if (history.head.state.has(key)) this.#commit('goes', [this.#delete(key)])
    })
  }

  /** Changes a field in the store after the last write: only an audit of contents can find it. */
  lastFlip(): void {
    const { driver, settings } = this.#world
    const key = driver instanceof InformerDriver ? [...driver.informer.keys()][0] : undefined
    if (settings.flips && key !== undefined) this.#flip(key)
  }

  /** A write after the end. */
  lastWrite(): void {
    this.#commit('put', [this.#put(this.#world.settings.keys[0] ?? 'a', 'last write')])
  }

  #jump(label: string): void {
    const { decisions, note, mark, driver } = this.#world
    const byMs = decisions.pick(label, [-365, -1 / 24, 1 / 24, 1, 365]) * DAY_MS
    note('the wall clock is set', byMs)
    if (driver.source.streams.size > 0) mark('the wall clock jumped under an open watch')
    setWallClock(byMs)
    this.#jumpedMs += byMs
  }

  /** Changes an object that the store holds. */
  #flip(key: string): void {
    const { driver, settings, note, mark } = this.#world
    const object = settings.flips && driver instanceof InformerDriver ? driver.informer.get(key) : undefined
    if (object === undefined) return
    note('a field changes by itself', nameOf(key), object.n)
    mark('a field in the store changed by itself')
    Object.assign(object, { n: -1 - ++this.#contents })
  }

  #commit(what: string, mutations: readonly Mutation[]): void {
    const { history, note, driver } = this.#world
    const { version } = history.commit(mutations, mix(hashOf(what) + mutations.length))
    note(what, ...mutations.flatMap(({ key, stored }) => [nameOf(key), stored?.item.n ?? 'gone']), version)
    driver.source.wake()
  }

  #transaction(label: string): void {
    const { decisions, history, settings } = this.#world
    const mutations: Mutation[] = []
    const written = new Map<string, Stored | undefined>()
    for (let count = 2 + decisions.below(label, 3); count > 0; count--) {
      const key = decisions.pick(label, settings.keys)
      const was = written.has(key) ? written.get(key) : history.head.state.get(key)
      const isDelete = was !== undefined && decisions.chance(label, 0.35)
      const stored = isDelete ? undefined : this.#stored(key, label, this.#next, was?.uid)
      written.set(key, stored)
      mutations.push({ key, stored, was })
    }
    this.#commit(label, withoutOverwritten(mutations))
  }

  /** The same key, another identity, in one transaction or in two. */
  #recreate(key: string, label: string): void {
    const { decisions, history, driver, mark } = this.#world
    const was = history.head.state.get(key)
    if (was === undefined) return
    const gone: Mutation = { key, stored: undefined, was }
    if (![...driver.source.streams].some(({ kind }) => kind === 'watch'))
      mark('a key was deleted and written again while no watch was open')
    if (decisions.chance(label, 0.5)) {
      this.#commit(label, [gone, { key, stored: this.#stored(key, label, this.#next), was: undefined }])
      return
    }
    this.#commit(label, [gone])
    this.#commit(label, [{ key, stored: this.#stored(key, label, this.#next), was: undefined }])
  }

  #compact(label: string): void {
    const { decisions, history, note, mark, driver } = this.#world
    const { sequence } = history.head
    // Before, at, and after the version from which a reader will resume.
    history.compacted = Math.max(history.compacted, sequence - decisions.below(label, 4))
    note('compacts', history.compacted)
    if (driver.state.startsWith('backing-off')) mark('the history was compacted during a backoff')
    driver.source.wake()
  }

  #restore(label: string): void {
    const { decisions, history, note, mark, driver } = this.#world
    const { sequence } = history.head
    const back = decisions.below(label, 6)
    const from = history.inEpoch(sequence - back) ?? history.first
    const before = history.head.version
    const lost = Array.from(
      { length: sequence - from.sequence },
      (_, nth) => history.inEpoch(from.sequence + nth + 1) ?? from,
    )
    const { version } = history.restore(from)
    note('is restored from a backup', version)
    // History forks: the same numbers again, for other contents.
    for (const { mutations } of decisions.chance(label, 0.7) ? lost : []) {
      const keys = new Set(mutations.map(({ key }) => key))
      this.#commit(
        'in another history',
        Array.from(keys, (key) => this.#put(key, label)),
      )
    }
    if (driver instanceof InformerDriver && driver.followers.some((follower) => follower.isStuck))
      mark('the collection was restored while a handler was stuck')
    if ([...driver.source.streams].some(({ kind }) => kind === 'list'))
      mark('the collection was restored while a list was on its way')
    driver.source.wake()
    this.#waitAcrossFork(before)
    this.#waitInFork(label)
  }

  /** Before a reader has learned of a restore, clients wait for their writes before it and after it. */
  #waitAcrossFork(before: Version): void {
    const { decisions, driver, history } = this.#world
    const isFirst = decisions.chance('waits across a fork', 0.5)
    if (!(driver instanceof InformerDriver) || driver.isStopping || decisions.chance('waits across a fork', 0.5)) return
    const after = history.head.version
    driver.waiters.forMarks(isFirst ? [after, before] : [before, after])
  }

  /** Handlers of the earlier history may have waits for marks of the new one. */
  #waitInFork(label: string): void {
    const { clock, decisions, driver } = this.#world
    if (!(driver instanceof InformerDriver) || !decisions.chance('waits in a fork', 0.5)) return
    for (let count = 1 + decisions.below('waits in a fork', 3); count > 0; count--)
      clock.in(decisions.next('waits in a fork') * decisions.pick('waits in a fork', [20, 400, 3_000]), () => {
        if (decisions.isQuiet || driver.isStopping) return
        if (decisions.chance('writes in a fork', 0.5))
          this.#commit(label, [this.#put(decisions.pick('writes in a fork', this.#world.settings.keys), label)])
        driver.waiters.ofFollower()
      })
  }

  #put(key: string, label: string): Mutation {
    const was = this.#world.history.head.state.get(key)
    return { key, stored: this.#stored(key, label, this.#next, was?.uid), was }
  }

  #delete(key: string): Mutation {
    return { key, stored: undefined, was: this.#world.history.head.state.get(key) }
  }

  #stored(key: string, label: string, revision: string, uid = `u${++this.#uids}`): Stored {
    return { key, item: this.#item(label), uid, revision: this.#revision(revision), isInvalid: false }
  }

  #item(label: string): Item {
    const { decisions, settings } = this.#world
    const tags = TAGS.filter(() => decisions.chance(label, 0.4))
    const item = {
      n: ++this.#contents,
      tenant: decisions.pick(label, TENANTS),
      tags,
      rank: decisions.below(label, RANKS),
    }
    if (settings.body === undefined) return item
    const isPlain = decisions.chance('plain', 0.7)
    return withBody(isPlain ? { ...item, tenant: TENANTS[1] ?? '', tags: [], rank: 1 } : item, settings.body, false)
  }

  get #next(): string {
    return String(this.#world.history.head.sequence + 1)
  }

  #revision(revision: string): string | undefined {
    return this.#world.settings.hasRevisions ? revision : undefined
  }
}

/** Equal revisions mean equal objects: an object that the same transaction overwrites has no revision. */
function withoutOverwritten(mutations: readonly Mutation[]): Mutation[] {
  return mutations.map((mutation, at) => {
    const isOverwritten = mutations.some(({ key }, later) => later > at && key === mutation.key)
    if (!isOverwritten || mutation.stored === undefined) return mutation
    return { ...mutation, stored: { ...mutation.stored, revision: undefined } }
  })
}
