import type { Version } from '../../../src/contract/version.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { Change } from '../../../src/queue/change.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { History, Item } from '../backend/history.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

/** What is known of the commits that go into queues, and of how far somebody has come. */
export interface Commits {
  /** The source of a change; undefined where there is only one. */
  sourceOf(change: Change<Item>): string | undefined
  /** How many of the changes that wait a batch may be made of. */
  endsOf(version: Version | undefined, changes: readonly Change<Item>[]): readonly number[]
  /** Whether a version is surely before another one. */
  isBefore(version: Version, other: Version): boolean
  /** Whether somebody who handles all at once has not. */
  isLate(subscription: Subscription): boolean
  /** Whether somebody who handles something just now (`isBusy`), or not, has handled all that is in the store. */
  isLevel(subscription: Subscription, isBusy: boolean): boolean
}

/**
 * What was committed together: of neighbours, all that are of one version of one source. A list that shows what a watch
 * has passed over is of that version too, and a commit of its own.
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

/** Over one source a batch says by its version what it is made of. */
export function commitsOf(history: History, informer: Informer<Item, IndexesOf>): Commits {
  return {
    sourceOf: () => undefined,
    endsOf: (version, changes) => {
      // What is deleted because access was lost has no version, and the same versions may come after it.
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
