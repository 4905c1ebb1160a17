import { outcomeOf } from './outcome.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from './shared-history.js'
import type { ListContext, ListerWatcher, ListPage, SourceContext, VersionPage, WatchEvent } from './source.js'
import type { Version } from './version.js'

/** The place of a key of the source: its collection, and its key there. */
export type Place = readonly [collection: string, key: string]

/**
 * The collections of a source that is split. See `splitSource`.
 *
 * @example
 * ```ts
 * import { splitSource } from 'listwatch/adapter'
 *
 * const shop = splitSource(source, (key) => key.split('/')[0])
 * const orders = createInformer({ source: shop.collection<Order>('orders') })
 * const limits = createInformer({ source: shop.collection<Limit>('limits') })
 * await groupInformers([orders, limits]).start().synced()
 * ```
 */
export interface SplitSource {
  /** Returns a collection as a source. All sources of one split show one version. */
  collection<T>(name: string): CollectionSource<T>
}

/** A source as the history of several collections. */
export class SplitHistory implements SharedHistory, SplitSource {
  readonly name: string
  readonly holdMs: number | undefined
  readonly #source: ListerWatcher<unknown>
  readonly #place: (key: string) => Place | undefined

  constructor(source: ListerWatcher<unknown>, place: (key: string) => Place | undefined, holdMs?: number) {
    if (source.hasReached === undefined)
      throw new TypeError(`splitSource: the source "${source.name}" cannot compare versions (it has no hasReached)`)
    this.name = source.name
    this.holdMs = holdMs
    this.#source = source
    this.#place = place
  }

  collection<T>(name: string): CollectionSource<T> {
    const source = this.#source
    const { heartbeatMs, silenceHint, isSensitive, selection, head, isLaterEpoch, versions } = source
    return {
      name: `${source.name}:${name}`,
      history: this,
      collection: name,
      // The program says which type the objects of the collection have.
      list: (context) => this.#list(name, context) as AsyncIterable<ListPage<T>>,
      watch: (context) => watchCollection<T>(this, name, context),
      hasReached: (at, mark) => source.hasReached?.(at, mark) === true,
      ...(isLaterEpoch && { isLaterEpoch: (at: Version, mark: Version) => source.isLaterEpoch?.(at, mark) === true }),
      ...(head && { head: (context: SourceContext) => head.call(source, context) }),
      ...(versions && { versions: (context: ListContext) => this.#versions(name, versions.call(source, context)) }),
      ...(heartbeatMs !== undefined && { heartbeatMs }),
      ...(silenceHint !== undefined && { silenceHint }),
      ...(isSensitive !== undefined && { isSensitive }),
      ...(selection !== undefined && { selection }),
    }
  }

  async *#list(collection: string, context: ListContext): AsyncIterable<ListPage<unknown>> {
    for await (const { events, version } of this.#source.list({ ...context, collection })) {
      const own = this.#split(events, new Set([collection])).get(collection) ?? []
      // A source of lists yields no event that replaces everything.
      const listed = own.filter((event) => event.type !== 'replace')
      yield version === undefined ? { events: listed } : { events: listed, version }
    }
  }

  async *#versions(collection: string, pages: AsyncIterable<VersionPage>): AsyncIterable<VersionPage> {
    for await (const { keys, version } of pages) {
      const own = keys.flatMap((each) => {
        const [name, key] = this.#place(each.key) ?? []
        return name === collection && key !== undefined ? [{ ...each, key }] : []
      })
      yield version === undefined ? { keys: own } : { keys: own, version }
    }
  }

  async *watch({ positions, ...context }: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const reaches = (at: Version, mark: Version): boolean => this.#source.hasReached?.(at, mark) === true
    const [first, ...others] = positions.values()
    if (first === undefined) return
    const after = others.reduce((least, each) => (reaches(each, least) ? least : each), first)
    /** The positions that the watch has not reached yet. */
    const ahead = new Map([...positions].filter(([, position]) => position !== after))
    let pending = new Map<string, WatchEvent<unknown>[]>()
    let reached = after
    for await (const { events, version, committedAt } of this.#source.watch({ ...context, after })) {
      const isRepeated = version === reached
      // The collections have this.
      if (!isRepeated && reaches(reached, version)) {
        context.alive?.()
        continue
      }
      reached = version
      for (const [collection, own] of this.#split(events, positions)) {
        const position = ahead.get(collection)
        // The list of this collection has the changes up to its position.
        if (position !== undefined && position !== version && reaches(position, version)) continue
        // A repeated batch, and one that reaches the position, may have older changes, too.
        const news = isRepeated || position !== undefined ? [...outcomeOf(own)] : own
        const part = pending.get(collection)
        // A replace lists all objects. The invalid objects of earlier batches do not concern it.
        if (part === undefined || news.some(({ type }) => type === 'replace')) pending.set(collection, news)
        else for (const event of news) part.push(event)
      }
      for (const [collection, position] of ahead) if (reaches(version, position)) ahead.delete(collection)
      if (ahead.size > 0) {
        context.alive?.()
        continue
      }
      yield committedAt === undefined ? { version, parts: pending } : { version, parts: pending, committedAt }
      pending = new Map()
    }
  }

  /** Returns the events of each of these collections, with its own keys. */
  #split(
    events: readonly WatchEvent<unknown>[],
    collections: { has(name: string): boolean; keys(): Iterable<string> },
  ): ReadonlyMap<string, WatchEvent<unknown>[]> {
    const parts = new Map<string, WatchEvent<unknown>[]>()
    const add = (collection: string, event: WatchEvent<unknown>): void => {
      if (!collections.has(collection)) return
      const part = parts.get(collection)
      if (part === undefined) parts.set(collection, [event])
      else part.push(event)
    }
    for (const event of events) {
      if (event.type === 'replace') {
        const entries = event.entries.map((entry) => ({ entry, place: this.#place(entry.key) }))
        for (const collection of collections.keys()) {
          const own = entries.flatMap(({ entry, place }) =>
            place?.[0] === collection ? [{ ...entry, key: place[1] }] : [],
          )
          add(collection, { type: 'replace', entries: own })
        }
        continue
      }
      // It may be an object of any collection.
      if (event.key === undefined) for (const collection of collections.keys()) add(collection, event)
      else {
        const [collection, key] = this.#place(event.key) ?? []
        if (collection !== undefined && key !== undefined) add(collection, { ...event, key })
      }
    }
    return parts
  }
}

/**
 * Splits a source whose keys name their collection, such as `orders/42`. The informers of all collections show one
 * version of the source, and follow one watch of it.
 *
 * @param collectionOf Returns the collection of a key; undefined if it belongs to none. Keys stay as they are.
 * @returns The collections.
 * @throws TypeError if the source cannot compare versions.
 *
 * @example
 * ```ts
 * import { splitSource } from 'listwatch/adapter'
 *
 * const shop = splitSource(source, (key) => key.split('/')[0])
 * const orders = createInformer({ source: shop.collection<Order>('orders') })
 * ```
 */
export function splitSource(
  source: ListerWatcher<unknown>,
  collectionOf: (key: string) => string | undefined,
): SplitSource {
  const place = (key: string): Place | undefined => {
    const collection = collectionOf(key)
    return collection === undefined ? undefined : [collection, key]
  }
  return new SplitHistory(source, place)
}
