import type { WatchEvent } from '../../contract/source.js'
import { namedInvalid } from '../../queue/change.js'
import type { Ordinal } from '../ordinals.js'
import type { Store } from '../store.js'

type StoreSize = Pick<Store<unknown>, 'size' | 'freeCapacity' | 'ordinalOf' | 'overflowError'>

/** The entries of the source that writes. */
interface OwnEntries {
  readonly size: number
  owns(ordinal: Ordinal): boolean
}

/**
 * Checks a batch before it is written, so that it is applied completely or not at all. It adds at most `most` objects.
 *
 * @throws SourceError PROTOCOL when the store would exceed its limit after any event of the batch.
 */
export function assertCapacity(
  events: readonly WatchEvent<unknown>[],
  most: number,
  store: StoreSize,
  own: OwnEntries,
): void {
  if (most <= store.freeCapacity) return
  const limit = store.size + store.freeCapacity
  /** Keys whose presence differs from the store, or after a replace from the entries of other sources. */
  const changed = new Map<string, boolean>()
  let isReplaced = false
  let size = store.size
  const has = (key: string): boolean => {
    const known = changed.get(key)
    if (known !== undefined) return known
    const ordinal = store.ordinalOf(key)
    return ordinal !== undefined && !(isReplaced && own.owns(ordinal))
  }
  const set = (key: string, isPresent: boolean): void => {
    if (has(key) !== isPresent) size += isPresent ? 1 : -1
    changed.set(key, isPresent)
    if (size > limit) throw store.overflowError()
  }
  for (const event of events) {
    if (event.type === 'put') set(event.key, true)
    else if (event.type === 'delete') set(event.key, false)
    else if (event.type === 'replace') {
      const keep = namedInvalid(events)
      if (keep !== undefined) {
        const kept = [...keep].filter(has)
        changed.clear()
        isReplaced = true
        size = store.size - own.size
        for (const key of kept) set(key, true)
      }
      for (const { key } of event.entries) set(key, true)
    }
  }
}

/**
 * Checks a list before it is written. `listed` has a 1 at each stored ordinal that the list contains, `pending` has the
 * keys that it writes.
 *
 * @throws SourceError PROTOCOL when the store would exceed its limit.
 */
export function assertListCapacity(
  listed: Uint8Array,
  pending: { keys(): Iterable<string> },
  isComplete: boolean,
  store: StoreSize,
  own: OwnEntries,
): void {
  let { size } = store
  if (isComplete) size += listed.reduce((sum, each) => sum + each, 0) - own.size
  for (const key of pending.keys()) if (store.ordinalOf(key) === undefined) size++
  if (size > store.size + store.freeCapacity) throw store.overflowError()
}
