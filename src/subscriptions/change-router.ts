import type { Commit } from '../store/commit.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import { type Scalar, ScalarMap, sameScalar } from '../store/indexes/scalar.js'
import type { Feed } from './feed.js'

/**
 * Brings each change to the feeds that it concerns, and to no other: those that follow one key, or one value of an
 * index, are found by it, however many there are.
 */
export class Router<T> {
  readonly #feeds = new Set<Feed<T>>()
  readonly #unscoped = new Set<Feed<T>>()
  /** Feeds that have to look at every change themselves. */
  readonly #lookers = new Set<Feed<T>>()
  /** Feeds that are told of bookmarks. */
  readonly #marked = new Set<Feed<T>>()
  readonly #byKey = new Map<string, Set<Feed<T>>>()
  readonly #byValue = new Map<DeclaredIndex<T>, ScalarMap<Set<Feed<T>>>>()

  get feeds(): ReadonlySet<Feed<T>> {
    return this.#feeds
  }

  add(feed: Feed<T>): void {
    this.#feeds.add(feed)
    if (feed.wantsBookmarks) this.#marked.add(feed)
    this.#home(feed, true)?.add(feed)
  }

  remove(feed: Feed<T>): void {
    this.#feeds.delete(feed)
    this.#marked.delete(feed)
    const home = this.#home(feed, false)
    home?.delete(feed)
    if (home?.size === 0) this.#tidy(feed)
  }

  route(commit: Commit<T>): void {
    if (this.#feeds.size === 0) return
    const { changes, position, source } = commit
    if (changes.length === 0) {
      for (const feed of this.#marked) feed.offer(changes, position, source)
    } else {
      for (const feed of this.#unscoped) feed.offer(changes, position, source)
      try {
        if (this.#feeds.size > this.#unscoped.size) this.#routeScoped(commit)
      } catch (error) {
        // Which followers were notified is unknown.
        for (const feed of this.#feeds) if (feed.isScoped) feed.fail(error)
      }
    }
  }

  #routeScoped({ changes, memberships, tracked, position, source }: Commit<T>): void {
    const positions = new Map<DeclaredIndex<T>, number>()
    for (const index of tracked) positions.set(index, positions.size)
    const touched = new Set<Feed<T>>(this.#lookers)
    changes.forEach((change, i) => {
      const membership = memberships[i]
      const tell = (feeds: Iterable<Feed<T>> | undefined): void => {
        for (const feed of feeds ?? []) {
          touched.add(feed)
          feed.consider(change, membership, positions)
        }
      }
      tell(this.#lookers)
      tell(this.#byKey.get(change.key))
      for (const [index, feeds] of this.#byValue) {
        const position = positions.get(index) ?? -1
        const was = index.scalarsOf(membership?.was[position]) ?? []
        const is = index.scalarsOf(membership?.is[position]) ?? []
        for (const value of was) tell(feeds.get(value))
        for (const value of is) if (!was.some((each) => sameScalar(each, value))) tell(feeds.get(value))
      }
    })
    for (const feed of touched) feed.flush(position, source)
  }

  /** The set in which a feed waits for its changes. */
  #home(feed: Feed<T>, create: boolean): Set<Feed<T>> | undefined {
    if (!feed.isScoped) return this.#unscoped
    if (feed.key !== undefined) return entryOf(this.#byKey, feed.key, create)
    const [index, value] = feed.where[0] ?? []
    if (index === undefined || index.scalarsOf(undefined) === undefined) return this.#lookers
    const values = this.#byValue.get(index) ?? (create ? new ScalarMap<Set<Feed<T>>>() : undefined)
    if (create && values !== undefined) this.#byValue.set(index, values)
    return values === undefined ? undefined : entryOf(values, value as Scalar, create)
  }

  #tidy(feed: Feed<T>): void {
    if (feed.key !== undefined) this.#byKey.delete(feed.key)
    const [index, value] = feed.where[0] ?? []
    if (index === undefined || feed.key !== undefined) return
    const values = this.#byValue.get(index)
    values?.delete(value as Scalar)
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
