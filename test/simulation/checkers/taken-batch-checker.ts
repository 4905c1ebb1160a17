import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import type { Invariant } from '../system/scenario.js'
import { type Commits, isOfOneCommit } from './handler-commits.js'
import { isAs, mergedOf } from './merged-changes.js'

/** One change that a follower has not been told yet. */
export interface Waiting {
  readonly change: Change<Item>
  /** When it came, in virtual milliseconds. */
  readonly since: number
  /** It may have left the queue: with a batch that is being told. */
  mayBeInHand: boolean
  /** There was a moment since when nothing waited: it came to nothing. */
  mayBeGone: boolean
  /** It waited when there was more than the queue may hold: everything of then comes as one batch. */
  overflow: Overflow | undefined
}

/** How often each key was told of what had to be merged. */
export interface Overflow {
  readonly delivered: Map<string, number>
}

/** A batch that somebody took, and what he waited for. */
export interface Taking {
  /** What is told for the first time. */
  readonly fresh: readonly Change<Item>[]
  readonly source: string | undefined
  readonly waiting: readonly Waiting[]
  /** The keys that he had been told of. */
  readonly known: ReadonlySet<string>
  readonly commits: Commits
  /** Since he had caught up there was too much. */
  readonly mayMerge: boolean
  /** What he was told again keeps the places of keys, and is no news. */
  readonly isResynced: boolean
}

/** What is wrong with a batch, if something is, and whether more than one commit is in it. */
export interface BatchResult {
  readonly flaw?: readonly [Invariant, string]
  readonly isMerged?: boolean
}

/** Whether a batch is right, if it is made of the first `end` changes that waited: a commit as it came, or all of it merged. */
export function checkTakenBatch(taking: Taking, end: number): BatchResult {
  const { fresh, source, waiting, commits, mayMerge } = taking
  const [taken, left] = [waiting.slice(0, end), waiting.slice(end)]
  const waited = taken.map(({ change }) => change)
  const isLeftOut = left.some(({ overflow, mayBeInHand }) => overflow !== undefined && !mayBeInHand)
  const isOne = end === sizeOfFirst(waiting, commits)
  const isAsItCame = isOne && isSame(waited, fresh)
  const isMerged = isAllOf(waited, taking)
  // What waited may have come to nothing: then he had caught up, and what came last is told as it came.
  const last = waited.slice(-fresh.length)
  const isFresh = isSame(last, fresh) && isNothing(waited.slice(0, -fresh.length), taking.known)
  const certain = isFresh ? last : taken.flatMap(({ change, mayBeInHand }) => (mayBeInHand ? [] : [change]))
  const sources = new Set(certain.map(commits.sourceOf))
  if (source !== undefined && sources.size > 0 && (sources.size > 1 || !sources.has(source)))
    return { flaw: ['sets', `of ${source}, and they are of ${[...sources]}`] }
  if (!mayMerge && source === undefined && !sources.has(undefined))
    return { flaw: ['sets', 'and the batch does not say of which source'] }
  if (isFresh && !isLeftOut) return {}
  if (isLeftOut || (!isOne && !isMerged && taken.some(({ overflow }) => overflow !== undefined)))
    return { flaw: ['I12', 'and not all that waited, merged'] }
  if (!isAsItCame && !(mayMerge && isMerged))
    return { flaw: ['queue', 'which are neither what came nor what waited, merged'] }
  return { isMerged: !isAsItCame }
}

/** Whether nothing is left to tell of what waited. */
export function isNothing(waited: readonly Change<Item>[], known: ReadonlySet<string>): boolean {
  return mergedOf(waited, known).length === 0
}

export function isLike(one: Change<Item> | undefined, other: Change<Item> | undefined): boolean {
  return (
    one?.type === other?.type &&
    one?.key === other?.key &&
    one?.object === other?.object &&
    one?.version === other?.version
  )
}

/** How many of what waits were committed together with what has waited longest. */
function sizeOfFirst([first, ...rest]: readonly Waiting[], commits: Commits): number {
  if (first === undefined) return 0
  const next = rest.findIndex(({ change }) => !isOfOneCommit(first.change, change, commits))
  return next < 0 ? 1 + rest.length : next + 1
}

function isAllOf(waited: readonly Change<Item>[], { fresh, known, isResynced }: Taking): boolean {
  const merged = mergedOf(waited, known)
  return isResynced ? isAs(byKey(fresh), byKey(merged)) : isAs(fresh, merged)
}

function isSame(some: readonly Change<Item>[], others: readonly Change<Item>[]): boolean {
  return some.length === others.length && some.every((one, at) => isLike(one, others[at]))
}

function byKey<N extends { readonly key: string }>(notes: readonly N[]): readonly N[] {
  return notes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
