import type { Version } from './version.js'

/**
 * One stored object.
 *
 * @example
 * ```ts
 * const entry = orders.entry('42')
 * await fetch('https://shop.example/orders/42', {
 *   method: 'PUT',
 *   headers: { 'if-match': entry?.version ?? '*' }, // Fails if the order has changed since.
 *   body: JSON.stringify({ ...entry?.object, paid: true }),
 * })
 * ```
 */
export interface Entry<T> {
  /** Identifies the object in the mirror. */
  readonly key: string
  /** The object itself. */
  readonly object: T
  /**
   * The object's own version, if the source has one. In a watch, an equal version means an unchanged object; a relist
   * compares by content instead.
   */
  readonly version?: Version
  /** The identity of the object, if the source has one. Another uid under the same key is a delete, then an add. */
  readonly uid?: string
}

/**
 * Creates or replaces an object.
 *
 * @example
 * ```ts
 * import type { Put } from 'listwatch/adapter'
 *
 * function putOf(object: Country, row: { readonly uuid: string; readonly revision: number }): Put<Country> {
 *   return { type: 'put', key: object.code, object, version: String(row.revision), uid: row.uuid }
 * }
 * ```
 */
export type Put<T> = { readonly type: 'put' } & Entry<T>

/**
 * Deletes an object.
 *
 * @example
 * ```ts
 * import type { Delete } from 'listwatch/adapter'
 *
 * // For a message of the backend without the object. With `object`, handlers receive the last state.
 * function deleteOf(message: { readonly code: string; readonly revision: number }): Delete<Country> {
 *   return { type: 'delete', key: message.code, version: String(message.revision) }
 * }
 * ```
 */
export interface Delete<T> {
  /** Identifies the kind of event. */
  readonly type: 'delete'
  /** The key of the object. */
  readonly key: string
  /** The last state of the object, if the source has it. */
  readonly object?: T
  /** The version of the deletion, if the source has one. */
  readonly version?: Version
}

/**
 * Reports an object that could not be decoded. The mirror continues: `informer.invalid` has the key and the error until
 * a later valid event. If the key is unknown, the list with this event deletes nothing, and another list is scheduled.
 *
 * @example
 * ```ts
 * import type { Invalid } from 'listwatch/adapter'
 *
 * function tooLarge(key: string, bytes: number): Invalid {
 *   return { type: 'invalid', key, error: new RangeError(`the object has ${bytes} bytes, more than 16 MiB`) }
 * }
 * ```
 */
export interface Invalid {
  /** Identifies the kind of event. */
  readonly type: 'invalid'
  /** The key of the object, if it is known. */
  readonly key?: string
  /** The reason. */
  readonly error: unknown
  /** The version of the object, if the source has one. */
  readonly version?: Version
  /**
   * Whether the event before it of the same key has the last valid state: a `put`, or a `delete` if there is none. Default
   * false: an earlier event of the same list may be older than the state in the store, which stays.
   */
  readonly hasLastValid?: boolean
}

/**
 * Replaces the whole collection. A polled source yields it instead of single changes.
 *
 * @example
 * ```ts
 * import type { Replace } from 'listwatch/adapter'
 *
 * function replaceBy(countries: readonly Country[]): Replace<Country> {
 *   const entries = countries.map((object) => ({ key: object.code, object }))
 *   return { type: 'replace', entries } // All other objects are deleted.
 * }
 * ```
 */
export interface Replace<T> {
  /** Identifies the kind of event. */
  readonly type: 'replace'
  /** All objects of the collection. */
  readonly entries: readonly Entry<T>[]
}

/**
 * An event of a list.
 *
 * @example
 * ```ts
 * import type { ListEvent } from 'listwatch/adapter'
 *
 * function decode(key: string, text: string): ListEvent<Country> {
 *   try {
 *     return { type: 'put', key, object: JSON.parse(text) }
 *   } catch (error) {
 *     return { type: 'invalid', key, error } // The list continues with the other objects.
 *   }
 * }
 * ```
 */
export type ListEvent<T> = Put<T> | Delete<T> | Invalid
/**
 * An event of a watch.
 *
 * @example
 * ```ts
 * import type { WatchEvent } from 'listwatch/adapter'
 *
 * function eventOf(message: { op: 'upsert' | 'remove' | 'reload'; countries: Country[] }): WatchEvent<Country>[] {
 *   const entries = message.countries.map((object) => ({ key: object.code, object }))
 *   if (message.op === 'reload') return [{ type: 'replace', entries }]
 *   return entries.map((entry) => ({ type: message.op === 'remove' ? 'delete' : 'put', ...entry }))
 * }
 * ```
 */
export type WatchEvent<T> = ListEvent<T> | Replace<T>

/**
 * A part of a list. An empty collection is one page without events.
 *
 * @example
 * ```ts
 * import type { ListPage } from 'listwatch/adapter'
 *
 * function lastPage(rows: readonly Country[], revision: number): ListPage<Country> {
 *   const events = rows.map((object) => ({ type: 'put' as const, key: object.code, object }))
 *   return { events, version: String(revision), remaining: 0 } // Without rows: an empty collection.
 * }
 * ```
 */
export interface ListPage<T> {
  /** The objects of the page. A later event of the same key overrides an earlier one. */
  readonly events: readonly ListEvent<T>[]
  /** The version of the whole list. The last page must have it. */
  readonly version?: Version
  /** The number of objects in later pages, if the source knows it. */
  readonly remaining?: number
}

/**
 * A part of the keys and versions of a collection.
 *
 * @example
 * ```ts
 * import type { ListContext, VersionPage } from 'listwatch/adapter'
 *
 * declare function revisions(signal: AbortSignal): Promise<{ countries: [code: string, at: number][]; head: number }>
 * async function* versions({ signal }: ListContext): AsyncIterable<VersionPage> {
 *   const { countries, head } = await revisions(signal)
 *   yield { keys: countries.map(([key, at]) => ({ key, version: String(at) })), version: String(head) }
 * }
 * ```
 */
export interface VersionPage {
  /** The keys of the page, with the version of each object. */
  readonly keys: readonly { readonly key: string; readonly version: Version }[]
  /** The version of the whole snapshot. The last page must have it. */
  readonly version?: Version
}

/**
 * One or more whole transactions of the source, applied atomically. Without events it is a bookmark.
 *
 * @example
 * ```ts
 * import type { WatchBatch } from 'listwatch/adapter'
 *
 * // A transaction of the backend. Without countries it is a bookmark.
 * function batchOf(countries: readonly Country[], revision: number, committed: Date): WatchBatch<Country> {
 *   const events = countries.map((object) => ({ type: 'put' as const, key: object.code, object }))
 *   return { events, version: String(revision), committedAt: committed.getTime() }
 * }
 * ```
 */
export interface WatchBatch<T> {
  /** The changes, in order. */
  readonly events: readonly WatchEvent<T>[]
  /** The version after the batch. A watch can resume from it. */
  readonly version: Version
  /** The commit time of the newest change in milliseconds since the Unix epoch, if the source has it. */
  readonly committedAt?: number
}
