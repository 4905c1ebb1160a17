import type { Change, Deleted, Version } from '../../../src/index.js'
import type { Item } from '../backend/history.js'

export interface MergedChange {
  readonly type: Change<Item>['type']
  readonly key: string
  readonly object: Item
  /** The version of the last merged change that has one. */
  readonly version: Version | undefined
  readonly finalState?: 'known' | 'unknown'
}

/**
 * Merges pending changes for a follower that has certain keys, in the order of arrival. A pending key keeps its
 * position, and a key without a remaining change has none.
 */
export function mergedOf(changes: readonly Change<Item>[], known: ReadonlySet<string>): readonly MergedChange[] {
  const notes = new Map<string, readonly MergedChange[]>()
  for (const change of changes) {
    const { key, object, version } = change
    const before = notes.get(key)
    const gone = before?.[0]?.type === 'delete' ? before[0] : undefined
    if (change.type === 'delete') {
      // A recreated object has a last state of its own.
      const isBack = before?.length === 2
      if (known.has(key)) notes.set(key, [moreInformative(isBack ? undefined : gone, change)])
      else notes.delete(key)
    } else if (gone !== undefined) notes.set(key, [gone, { type: 'add', key, object, version }])
    else if (known.has(key)) notes.set(key, [{ type: 'update', key, object, version }])
    else notes.set(key, [{ type: 'add', key, object, version }])
  }
  return [...notes.values()].flat()
}

/** Merges two deletes: a known final state takes precedence over an unknown one, with the later version. */
function moreInformative(
  first: MergedChange | undefined,
  { key, object, finalState, version: last }: Deleted<Item>,
): MergedChange {
  const version = last ?? first?.version
  if (first?.finalState === 'known' && finalState === 'unknown') return { ...first, version }
  return { type: 'delete', key, object, finalState, version }
}

export function isAs(some: readonly MergedChange[], others: readonly MergedChange[]): boolean {
  return some.length === others.length && some.every((one, at) => isLike(one, others[at]))
}

export function isLike(one: MergedChange | undefined, other: MergedChange | undefined): boolean {
  return (
    one?.type === other?.type &&
    one?.key === other?.key &&
    one?.object === other?.object &&
    one?.version === other?.version &&
    one?.finalState === other?.finalState
  )
}
