import type { Change, Deleted } from '../../src/delta.js'
import type { Item } from './history.js'

export interface Noted {
  readonly type: Change<Item>['type']
  readonly key: string
  /** Of a delete: what is known of its last state. */
  readonly object?: Item
  readonly finalState?: 'known' | 'unknown'
}

/**
 * What is left to tell of changes that waited, to somebody who knows certain keys, in the order in which the keys came:
 * a key that waits keeps its place, and one of which nothing is left to tell has none.
 */
export function mergedOf(changes: readonly Change<Item>[], known: ReadonlySet<string>): readonly Noted[] {
  const notes = new Map<string, readonly Noted[]>()
  for (const change of changes) {
    const { key } = change
    const before = notes.get(key)
    const gone = before?.[0]?.type === 'delete' ? before[0] : undefined
    if (change.type === 'delete') {
      if (known.has(key)) notes.set(key, [moreInformative(gone, change)])
      else notes.delete(key)
    } else if (gone !== undefined) notes.set(key, [gone, { type: 'add', key }])
    else if (known.has(key)) notes.set(key, [{ type: 'update', key }])
    else notes.set(key, [{ type: 'add', key }])
  }
  return [...notes.values()].flat()
}

/** Of two deletes: what the source told counts more than what a list lacked. */
function moreInformative(first: Noted | undefined, { key, object, finalState }: Deleted<Item>): Noted {
  if (first?.finalState === 'known' && finalState === 'unknown') return first
  return { type: 'delete', key, object, finalState }
}
