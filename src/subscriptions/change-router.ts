import type { Change } from '../queue/change.js'
import type { Commit } from '../store/commit.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import { isScalar, ScalarMap, sameScalar } from '../store/indexes/scalar.js'
import { DEFAULT_SLICES, type Steps } from '../util/steps.js'
import type { Feed } from './feed.js'

/**
 * Routes the changes of a commit to the feeds that they concern. Feeds with a key, or with a value of an index, are
 * looked up by it. So the cost of a change does not depend on the number of feeds that follow other keys or values.
 */
export class ChangeRouter<T> {
  readonly #changesPerStep: number
  readonly #feeds = new Set<Feed<T>>()
  readonly #unscoped = new Set<Feed<T>>()
  /** Feeds that check every change themselves: by a filter, or by a compound index. */
  readonly #filteredFeeds = new Set<Feed<T>>()
  /** Feeds that receive bookmarks. */
  readonly #bookmarkFeeds = new Set<Feed<T>>()
  readonly #byKey = new Map<string, Set<Feed<T>>>()
  readonly #byValue = new Map<DeclaredIndex<T>, ScalarMap<Set<Feed<T>>>>()

  constructor(changesPerStep: number = DEFAULT_SLICES.changesPerStep) {
    this.#changesPerStep = changesPerStep
  }

  get feeds(): ReadonlySet<Feed<T>> {
    return this.#feeds
  }

  add(feed: Feed<T>): void {
    this.#feeds.add(feed)
    if (feed.wants.bookmarks) this.#bookmarkFeeds.add(feed)
    this.#groupOf(feed, true)?.add(feed)
  }

  remove(feed: Feed<T>): void {
    this.#feeds.delete(feed)
    this.#bookmarkFeeds.delete(feed)
    const group = this.#groupOf(feed, false)
    group?.delete(feed)
    if (group?.size === 0) this.#removeGroupOf(feed)
  }

  route(commit: Commit<T>): void {
    const { changes, position, source } = commit
    for (const feed of this.#feedsOfAll(changes)) feed.enqueue(changes, position, source)
    if (!this.#hasScoped(changes)) return
    try {
      const touched: Feed<T>[] = []
      this.#match(commit, 0, changes.length, touched)
      for (const feed of touched) {
        const matched = feed.takeMatched()
        if (matched !== undefined) feed.enqueue(matched, position, source)
      }
    } catch (error) {
      this.#failScoped(error)
    }
  }

  /** Like `route`, in steps. */
  *routeInSteps(commit: Commit<T>): Steps {
    const { changes, position, source } = commit
    for (const feed of this.#feedsOfAll(changes)) yield* feed.enqueueInSteps(changes, position, source)
    if (!this.#hasScoped(changes)) return
    try {
      const touched: Feed<T>[] = []
      for (let from = 0; from < changes.length; from += this.#changesPerStep) {
        this.#match(commit, from, from + this.#changesPerStep, touched)
        yield
      }
      for (const feed of touched) {
        const matched = feed.takeMatched()
        if (matched !== undefined) yield* feed.enqueueInSteps(matched, position, source)
      }
    } catch (error) {
      this.#failScoped(error)
    }
  }

  /** The feeds that receive all changes of a commit. Without changes it is a bookmark. */
  #feedsOfAll(changes: readonly Change<T>[]): ReadonlySet<Feed<T>> {
    return changes.length === 0 ? this.#bookmarkFeeds : this.#unscoped
  }

  #hasScoped(changes: readonly Change<T>[]): boolean {
    return changes.length > 0 && this.#feeds.size > this.#unscoped.size
  }

  /** It is unknown which feeds have the changes of a commit. */
  #failScoped(error: unknown): void {
    for (const feed of this.#feeds) if (feed.scope.isScoped) feed.fail(error)
  }

  /**
   * Passes a part of the changes to the feeds that they concern. Adds each that has a change in its scope to `touched`,
   * once.
   */
  #match(commit: Commit<T>, from: number, to: number, touched: Feed<T>[]): void {
    const { changes, memberships, tracked } = commit
    const end = Math.min(to, changes.length)
    for (let i = from; i < end; i++) {
      pass(commit, i, this.#filteredFeeds, touched)
      if (this.#byKey.size > 0) pass(commit, i, this.#byKey.get(changes[i]?.key ?? ''), touched)
    }
    for (const [index, feeds] of this.#byValue) {
      const position = tracked.indexOf(index)
      for (let i = from; i < end; i++) {
        if (position < 0) {
          // These feeds began during the commit.
          for (const group of feeds.values()) pass(commit, i, group, touched)
          continue
        }
        const before = memberships[i]?.was[position]
        const now = memberships[i]?.is[position]
        if (typeof now === 'string' && now === before) {
          pass(commit, i, feeds.get(now), touched)
          continue
        }
        const was = index.scalarsOf(before) ?? []
        const is = index.scalarsOf(now) ?? []
        for (const value of was) pass(commit, i, feeds.get(value), touched)
        for (const value of is)
          if (!was.some((each) => sameScalar(each, value))) pass(commit, i, feeds.get(value), touched)
      }
    }
  }

  /** The set of feeds that are found by the same key or value as `feed`. */
  #groupOf(feed: Feed<T>, create: boolean): Set<Feed<T>> | undefined {
    if (!feed.scope.isScoped) return this.#unscoped
    if (feed.scope.key !== undefined) return entryOf(this.#byKey, feed.scope.key, create)
    const [index, value] = feed.scope.where[0] ?? []
    if (index === undefined || index.scalarsOf(undefined) === undefined || !isScalar(value)) return this.#filteredFeeds
    const values = this.#byValue.get(index) ?? (create ? new ScalarMap<Set<Feed<T>>>() : undefined)
    if (create && values !== undefined) this.#byValue.set(index, values)
    return values === undefined ? undefined : entryOf(values, value, create)
  }

  #removeGroupOf(feed: Feed<T>): void {
    if (feed.scope.key !== undefined) this.#byKey.delete(feed.scope.key)
    const [index, value] = feed.scope.where[0] ?? []
    if (index === undefined || feed.scope.key !== undefined) return
    const values = this.#byValue.get(index)
    if (isScalar(value)) values?.delete(value)
    if (values?.size === 0) this.#byValue.delete(index)
  }
}

function entryOf<K, V>(
  map: { get(key: K): Set<V> | undefined; set(key: K, value: Set<V>): unknown },
  key: K,
  create: boolean,
): Set<V> | undefined {
  const found = map.get(key)
  if (found !== undefined || !create) return found
  const made = new Set<V>()
  map.set(key, made)
  return made
}

/** Passes a change of a commit to feeds. */
function pass<T>(
  { changes, memberships, tracked }: Commit<T>,
  i: number,
  feeds: ReadonlySet<Feed<T>> | undefined,
  touched: Feed<T>[],
): void {
  const change = changes[i]
  if (feeds === undefined || change === undefined) return
  for (const feed of feeds) if (feed.match(change, memberships[i], tracked)) touched.push(feed)
}
