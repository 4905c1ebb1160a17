import type { Change } from '../../src/delta.js'
import type { Item } from './history.js'

export interface Noted {
  readonly type: Change<Item>['type']
  readonly key: string
}

/**
 * What is left to tell of changes that waited, to somebody who knows certain keys, in the order in which the keys came:
 * a key that waits keeps its place, and one of which nothing is left to tell has none.
 */
export function mergedOf(changes: readonly Change<Item>[], known: ReadonlySet<string>): readonly Noted[] {
  const notes = new Map<string, readonly Noted[]>()
  for (const { type, key } of changes) {
    const before = notes.get(key)
    const wasGone = before?.[0]?.type === 'delete'
    if (type === 'delete') {
      if (known.has(key)) notes.set(key, [{ type, key }])
      else notes.delete(key)
    } else if (wasGone)
      notes.set(key, [
        { type: 'delete', key },
        { type: 'add', key },
      ])
    else if (known.has(key)) notes.set(key, [{ type: 'update', key }])
    else notes.set(key, [{ type: 'add', key }])
  }
  return [...notes.values()].flat()
}
