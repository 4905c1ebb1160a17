import type { ListEvent, WatchEvent } from '../../src/adapter.js'
import { type IndexBuilder, Indexer, type SourceError, type Version } from '../../src/index.js'
import type { Commit } from '../../src/store/write/commit.js'
import { ChangeRouter } from '../../src/subscriptions/change-router.js'
import { Feed, type FeedHost, type FeedWants } from '../../src/subscriptions/feed.js'
import type { FeedOptions } from '../../src/subscriptions/subscription-types.js'
import { VersionWaiters } from '../../src/subscriptions/version-waiters.js'
import { DEFAULT_SLICES, finish } from '../../src/util/steps.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import type { Fold } from './fold.js'
import type { Order } from './informers.js'
import { numbered } from './scripted-source.js'

/** What an informer is for its feeds, without a source: a store that the test writes to, and a router. */
export class Mirror<T, I extends object = object> {
  readonly clock = new VirtualClock()
  readonly errors: SourceError[] = []
  readonly router = new ChangeRouter<T>({ ...DEFAULT_SLICES, changesPerStep: 1 })
  readonly released = new Set<Feed<T>>()
  readonly indexer: Indexer<T, I>
  readonly host: FeedHost<T>
  readonly #waiters: VersionWaiters = new VersionWaiters(numbered)
  #history = 1
  #version: Version | undefined

  constructor(indexes?: (ix: IndexBuilder<T>) => I) {
    this.indexer = new Indexer<T, I>(
      { indexes },
      { report: (error) => this.errors.push(error), onCommit: (commit) => this.#committed(commit) },
    )
    const { indexer, router, clock, errors, released } = this
    const historyNow = (): number => this.#history
    const waitForStore: FeedHost<T>['waitForStore'] = (version, _source, settle) =>
      this.#waiters.enter(version, indexer.version, settle)
    this.host = {
      indexer,
      router,
      clock,
      title: 'mirror',
      isOfSet: false,
      get isSynced() {
        return router.isFilled
      },
      get history() {
        return historyNow()
      },
      followHistory: () => ({ isShown: () => true, leave: () => {} }),
      waitForStore,
      hasReached: () => numbered,
      report: (error) => errors.push(error),
      release: (feed) => released.add(feed),
    }
  }

  #committed(commit: Commit<T>): undefined {
    if (this.#version !== undefined && !isSameEpoch(this.#version, commit.version)) this.#history++
    this.#version = commit.version
    const position = { commit: this.indexer.writer.commits, version: commit.position, history: this.#history }
    this.router.current = position
    if (commit.origin !== 'initial') finish(this.router.route(commit, position))
    else {
      this.router.isFilled = true
      for (const feed of this.router.feeds) feed.startReplay()
    }
    this.router.routed = position
    this.#waiters.check(commit.version)
  }

  /** The first list, or a later one. */
  list(entries: readonly (readonly [string, T])[], version: Version): this {
    const replacement = this.indexer.replace()
    const events: ListEvent<T>[] = entries.map(([key, object]) => ({ type: 'put', key, object }))
    void replacement.page(events)
    void replacement.commit(version)
    return this
  }

  apply(events: readonly WatchEvent<T>[], version: Version): this {
    void this.indexer.apply({ events, version })
    return this
  }

  put(key: string, object: T, version: Version): this {
    return this.apply([{ type: 'put', key, object }], version)
  }

  delete(key: string, version: Version): this {
    return this.apply([{ type: 'delete', key }], version)
  }

  feed(options: FeedOptions<T> = {}, wants?: FeedWants): Feed<T> {
    return new Feed<T>(this.host, 'subscribe', options, wants)
  }
}

/** A mirror of orders, with an index of each kind, before its first list. */
export function unlistedOrders(): Mirror<Order> {
  return new Mirror<Order>((ix) => ({
    tenant: ix.equal((o) => o.tenant),
    tag: ix.multi((o) => o.tags ?? []),
    total: ix.ordered((o) => o.total),
    both: ix.compound((o) => [o.tenant, o.total]),
  }))
}

function isSameEpoch(at: Version, mark: Version | undefined): boolean {
  try {
    return mark !== undefined && [true, false].includes(numbered(at, mark))
  } catch {
    return false
  }
}

/** Takes and finishes all that a feed has: each batch as its changes and its version. */
export function drain<T>(feed: Feed<T>): string[] {
  const told: string[] = []
  for (let batch = feed.dequeue(); batch !== undefined; batch = feed.dequeue()) {
    const changes = batch.changes.map(({ type, key }) => `${type} ${key}`)
    told.push([...changes, `@${batch.version}`].join(', '))
    feed.ack(batch)
  }
  return told
}

/** Takes and finishes all that a feed has, and tells it. */
export function tellAll<T>(feed: Feed<T>, fold: Fold<T>): void {
  for (let batch = feed.dequeue(); batch !== undefined; batch = feed.dequeue()) {
    for (const change of batch.changes) fold.tell(change)
    feed.ack(batch)
  }
}
