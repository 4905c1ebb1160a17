import type { Change, ChangeBatch, Informer, SubscribeOptions, Subscription, Version } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import { type Commits, isOfOneCommit, isOfOneVersion } from './handler-commits.js'
import { isLike } from './merged-changes.js'
import { checkTakenBatch, isNothing, type Overflow, type Waiting, withEndsOfLists } from './taken-batch-checker.js'

/** A merged key is one change, or a delete and then an add. */
const MOST_OF_A_KEY = 2

/**
 * Checks the queue of one follower by its input and output. A shadow subscription with the same scope receives the
 * input at once. `every` delivers each batch as it came, until more changes are pending than the capacity. From then
 * on, all pending changes are one batch, merged by key, in the order of arrival; or the subscription is closed.
 */
export class QueueChecker {
  readonly #scenario: Scenario
  readonly #name: string
  readonly #commits: Commits
  readonly #options: SubscribeOptions<Item, IndexesOf>
  readonly #capacity: number
  readonly #concurrency: number
  readonly #isReader: boolean
  readonly #wantsLatest: boolean
  readonly #shadow: Subscription
  /** The input of this step; its order relative to the output is unknown. */
  #entered: Change<Item>[] = []
  readonly #enteredAt: number[] = []
  /** The least version; only with handlers, and if nothing was merged. */
  #floor: VersionFloorChecker | undefined
  readonly #running = new Map<string, Change<Item>>()
  #last: Change<Item> | undefined
  #idleAt: number | undefined
  /** Whether batches are read: taken changes do not count as pending. */
  #isRead = false
  #delivered: Change<Item>[] = []
  #taken: ChangeBatch<Item>[] = []
  #waiting: Waiting[] = []
  isOverflowed = false
  /** Whether more than the capacity was pending since it last caught up. */
  #mayMerge: boolean
  #overflow: Overflow | undefined
  #replayed = 0
  #largest = 0
  readonly #known = new Set<string>()
  /** Whether it receives resyncs, of its own period or requested ones. */
  #hasResynced: boolean
  /** The time of the oldest pending change, and how much was handled then. */
  #oldest: { readonly since: number | undefined; readonly handled: number } = { since: undefined, handled: 0 }
  #handled = 0
  #busy = 0
  #isOver = false

  constructor(
    scenario: Scenario,
    informer: Informer<Item, IndexesOf>,
    commits: Commits,
    options: SubscribeOptions<Item, IndexesOf>,
    concurrency: number | undefined,
  ) {
    const { name = '', key, where, filter, delivery, capacity = Infinity } = options
    this.#scenario = scenario
    this.#name = name
    this.#commits = commits
    this.#options = options
    this.#concurrency = concurrency ?? 1
    this.#isReader = concurrency === undefined
    this.#capacity = capacity
    this.#wantsLatest = delivery === 'latest'
    this.#mayMerge = this.#wantsLatest
    this.#hasResynced = options.resyncMs !== undefined
    this.#floor = this.#wantsLatest || this.#hasResynced ? undefined : new VersionFloorChecker()
    const scope = { ...(key !== undefined && { key }), ...(where && { where }), ...(filter && { filter }) }
    const receive = (change: Change<Item>): void => {
      if (change.origin === 'initial') this.#replayed++
      else if (!this.#isOver) {
        this.#entered.push(change)
        this.#enteredAt.push(scenario.clock.elapsed)
      }
    }
    this.#shadow = informer.subscribe(
      { add: receive, update: receive, delete: receive },
      { ...scope, name: `beside ${name}` },
    )
  }

  delivered(change: Change<Item>): void {
    if (change.origin === 'resync') this.#hasResynced = true
    this.#last = change
    this.#handled++
    if (!this.#isOver) this.#delivered.push(change)
  }

  took(batch: ChangeBatch<Item>): void {
    this.#isRead = true
    this.#handled++
    if (!this.#isOver) this.#taken.push(batch)
  }

  /** A handler returned a promise; `done` is called when it settles. */
  begins(key?: string): void {
    this.#busy++
    if (key !== undefined && this.#last !== undefined) this.#running.set(key, this.#last)
  }

  done(key?: string): void {
    this.#busy--
    this.#handled++
    if (key !== undefined) this.#running.delete(key)
  }

  overflowed(): void {
    this.isOverflowed = true
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    void this.#shadow.close()
  }

  checkStep(subscription: Subscription): void {
    if (this.#isOver) return
    const { violate, mark } = this.#scenario
    this.#enter()
    this.#checkShadow()
    if (this.isOverflowed) {
      if (!this.#mayMerge) violate('I12', `${this.#name} was closed, and only ${this.#waiting.length} changes waited`)
      this.end()
      return
    }
    const isIdle = this.#waiting.length === 0 && !this.#mayMerge
    this.#leave()
    this.#checkVersion(subscription)
    this.#checkLevel(subscription)
    if (this.#scenario.settings.driftMs === 0) this.#checkBacklog(subscription)
    this.#checkBehindHandlers(subscription)
    if (isIdle) return
    const queued = this.#waiting.filter(({ mayBeInHand }) => !mayBeInHand)
    if (this.#concurrency === 1 && queued.length > (this.#wantsLatest ? 0 : this.#capacity)) {
      if (this.#options.onOverflow === 'fail' && !this.#wantsLatest)
        violate('I12', `${queued.length} changes wait for ${this.#name}, whose capacity is ${this.#capacity}`)
      this.#overflow ??= { delivered: new Map() }
      for (const waiting of queued) waiting.overflow ??= this.#overflow
      if (!this.#wantsLatest) mark('the queue of a subscription was full')
    }
    this.#catchUp(subscription)
  }

  /** A follower that handles everything at once is not delayed by slow ones. */
  #checkShadow(): void {
    const { settings, violate } = this.#scenario
    if (settings.driftMs === 0 && this.#commits.isLate(this.#shadow))
      violate('I12', `the shadow of ${this.#name} has not handled what the store has`)
  }

  #enter(): void {
    let size = 0
    this.#entered.forEach((change, at) => {
      const before = this.#entered[at - 1]
      size = before !== undefined && isOfOneCommit(before, change, this.#commits) ? size + 1 : 1
      this.#largest = Math.max(this.#largest, size)
      const since = this.#enteredAt[at] ?? 0
      this.#floor?.enter(change)
      this.#waiting.push({ change, since, mayBeInHand: false, mayBeGone: false, overflow: undefined })
      if (this.#waiting.length > this.#capacity) this.#mayMerge = true
    })
    this.#entered = []
    this.#enteredAt.length = 0
  }

  #leave(): void {
    for (const change of this.#delivered) {
      this.#floor?.delivered(change)
      this.#checkDelivered(change)
    }
    for (const batch of this.#taken) this.#checkTaken(batch)
    // The other changes of this step may have left the queue with it.
    const last = this.#delivered.at(-1)
    if (last !== undefined) {
      const isPart = ({ change }: Waiting): boolean =>
        this.#mayMerge || this.#concurrency > 1 || isOfOneCommit(change, last, this.#commits)
      for (const waiting of this.#waiting) waiting.mayBeInHand ||= isPart(waiting)
      this.#overflow = undefined
    }
    this.#delivered = []
    this.#taken = []
  }

  /** Its version is at least that of the handled changes. */
  #checkVersion({ version }: Subscription): void {
    const floor = this.#floor
    if (this.#mayMerge) this.#floor = undefined
    const running = [...this.#running.values()]
    if (floor === undefined || this.#mayMerge || running.some(({ origin }) => origin === 'initial')) return
    floor.checkStep((delivered) => !running.includes(delivered))
    if (version === undefined || floor.version === undefined) return
    if (this.#commits.isBefore(version, floor.version))
      this.#scenario.violate('I7', `${this.#name}is at ${version}, and has handled everything up to ${floor.version}`)
  }

  #checkLevel(subscription: Subscription): void {
    if (this.#isReader || this.#busy > 0 || subscription.backlog.keys > 0 || !this.#commits.isLate(subscription)) return
    this.#scenario.violate('I7', `${this.#name} has handled everything, and is at ${subscription.version}`)
  }

  #checkBacklog({ backlog }: Subscription): void {
    const { clock, violate } = this.#scenario
    this.#checkAge(backlog)
    if (backlog.keys === 0) {
      // A merge to nothing passes its age on to the next merged change.
      this.#idleAt = this.#mayMerge ? undefined : clock.elapsed
      for (const waiting of this.#waiting) waiting.mayBeGone = true
    }
    // Merged changes may come to nothing.
    if (this.#mayMerge) return
    const flaw = backlogViolation(backlog, this.#waiting, {
      now: clock.elapsed,
      idleAt: this.#mayMerge ? undefined : this.#idleAt,
      isRead: this.#isRead,
    })
    if (flaw !== undefined) violate('backlog', `${this.#name} ${flaw}`)
  }

  /** Until something is handled, the oldest change stays the oldest one, merged or not. */
  #checkAge({ keys, oldestMs }: Subscription['backlog']): void {
    const since = keys === 0 ? undefined : this.#scenario.clock.elapsed - oldestMs
    const { since: before, handled } = this.#oldest
    // Behind a running handler, merged changes may come to nothing, and then a later one is the oldest.
    const mayVanish = this.#mayMerge && this.#concurrency > 1
    if (mayVanish) this.#handled++
    if (since !== undefined && before !== undefined && handled === this.#handled && since > before + SLACK_MS)
      this.#scenario.violate('backlog', `the oldest change of ${this.#name} waited since ${before}, now since ${since}`)
    this.#oldest = { since, handled: this.#handled }
  }

  #checkDelivered(change: Change<Item>): void {
    const { violate, mark } = this.#scenario
    const { key, origin, version, type } = change
    if (origin === 'initial' || origin === 'resync') return
    if (!this.#mayMerge) {
      const first = this.#waiting.findIndex((waiting) => waiting.change.key === key)
      if (!isLike(this.#waiting[first]?.change, change))
        violate(
          'queue',
          `${this.#name} received "${type}" of ${nameOf(key)} at ${version}, which is not the next change`,
        )
      if (first >= 0) this.#waiting.splice(first, 1)
      return
    }
    const isIt = (waiting: Waiting): boolean =>
      waiting.change.key === key && isOfOneVersion(waiting.change, change, this.#commits)
    // A merged change may have another type than the last one.
    const at = [
      this.#waiting.findIndex((waiting) => isLike(waiting.change, change)),
      this.#waiting.findLastIndex((waiting) => isIt(waiting) && waiting.change.type === type),
      this.#waiting.findLastIndex(isIt),
      this.#waiting.findLastIndex((waiting) => isOfRemoval(waiting.change, change)),
    ].find((found) => found >= 0)
    const found = at === undefined ? undefined : this.#waiting[at]
    if (at === undefined || found === undefined) {
      violate('queue', `${this.#name} received "${type}" of ${nameOf(key)} at ${version}, which was not pending`)
      return
    }
    const left = this.#waiting.filter((waiting, index) => index > at || waiting.change.key !== key)
    if (left.length < this.#waiting.length - 1 && !this.#wantsLatest) mark('a subscription overflowed and merged')
    this.#waiting = left
    const delivered = found.overflow?.delivered
    const times = (delivered?.get(key) ?? 0) + 1
    delivered?.set(key, times)
    if (delivered !== undefined && times > MOST_OF_A_KEY)
      violate('I12', `${this.#name} received ${times} changes of ${nameOf(key)} that had to be merged`)
  }

  #checkTaken(batch: ChangeBatch<Item>): void {
    const { changes, version } = batch
    const waited = this.#waiting.map(({ change }) => change)
    if (!changes.some(({ origin }) => origin === 'initial')) {
      const ends = this.#commits.endsOf(version, waited)
      // A resync may be delivered while nothing else is pending; it keeps the position of its key.
      const fresh = changes.filter(({ origin }) => origin !== 'resync')
      if (fresh.length === 0) this.#mayHaveLeft(ends.findLast((end) => isNothing(waited.slice(0, end), this.#known)))
      else this.#checkBatch(batch, fresh, withEndsOfLists(ends, this.#waiting))
    }
    for (const { key, type } of changes) {
      if (type === 'delete') this.#known.delete(key)
      else this.#known.add(key)
    }
  }

  /** If several ends are possible, it may be the last one: the changes after the first end merged to nothing. */
  #checkBatch({ source }: ChangeBatch<Item>, fresh: readonly Change<Item>[], ends: readonly number[]): void {
    const { violate, mark } = this.#scenario
    const taking = {
      fresh,
      source,
      waiting: this.#waiting,
      known: this.#known,
      commits: this.#commits,
      mayMerge: this.#mayMerge,
      isResynced: this.#options.resyncMs !== undefined,
    }
    const found = ends.map((end) => ({ end, ...checkTakenBatch(taking, end) }))
    const right = found.filter(({ flaw }) => flaw === undefined)
    const [first] = right
    if (first === undefined) {
      const [invariant, what] = found.at(-1)?.flaw ?? ['queue', 'and nothing was pending']
      violate(invariant, `${this.#name} took ${fresh.length} changes at ${fresh.at(-1)?.version}, ${what}`)
      return
    }
    if (first.isMerged && !this.#wantsLatest) mark('a subscription overflowed and merged')
    this.#mayHaveLeft(right.at(-1)?.end)
    this.#waiting.splice(0, first.end)
    this.#overflow = undefined
  }

  #mayHaveLeft(end = 0): void {
    for (const waiting of this.#waiting.slice(0, end)) waiting.mayBeInHand = true
  }

  /** Behind busy handlers, the queue holds its capacity, or the last state of each key. */
  #checkBehindHandlers({ backlog }: Subscription): void {
    if (this.#concurrency === 1) return
    const { settings, violate } = this.#scenario
    const keys = new Set(this.#waiting.map(({ change }) => change.key)).size
    const merged = MOST_OF_A_KEY * keys
    // The next batch is taken only if there is capacity left. With `latest` its changes are merged into those that wait for
    // a handler of their key, but only when they leave the batch.
    const fresh = this.#wantsLatest ? 2 * merged : this.#capacity - 1 + Math.max(this.#largest, merged)
    const most = keys + fresh + this.#replayed + (this.#hasResynced ? settings.keys.length + this.#concurrency : 0)
    if (backlog.keys > most) violate('I12', `${backlog.keys} changes wait for ${this.#name}, ${most} at most`)
  }

  /** An empty queue has caught up, even if changes merged to nothing. */
  #catchUp(subscription: Subscription): void {
    if (subscription.backlog.keys > 0) return
    for (const waiting of this.#waiting) waiting.mayBeInHand = true
    this.#overflow = undefined
    if (!this.#commits.isLevel(subscription, this.#busy > 0)) return
    this.#waiting = []
    this.#mayMerge = this.#wantsLatest
  }
}

/**
 * A delete of a removed source has no version. After a merge, it has the version of the delete before, of any source.
 */
function isOfRemoval(gone: Change<Item>, { key, type, object }: Change<Item>): boolean {
  return (
    type === 'delete' && gone.type === type && gone.key === key && gone.object === object && gone.version === undefined
  )
}

export interface BacklogSeen {
  readonly now: number
  readonly idleAt: number | undefined
  /** Whether batches are read: then taken changes do not count. */
  readonly isRead: boolean
}

/** Times are sums of fractions of milliseconds. */
export const SLACK_MS = 0.001

/**
 * The defect of a reported backlog. Each key with a certain pending change counts. `oldestMs` is at least the age of
 * the oldest such change, merged or not. It is at most the time since the queue was last empty.
 */
export function backlogViolation(
  { keys, oldestMs }: Subscription['backlog'],
  all: readonly Waiting[],
  { now, idleAt, isRead }: BacklogSeen,
): string | undefined {
  if (keys === 0 && oldestMs !== 0) return `reports an empty backlog, for ${oldestMs} ms`
  const left = all.filter(({ mayBeGone, mayBeInHand }) => !mayBeGone && !(isRead && mayBeInHand))
  // A deleted key may merge to nothing.
  const deleted = new Set(left.flatMap(({ change: { type, key } }) => (type === 'delete' ? [key] : [])))
  const sure = left.filter(({ change: { key } }) => !deleted.has(key))
  const least = new Set(sure.map(({ change: { key } }) => key)).size
  if (keys < least) return `reports ${keys} pending keys, and ${least} are pending`
  const [first] = sure
  if (first !== undefined && oldestMs < now - first.since - SLACK_MS)
    return `reports an oldest change of ${oldestMs} ms, and one waits for ${now - first.since} ms`
  // A reader may have a pending bookmark, which has no key.
  if (!isRead && idleAt !== undefined && oldestMs > now - idleAt + SLACK_MS)
    return `reports an oldest change of ${oldestMs}ms, and the queue was empty ${now - idleAt} ms ago`
  return undefined
}

/**
 * The least version of a subscription: that of the handled changes, as long as no change was merged. A change behind an
 * unhandled one does not count until that one is handled as well.
 */
export class VersionFloorChecker {
  readonly #entries: { readonly change: Change<Item>; delivered: Change<Item> | undefined }[] = []
  #last: Change<Item> | undefined
  /** Everything up to this version was handled. */
  version: Version | undefined

  enter(change: Change<Item>): void {
    this.#entries.push({ change, delivered: undefined })
  }

  delivered(change: Change<Item>): void {
    const entry = this.#entries.find((each) => each.delivered === undefined && isLike(each.change, change))
    if (entry !== undefined) entry.delivered = change
  }

  /** `isHandled`: whether the handler that was called with a change has settled. */
  checkStep(isHandled: (delivered: Change<Item>) => boolean): void {
    for (
      let first = this.#entries[0];
      first?.delivered !== undefined && isHandled(first.delivered);
      first = this.#entries[0]
    ) {
      this.#last = first.change
      this.#entries.shift()
    }
    // Changes of one version may belong to one commit.
    if (this.#last !== undefined && this.#last.version !== this.#entries[0]?.change.version)
      this.version = this.#last.version
  }
}
