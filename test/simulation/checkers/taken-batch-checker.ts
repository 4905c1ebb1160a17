import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import type { Invariant } from '../system/scenario.js'
import { type Commits, isOfOneCommit } from './handler-commits.js'
import { isAs, mergedOf } from './merged-changes.js'

export interface Waiting {
  readonly change: Change<Item>
  readonly since: number
  /** Whether it may have left the queue with the batch that is being handled. */
  mayBeInHand: boolean
  /** Whether the queue was empty since: it merged to nothing. */
  mayBeGone: boolean
  /** The overflow during which it was pending: all its changes come as one batch. */
  overflow: Overflow | undefined
}

/** The number of deliveries of each key that had to be merged. */
export type Overflow = { readonly delivered: Map<string, number> }

export interface Taking {
  /** The changes of the batch, except resyncs. */
  readonly fresh: readonly Change<Item>[]
  readonly source: string | undefined
  readonly waiting: readonly Waiting[]
  readonly known: ReadonlySet<string>
  readonly commits: Commits
  /** Whether more than the capacity was pending since the reader had caught up. */
  readonly mayMerge: boolean
  /** Whether there are resyncs, which keep the positions of keys. */
  readonly isResynced: boolean
}

/** The defect of a batch, if there is one, and whether it contains several commits. */
export type BatchResult = { readonly flaw?: readonly [Invariant, string]; readonly isMerged?: boolean }

/** Checks a batch that consists of the first `end` pending changes: one commit as it came, or all of them merged. */
export function checkTakenBatch(taking: Taking, end: number): BatchResult {
  const { fresh, source, waiting, commits, mayMerge } = taking
  const [taken, left] = [waiting.slice(0, end), waiting.slice(end)]
  const waited = taken.map(({ change }) => change)
  const isLeftOut = left.some(({ overflow, mayBeInHand }) => overflow !== undefined && !mayBeInHand)
  const isOne = end === sizeOfFirst(waiting, commits)
  const isAsItCame = isOne && isAs(waited, fresh)
  const isMerged = isAllOf(waited, taking)
  // The pending changes may have merged to nothing: then the reader had caught up, and the last ones come as they are.
  const last = waited.slice(-fresh.length)
  const isFresh = isAs(last, fresh) && isNothing(waited.slice(0, -fresh.length), taking.known)
  const certain = isFresh ? last : taken.flatMap(({ change, mayBeInHand }) => (mayBeInHand ? [] : [change]))
  const sources = new Set(certain.map(commits.sourceOf))
  if (source !== undefined && sources.size > 0 && (sources.size > 1 || !sources.has(source)))
    return { flaw: ['sets', `of ${source}, and they are of ${[...sources]}`] }
  if (!mayMerge && source === undefined && !sources.has(undefined))
    return { flaw: ['sets', 'and the batch does not name its source'] }
  if (isFresh && !isLeftOut) return {}
  if (isLeftOut || (!isOne && !isMerged && taken.some(({ overflow }) => overflow !== undefined)))
    return { flaw: ['I12', 'and not all pending changes, merged'] }
  if (!isAsItCame && !(mayMerge && isMerged))
    return { flaw: ['queue', 'which are neither a commit nor all pending changes, merged'] }
  return { isMerged: !isAsItCame }
}

/** Whether the pending changes merge to nothing. */
export function isNothing(waited: readonly Change<Item>[], known: ReadonlySet<string>): boolean {
  return mergedOf(waited, known).length === 0
}

/** The number of pending changes in the same commit as the oldest. */
function sizeOfFirst([first, ...rest]: readonly Waiting[], commits: Commits): number {
  if (first === undefined) return 0
  const next = rest.findIndex(
    (waiting) => !isOfOneCommit(first.change, waiting.change, commits) || isOfOtherList(first, waiting),
  )
  return next < 0 ? 1 + rest.length : next + 1
}

/** Adds the positions between two lists of one version to `ends`. */
export function withEndsOfLists(ends: readonly number[], waiting: readonly Waiting[]): readonly number[] {
  const more = waiting.flatMap((each, at) => {
    const next = waiting[at + 1]
    return next !== undefined && isOfOtherList(each, next) ? [at + 1] : []
  })
  return more.length === 0 ? ends : [...new Set([...ends, ...more])].toSorted((a, b) => a - b)
}

/** Whether two pending changes came by two lists. */
function isOfOtherList(one: Waiting, other: Waiting): boolean {
  return one.change.origin === 'relist' && other.change.origin === 'relist' && one.since !== other.since
}

function isAllOf(waited: readonly Change<Item>[], { fresh, known, isResynced }: Taking): boolean {
  const merged = mergedOf(waited, known)
  return isResynced ? isAs(byKey(fresh), byKey(merged)) : isAs(fresh, merged)
}

function byKey<N extends { readonly key: string }>(notes: readonly N[]): readonly N[] {
  return notes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
