import type { Change } from '../../src/delta.js'
import type { Informer } from '../../src/informer.js'
import type { ChangeBatch, SubscribeOptions, Subscription } from '../../src/scope.js'
import type { Version } from '../../src/version.js'
import type { Item } from './history.js'
import type { IndexesOf } from './indexes.js'
import { mergedOf, type Noted } from './merging.js'
import { nameOf, type Stage } from './stage.js'

/** Merged, a key waits as one change, or as a delete and then an add. */
const MOST_OF_A_KEY = 2

/** One change that a follower has not been told yet. */
interface Waiting {
  readonly change: Change<Item>
  /** It may have left the queue: with a batch that is being told. */
  mayBeInHand: boolean
  /** It waited when there was more than the queue may hold: everything of then comes as one batch. */
  overflow: Overflow | undefined
}

/** How often each key was told of what had to be merged. */
interface Overflow {
  readonly told: Map<string, number>
}

/**
 * Judges the queue of one follower by what goes in and what comes out. What goes in somebody else tells, who follows the
 * same scope and is told at once. `every` tells each batch as it came, until more waits than the capacity; from then on
 * everything that waits is one batch, merged by key, in the order in which the keys came; or the subscription is closed.
 */
export class QueueJudge {
  readonly #stage: Stage
  readonly #name: string
  readonly #informer: Informer<Item, IndexesOf>
  readonly #options: SubscribeOptions<Item, IndexesOf>
  readonly #capacity: number
  readonly #concurrency: number
  readonly #wantsLatest: boolean
  readonly #shadow: Subscription
  /** What went in, and what came out, in this step: in which order is not known. */
  #entered: Change<Item>[] = []
  #told: Change<Item>[] = []
  #taken: ChangeBatch<Item>[] = []
  #waiting: Waiting[] = []
  isOverflowed = false
  /** Since it had caught up there was a moment with more than the capacity. */
  #mayMerge: boolean
  #overflow: Overflow | undefined
  /** How many objects there were in the beginning. */
  #replayed = 0
  /** The largest batch that went in. */
  #largest = 0
  readonly #known = new Set<string>()
  /** Somebody may also ask for it. */
  #hasResynced: boolean
  #isOver = false

  constructor(
    stage: Stage,
    informer: Informer<Item, IndexesOf>,
    options: SubscribeOptions<Item, IndexesOf>,
    concurrency: number,
  ) {
    const { name = '', key, where, filter, delivery, capacity = Infinity } = options
    this.#stage = stage
    this.#name = name
    this.#informer = informer
    this.#options = options
    this.#concurrency = concurrency
    this.#capacity = capacity
    this.#wantsLatest = delivery === 'latest'
    this.#mayMerge = this.#wantsLatest
    this.#hasResynced = options.resyncMs !== undefined
    const scope = { ...(key !== undefined && { key }), ...(where && { where }), ...(filter && { filter }) }
    const tell = (change: Change<Item>): void => {
      if (change.origin === 'initial') this.#replayed++
      else if (!this.#isOver) this.#entered.push(change)
    }
    this.#shadow = informer.subscribe({ add: tell, update: tell, delete: tell }, { ...scope, name: `beside ${name}` })
  }

  /** A handler is called. */
  told(change: Change<Item>): void {
    if (change.origin === 'resync') this.#hasResynced = true
    if (!this.#isOver) this.#told.push(change)
  }

  /** A reader has got a batch. */
  took(batch: ChangeBatch<Item>): void {
    if (!this.#isOver) this.#taken.push(batch)
  }

  /** It was closed because it fell behind. */
  overflowed(): void {
    this.isOverflowed = true
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    void this.#shadow.close()
  }

  look(subscription: Subscription): void {
    if (this.#isOver) return
    const { violate, mark } = this.#stage
    this.#enter()
    this.#judgeBeside()
    if (this.isOverflowed) {
      if (!this.#mayMerge) violate('I12', `${this.#name} was closed, and only ${this.#waiting.length} changes waited`)
      this.end()
      return
    }
    const isIdle = this.#waiting.length === 0 && !this.#mayMerge
    this.#leave()
    this.#judgeBehindHandlers(subscription)
    if (isIdle) return
    const queued = this.#waiting.filter(({ mayBeInHand }) => !mayBeInHand)
    if (this.#concurrency === 1 && queued.length > (this.#wantsLatest ? 0 : this.#capacity)) {
      if (this.#options.onOverflow === 'fail' && !this.#wantsLatest)
        violate('I12', `${queued.length} changes wait for ${this.#name}, which has room for ${this.#capacity}`)
      this.#overflow ??= { told: new Map() }
      for (const waiting of queued) waiting.overflow ??= this.#overflow
      if (!this.#wantsLatest) mark('the queue of a subscription was full')
    }
    this.#catchUp(subscription)
  }

  /** Who is always at once done is slowed by nobody, however long others take. */
  #judgeBeside(): void {
    const { settings, violate } = this.#stage
    const { version } = this.#shadow
    if (settings.driftMs > 0 || version === undefined) return
    const at = this.#informer.version
    if (version !== at) violate('I12', `who stands beside ${this.#name} is at ${version}, and the store at ${at}`)
  }

  #enter(): void {
    const sizes = new Map<Version | undefined, number>()
    for (const change of this.#entered) {
      const size = (sizes.get(change.version) ?? 0) + 1
      sizes.set(change.version, size)
      this.#largest = Math.max(this.#largest, size)
      this.#waiting.push({ change, mayBeInHand: false, overflow: undefined })
      if (this.#waiting.length > this.#capacity) this.#mayMerge = true
    }
    this.#entered = []
  }

  #leave(): void {
    for (const change of this.#told) this.#judgeTold(change)
    for (const batch of this.#taken) this.#judgeTaken(batch)
    // What else came in this step may have left the queue with it.
    if (this.#told.length > 0) {
      for (const waiting of this.#waiting) waiting.mayBeInHand = true
      this.#overflow = undefined
    }
    this.#told = []
    this.#taken = []
  }

  #judgeTold(change: Change<Item>): void {
    const { violate, mark } = this.#stage
    const { key, origin, version, type } = change
    if (origin === 'initial' || origin === 'resync') return
    if (!this.#mayMerge) {
      const first = this.#waiting.findIndex((waiting) => waiting.change.key === key)
      if (!isSame(this.#waiting[first]?.change, change))
        violate(
          'queue',
          `${this.#name} was told "${type}" of ${nameOf(key)} at ${version}, and that is not what came next`,
        )
      if (first >= 0) this.#waiting.splice(first, 1)
      return
    }
    const isIt = (waiting: Waiting): boolean => waiting.change.key === key && waiting.change.version === version
    const exact = this.#waiting.findLastIndex((waiting) => isIt(waiting) && waiting.change.type === type)
    const at = exact >= 0 ? exact : this.#waiting.findLastIndex(isIt)
    const found = this.#waiting[at]
    if (found === undefined) return
    const left = this.#waiting.filter((waiting, index) => index > at || waiting.change.key !== key)
    if (left.length < this.#waiting.length - 1 && !this.#wantsLatest) mark('a subscription overflowed and merged')
    this.#waiting = left
    const told = found.overflow?.told
    const times = (told?.get(key) ?? 0) + 1
    told?.set(key, times)
    if (told !== undefined && times > MOST_OF_A_KEY)
      violate('I12', `${this.#name} was told ${times} changes of ${nameOf(key)} that had to be merged`)
  }

  #judgeTaken({ changes, version }: ChangeBatch<Item>): void {
    // Where nothing waits something may be told again; it keeps its key's place for what comes.
    const news = changes.filter(({ origin }) => origin !== 'resync')
    const isReplay = changes.some(({ origin }) => origin === 'initial')
    if (version !== undefined && news.length > 0 && !isReplay) {
      const { history } = this.#stage
      const upTo = history.indexOf(version)
      const isIn = ({ change }: Waiting): boolean => history.indexOf(change.version ?? version) <= upTo
      const taken = this.#waiting.filter(isIn)
      this.#judgeBatch(news, taken, version)
      this.#waiting = this.#waiting.filter((waiting) => !taken.includes(waiting))
      this.#overflow = undefined
    }
    for (const { key, type } of changes) {
      if (type === 'delete') this.#known.delete(key)
      else this.#known.add(key)
    }
  }

  /** A batch is the first of what waited; or all of it, merged, after there was too much. */
  #judgeBatch(news: readonly Change<Item>[], taken: readonly Waiting[], version: Version): void {
    const { violate, mark } = this.#stage
    const waited = taken.map(({ change }) => change)
    const first = waited.filter((change) => change.version === waited[0]?.version)
    const isAsItCame = first.length === news.length && first.every((change, at) => isSame(change, news[at]))
    const merged = mergedOf(waited, this.#known)
    const isMerged = this.#options.resyncMs === undefined ? isAs(news, merged) : isAs(byKey(news), byKey(merged))
    // What waited may have come to nothing: then it had caught up, and what came last is told as it came.
    const last = waited.slice(-news.length)
    const isFresh = last.every((change, at) => isSame(change, news[at]))
    if (isFresh && mergedOf(waited.slice(0, -news.length), this.#known).length === 0) return
    if (taken.some(({ overflow }) => overflow !== undefined) && first.length < waited.length && !isMerged)
      violate('I12', `${this.#name} took ${news.length} changes at ${version}, and not all that waited, merged`)
    else if (!isAsItCame && !(this.#mayMerge && isMerged))
      violate('queue', `${this.#name} took a batch at ${version} that is neither what came nor what waited, merged`)
    else if (!isAsItCame && !this.#wantsLatest) mark('a subscription overflowed and merged')
  }

  /** Behind handlers that are busy there is room for so many changes, or for the last state of each key. */
  #judgeBehindHandlers({ backlog }: Subscription): void {
    if (this.#concurrency === 1) return
    const { settings, violate } = this.#stage
    const keys = new Set(this.#waiting.map(({ change }) => change.key)).size
    const merged = MOST_OF_A_KEY * keys
    // The next batch is taken where there is still room, and only then.
    const news = this.#wantsLatest ? merged : this.#capacity - 1 + Math.max(this.#largest, merged)
    const most = keys + news + this.#replayed + (this.#hasResynced ? settings.keys.length + this.#concurrency : 0)
    if (backlog.keys > most) violate('I12', `${backlog.keys} changes wait for ${this.#name}, ${most} at most`)
  }

  /** At rest nothing waits, whatever was merged into nothing. */
  #catchUp({ version, backlog }: Subscription): void {
    if (backlog.keys > 0) return
    for (const waiting of this.#waiting) waiting.mayBeInHand = true
    this.#overflow = undefined
    if (version === undefined || version !== this.#informer.version) return
    this.#waiting = []
    this.#mayMerge = this.#wantsLatest
  }
}

function isSame(one: Change<Item> | undefined, other: Change<Item> | undefined): boolean {
  return (
    one?.type === other?.type &&
    one?.key === other?.key &&
    one?.object === other?.object &&
    one?.version === other?.version
  )
}

function isAs(some: readonly Noted[], others: readonly Noted[]): boolean {
  return some.length === others.length && some.every((one, at) => isLike(one, others[at]))
}

function isLike(one: Noted, other: Noted | undefined): boolean {
  const isLikeIt = one.type === other?.type && one.key === other.key && one.finalState === other.finalState
  return isLikeIt && one.object === other.object && one.version === other.version
}

function byKey(notes: readonly Noted[]): readonly Noted[] {
  return notes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
