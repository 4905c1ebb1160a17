import type { Change, Informer, Subscription, Version } from '../../../src/index.js'
import type { History, Item } from '../backend/history.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

export interface Commits {
  /** The source of a change; undefined with a single source. */
  sourceOf(change: Change<Item>): string | undefined
  /** The possible numbers of pending changes in a batch. */
  endsOf(version: Version | undefined, changes: readonly Change<Item>[]): readonly number[]
  /** Whether a version is certainly before another one. */
  isBefore(version: Version, other: Version): boolean
  /** Whether a follower that handles everything at once is behind. */
  isLate(subscription: Subscription): boolean
  /** Whether a follower, with a running call (`isBusy`) or without, has handled everything in the store. */
  isLevel(subscription: Subscription, isBusy: boolean): boolean
}

/**
 * Whether two neighbouring changes are of one commit: they have one version and one source. A list of a version that a
 * watch has passed is a commit of its own.
 */
export function isOfOneCommit(one: Change<Item>, other: Change<Item>, commits: Commits): boolean {
  return one.origin === other.origin && isOfOneVersion(one, other, commits)
}

export function isOfOneVersion(one: Change<Item>, other: Change<Item>, { sourceOf }: Commits): boolean {
  return one.version === other.version && sourceOf(one) === sourceOf(other)
}

function isLost(change: Change<Item> | undefined): boolean {
  return change?.origin === 'access-lost'
}

/** Over one source, the version of a batch determines its changes. */
export function commitsOf(history: History, informer: Informer<Item, IndexesOf>): Commits {
  return {
    sourceOf: () => undefined,
    endsOf: (version, changes) => {
      // Deletes from a loss of access have no version, and the same versions may come after them.
      const edges = changes.flatMap((change, at) => (isLost(change) !== isLost(changes[at + 1]) ? [at + 1] : []))
      if (version === undefined) return edges.filter((end) => isLost(changes[end - 1]))
      const upTo = history.indexOf(version)
      const next = changes.findIndex((change) => change.version !== undefined && history.indexOf(change.version) > upTo)
      const most = next < 0 ? changes.length : next
      return [...edges.filter((end) => end < most && !isLost(changes[end - 1])), most]
    },
    isBefore: (version, other) => history.indexOf(version) < history.indexOf(other),
    isLate: ({ version }) => version !== undefined && version !== informer.version,
    isLevel: ({ version }) => version !== undefined && version === informer.version,
  }
}
