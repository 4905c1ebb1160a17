import type { WatchEvent } from '../contract/source.js'
import { namedInvalid } from '../queue/change.js'
import type { Ordinal, Store } from './store.js'

/** What has to be known to say whether something fits. */
export interface Room {
  readonly store: Pick<Store<unknown>, 'size' | 'room' | 'ordinalOf' | 'overflow'>
  /** Whether the entry at an ordinal is of the source that gives the new ones. */
  owns(ordinal: Ordinal): boolean
  /** How many entries are that source's. */
  owned(): number
}

/** Refuses a batch that the store could not hold on the way: it is applied whole or not at all. */
export function assertRoom(events: readonly WatchEvent<unknown>[], { store, owns, owned }: Room): void {
  let arriving = 0
  for (const event of events) arriving += event.type === 'replace' ? event.entries.length : 1
  if (arriving <= store.room) return
  const most = store.size + store.room
  /** What differs from the store on the way, or from what others gave once a replace has come. */
  const changed = new Map<string, boolean>()
  let isReplaced = false
  let size = store.size
  const has = (key: string): boolean => {
    const known = changed.get(key)
    if (known !== undefined) return known
    const ordinal = store.ordinalOf(key)
    return ordinal !== undefined && !(isReplaced && owns(ordinal))
  }
  const set = (key: string, isThere: boolean): void => {
    if (has(key) !== isThere) size += isThere ? 1 : -1
    changed.set(key, isThere)
    if (size > most) throw store.overflow()
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
        size = store.size - owned()
        for (const key of kept) set(key, true)
      }
      for (const { key } of event.entries) set(key, true)
    }
  }
}

/** The same for a list: `listed` says which ordinals it names, `pending` what it will write. */
export function assertRoomForList(
  listed: Uint8Array,
  pending: ReadonlyMap<string, unknown>,
  isComplete: boolean,
  { store, owned }: Room,
): void {
  let { size } = store
  if (isComplete) size += listed.reduce((sum, each) => sum + each, 0) - owned()
  for (const key of pending.keys()) if (store.ordinalOf(key) === undefined) size++
  if (size > store.size + store.room) throw store.overflow()
}
