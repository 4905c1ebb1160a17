import type { Version } from '../../../src/contract/version.js'
import type { Change, Deleted } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'

/** What somebody is told. */
export interface MergedChange {
  readonly type: Change<Item>['type']
  readonly key: string
  /** Of a delete: what is known of its last state. */
  readonly object: Item
  /** Of the last change that is in it, where that has one. */
  readonly version: Version | undefined
  readonly finalState?: 'known' | 'unknown'
}

/**
 * What is left to tell of changes that waited, to somebody who knows certain keys, in the order in which the keys came:
 * a key that waits keeps its place, and one of which nothing is left to tell has none.
 */
export function mergedOf(changes: readonly Change<Item>[], known: ReadonlySet<string>): readonly MergedChange[] {
  const notes = new Map<string, readonly MergedChange[]>()
  for (const change of changes) {
    const { key, object, version } = change
    const before = notes.get(key)
    const gone = before?.[0]?.type === 'delete' ? before[0] : undefined
    if (change.type === 'delete') {
      // What came back had a last state of its own.
      const isBack = before?.length === 2
      if (known.has(key)) notes.set(key, [moreInformative(isBack ? undefined : gone, change)])
      else notes.delete(key)
    } else if (gone !== undefined) notes.set(key, [gone, { type: 'add', key, object, version }])
    else if (known.has(key)) notes.set(key, [{ type: 'update', key, object, version }])
    else notes.set(key, [{ type: 'add', key, object, version }])
  }
  return [...notes.values()].flat()
}

/** Of two deletes: what the source told counts more than what a list lacked; the later version, where there is one. */
function moreInformative(
  first: MergedChange | undefined,
  { key, object, finalState, version: last }: Deleted<Item>,
): MergedChange {
  const version = last ?? first?.version
  if (first?.finalState === 'known' && finalState === 'unknown') return { ...first, version }
  return { type: 'delete', key, object, finalState, version }
}

/** Whether somebody is told just this, in this order. */
export function isAs(some: readonly MergedChange[], others: readonly MergedChange[]): boolean {
  return some.length === others.length && some.every((one, at) => isLike(one, others[at]))
}

function isLike(one: MergedChange, other: MergedChange | undefined): boolean {
  return (
    one.type === other?.type &&
    one.key === other.key &&
    one.object === other.object &&
    one.version === other.version &&
    one.finalState === other.finalState
  )
}
