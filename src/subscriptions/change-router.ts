import type { Change } from '../queue/change.js'
import { NO_POSITION, type StorePosition } from '../queue/change-queue.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import { isScalar, type Scalar, ScalarMap, sameScalar } from '../store/indexes/scalar.js'
import type { Commit } from '../store/write/commit.js'
import { SerialQueue } from '../util/serial-queue.js'
import { DEFAULT_SLICES, type Slices, type Steps } from '../util/steps.js'
import type { Feed, FeedRouter } from './feed.js'

/** A feed, or several: most keys and values have one, and a Set for each would be three more objects to load. */
type Group<T> = Feed<T> | Set<Feed<T>>

/** Finds feeds by key or value, so that the cost of a change does not depend on feeds of other keys or values. */
export class ChangeRouter<T> implements FeedRouter<T> {
  readonly slices: Slices
  readonly scans: SerialQueue = new SerialQueue()
  isFilled = false
  current: StorePosition = NO_POSITION
  routed: StorePosition = NO_POSITION
  readonly feeds: Set<Feed<T>> = new Set()
  readonly #unscoped = new Set<Feed<T>>()
  /** Feeds that check every change themselves: by a filter, by `when`, or by a compound index. */
  readonly #filteredFeeds = new Set<Feed<T>>()
  readonly #bookmarkFeeds = new Set<Feed<T>>()
  readonly #byKey = new ScalarMap<Group<T>>()
  readonly #byValue = new Map<DeclaredIndex<T>, ScalarMap<Group<T>>>()

  constructor(slices: Slices = DEFAULT_SLICES) {
    this.slices = slices
  }

  add(feed: Feed<T>): void {
    this.feeds.add(feed)
    if (feed.wants.bookmarks) this.#bookmarkFeeds.add(feed)
    const [groups, value] = this.#placeOf(feed)
    if (value === undefined) groups.add(feed)
    else addTo(groups, value, feed)
  }

  remove(feed: Feed<T>): void {
    this.feeds.delete(feed)
    this.#bookmarkFeeds.delete(feed)
    const [groups, value] = this.#placeOf(feed)
    if (value === undefined) groups.delete(feed)
    else removeFrom(groups, value, feed)
    const [index] = feed.scope.where[0] ?? []
    if (index !== undefined && this.#byValue.get(index)?.size === 0) this.#byValue.delete(index)
  }

  route(commit: Commit<T>, position: StorePosition): Steps | undefined {
    const { changes, source } = commit
    const merging: Steps[] = []
    // A commit without changes is a bookmark.
    for (const feed of changes.length === 0 ? this.#bookmarkFeeds : this.#unscoped) {
      const steps = feed.enqueue(changes, position, source)
      if (steps !== undefined) merging.push(steps)
    }
    return merging.length > 0 || this.#hasScoped(changes) ? this.#routeRest(commit, position, merging) : undefined
  }

  *#routeRest(commit: Commit<T>, position: StorePosition, merging: readonly Steps[]): Steps {
    const { changes, source } = commit
    for (const steps of merging) yield* steps
    if (!this.#hasScoped(changes)) return
    try {
      const touched: Feed<T>[] = []
      for (let from = 0; from < changes.length; from += this.slices.changesPerStep) {
        this.#match(commit, from, from + this.slices.changesPerStep, touched)
        yield
      }
      for (const feed of touched) {
        const steps = feed.enqueueMatched(position, source)
        if (steps !== undefined) yield* steps
      }
    } catch (error) {
      // It is unknown which feeds have the changes of the commit.
      for (const feed of this.feeds) if (feed.scope.isSelective) feed.fail(error)
    }
  }

  #hasScoped(changes: readonly Change<T>[]): boolean {
    return changes.length > 0 && this.feeds.size > this.#unscoped.size
  }

  /** Adds each feed that has a change in its scope to `touched`, once. */
  #match(commit: Commit<T>, from: number, to: number, touched: Feed<T>[]): void {
    const { changes, memberships, tracked } = commit
    const end = Math.min(to, changes.length)
    for (let i = from; i < end; i++) {
      if (this.#filteredFeeds.size > 0) pass(commit, i, this.#filteredFeeds, touched)
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
        const before = memberships[i]?.[position]
        const now = memberships[i]?.[tracked.length + position]
        if (typeof now === 'string' && now === before) {
          pass(commit, i, feeds.get(now), touched, true)
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

  /** The feeds among which `feed` is found; if by a key or a value, with that. */
  #placeOf({ scope }: Feed<T>): readonly [Set<Feed<T>>, undefined] | readonly [ScalarMap<Group<T>>, Scalar] {
    if (!scope.isSelective) return [this.#unscoped, undefined]
    if (scope.key !== undefined) return [this.#byKey, scope.key]
    const [index, value] = scope.where[0] ?? []
    if (index === undefined || index.scalarsOf(undefined) === undefined || !isScalar(value))
      return [this.#filteredFeeds, undefined]
    const values = this.#byValue.get(index) ?? new ScalarMap<Group<T>>()
    this.#byValue.set(index, values)
    return [values, value]
  }
}

function addTo<T>(groups: ScalarMap<Group<T>>, id: Scalar, feed: Feed<T>): void {
  const group = groups.get(id)
  if (group instanceof Set) group.add(feed)
  else groups.set(id, group === undefined ? feed : new Set([group, feed]))
}

function removeFrom<T>(groups: ScalarMap<Group<T>>, id: Scalar, feed: Feed<T>): void {
  const group = groups.get(id)
  if (group instanceof Set) group.delete(feed)
  if (group === feed || (group instanceof Set && group.size === 0)) groups.delete(id)
}

/** `keepsValue`: the object has the value of these feeds, as before the change. */
function pass<T>(
  commit: Commit<T>,
  i: number,
  group: Group<T> | undefined,
  touched: Feed<T>[],
  keepsValue = false,
): void {
  if (group instanceof Set) for (const feed of group) passTo(feed, commit, i, touched, keepsValue)
  else if (group !== undefined) passTo(group, commit, i, touched, keepsValue)
}

function passTo<T>(feed: Feed<T>, commit: Commit<T>, i: number, touched: Feed<T>[], keepsValue: boolean): void {
  const matched = feed.match(commit, i, keepsValue)
  if (matched !== undefined && feed.collect(matched)) touched.push(feed)
}
