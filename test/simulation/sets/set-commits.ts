import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { type Commits, isOfOneCommit } from '../checkers/handler-commits.js'
import type { Scenario } from '../system/scenario.js'
import type { SetMembers } from './set-members.js'

/**
 * Over several sources a batch has no version, and may consist of any number of commits. An idle follower without
 * pending changes has handled everything.
 */
export function commitsOfSet({ settings }: Scenario, members: SetMembers): Commits {
  const commits: Commits = {
    sourceOf: ({ key, object }) => members.ownerOf(key, object.n)?.name,
    endsOf: (_version, changes) => {
      const isEnd = (change: Change<Item>, next: Change<Item> | undefined): boolean =>
        next === undefined || !isOfOneCommit(change, next, commits)
      return changes.flatMap((change, at) => (isEnd(change, changes[at + 1]) ? [at + 1] : []))
    },
    // There are no versions.
    isBefore: () => false,
    isLate: ({ backlog }) => backlog.keys > 0,
    // With slow code, a follower may be about to look for more changes.
    isLevel: ({ backlog }, isBusy) => settings.driftMs === 0 && !isBusy && backlog.keys === 0,
  }
  return commits
}
