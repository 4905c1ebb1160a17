import type { Change, Deleted } from '../../src/delta.js'
import type { Version } from '../../src/version.js'
import type { Item } from './history.js'

/** What somebody is told. */
export interface Noted {
  readonly type: Change<Item>['type']
  readonly key: string
  /** Of a delete: what is known of its last state. */
  readonly object: Item
  readonly version: Version | undefined
  readonly finalState?: 'known' | 'unknown'
}

/**
 * What is left to tell of changes that waited, to somebody who knows certain keys, in the order in which the keys came:
 * a key that waits keeps its place, and one of which nothing is left to tell has none.
 */
export function mergedOf(changes: readonly Change<Item>[], known: ReadonlySet<string>): readonly Noted[] {
  const notes = new Map<string, readonly Noted[]>()
  for (const change of changes) {
    const { key, object, version } = change
    const before = notes.get(key)
    const gone = before?.[0]?.type === 'delete' ? before[0] : undefined
    if (change.type === 'delete') {
      if (known.has(key)) notes.set(key, [moreInformative(gone, change)])
      else notes.delete(key)
    } else if (gone !== undefined) notes.set(key, [gone, { type: 'add', key, object, version }])
    else notes.set(key, [{ type: known.has(key) ? 'update' : 'add', key, object, version }])
  }
  return [...notes.values()].flat()
}

/** Of two deletes: what the source told counts more than what a list lacked, and the later version. */
function moreInformative(first: Noted | undefined, second: Deleted<Item>): Noted {
  const { key, object, version, finalState } = second
  if (first?.finalState === 'known' && finalState === 'unknown') return { ...first, version: version ?? first.version }
  return { type: 'delete', key, object, version, finalState }
}
