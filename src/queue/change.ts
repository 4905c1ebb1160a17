import type { Entry, ListEvent, WatchEvent } from '../contract/source.js'
import type { Version } from '../contract/version.js'

/**
 * Where a change comes from: the replay of what the store held when the subscription began, the watch, the comparison
 * with a new list, a resync, or the clearing of the store by `onAccessLost: 'clear'`.
 */
export type Origin = 'initial' | 'watch' | 'relist' | 'resync' | 'access-lost'

interface ChangeBase<T> {
  readonly key: string
  /** The object now; of a delete its last known state. */
  readonly object: T
  /** The version of the batch that brought it; undefined in the initial replay, and of a resync. */
  readonly version: Version | undefined
  readonly origin: Origin
}

export interface Added<T> extends ChangeBase<T> {
  readonly type: 'add'
  readonly previous: undefined
}

export interface Updated<T> extends ChangeBase<T> {
  readonly type: 'update'
  /** What this subscription was last told of the key. */
  readonly previous: T
}

export interface Deleted<T> extends ChangeBase<T> {
  readonly type: 'delete'
  /** What this subscription was last told of the key. */
  readonly previous: T
  /** `known`: the source told of the deletion; `unknown`: it was inferred from a list, and `object` may be stale. */
  readonly finalState: 'known' | 'unknown'
}

/** What every handler gets. Per key a subscription sees `(add update* delete)*`. */
export type Change<T> = Added<T> | Updated<T> | Deleted<T>

/** What is pending for one key, relative to what was last delivered: one change, or a delete and then an add. */
export type Pending<T> = Change<T> | readonly [Deleted<T>, Added<T>]

/**
 * Merges one more change into what is pending for its key, so that whoever takes the result and had what was last
 * delivered ends where the changes one by one would have ended. `undefined`: nothing is left to tell.
 */
export function mergePending<T>(pending: Pending<T> | undefined, change: Change<T>): Pending<T> | undefined {
  if (pending === undefined) return change
  if (isPair(pending)) return mergeIntoPair(pending, change)
  switch (pending.type) {
    case 'add':
      if (change.type === 'delete') return undefined
      return { ...change, type: 'add', previous: undefined, origin: pending.origin }
    case 'update':
      if (change.type === 'add') return { ...change, type: 'update', previous: pending.previous }
      return { ...change, previous: pending.previous }
    case 'delete':
      if (change.type === 'delete') return mergeDeletes(pending, change)
      return [pending, { ...change, type: 'add', previous: undefined }]
  }
}

function mergeIntoPair<T>([gone, back]: readonly [Deleted<T>, Added<T>], change: Change<T>): Pending<T> {
  // What came back had a last state of its own, however much is known of what was there before.
  if (change.type === 'delete') return { ...change, previous: gone.previous }
  return [gone, { ...change, type: 'add', previous: undefined, origin: back.origin }]
}

/** Two deletes of one key, of which the second has taken over what only the first knew: told to someone who last saw the first's `previous`. */
function mergeDeletes<T>(first: Deleted<T>, second: Deleted<T>): Deleted<T> {
  return { ...second, previous: first.previous, version: second.version ?? first.version }
}

/** The changes of what is pending, in the order in which they are told. */
export function changesOf<T>(pending: Pending<T>): readonly Change<T>[] {
  return isPair(pending) ? pending : [pending]
}

function isPair<T>(pending: Pending<T>): pending is readonly [Deleted<T>, Added<T>] {
  return Array.isArray(pending)
}

/**
 * The keys that the invalid events of a batch name: they count as listed in its replaces. Undefined where one of them
 * has no key, so that it may be any: then nothing is known to be gone.
 */
export function namedInvalid(events: readonly WatchEvent<unknown>[]): ReadonlySet<string> | undefined {
  const keys = new Set<string>()
  for (const event of events) {
    if (event.type !== 'invalid') continue
    if (event.key === undefined) return undefined
    keys.add(event.key)
  }
  return keys
}

/**
 * What a batch comes to: of each key its last event; where it tells of a whole collection, that one as the rest of the batch leaves
 * it. Taking it twice is taking it once.
 */
export function outcomeOf<T>(events: readonly WatchEvent<T>[]): readonly WatchEvent<T>[] {
  if (events.length < 2) return events
  const last = new Map<string, ListEvent<T>>()
  const withoutKey: ListEvent<T>[] = []
  let whole: Map<string, Entry<T>> | undefined
  for (const event of events) {
    if (event.type === 'replace') {
      whole = new Map(event.entries.map((entry) => [entry.key, entry]))
      // Who is invalid counts as listed.
      for (const [key, { type }] of last) if (type !== 'invalid' || whole.has(key)) last.delete(key)
    } else if (event.key === undefined) withoutKey.push(event)
    else {
      last.delete(event.key)
      whole?.delete(event.key)
      if (event.type === 'put' && whole !== undefined) whole.set(event.key, event)
      else last.set(event.key, event)
    }
  }
  const rest = [...withoutKey, ...last.values()]
  return whole === undefined ? rest : [{ type: 'replace', entries: [...whole.values()] }, ...rest]
}

/** How a DeltaFIFO that is used by hand names what happened to a key. */
export type DeltaType = 'added' | 'updated' | 'deleted' | 'replaced' | 'sync'

export interface Delta<T> {
  readonly type: DeltaType
  readonly key: string
  /** The object now; of a deletion its last known state. */
  readonly object: T
  readonly version: Version | undefined
}

export interface DeltaBatch<T> {
  readonly deltas: readonly Delta<T>[]
  /** Where the source was after these; undefined where they stand between two boundaries. */
  readonly version: Version | undefined
  /** Whether a store that has applied everything so far equals the source at `version`. */
  readonly isBoundary: boolean
}
