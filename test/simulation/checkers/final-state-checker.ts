import type { Deleted } from '../../../src/queue/change.js'
import type { History, Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Settings } from '../workload/settings.js'

/**
 * A deletion of which the source told is known; what a list lacks, or what goes with its source, is not. Of a source that
 * keeps its promises.
 */
export function checkFinalState(
  { violate }: Scenario,
  { history, settings }: { readonly history: History; readonly settings: Settings },
  { key, version, origin, finalState, previous }: Deleted<Item>,
): void {
  if (origin === 'relist' && finalState === 'known')
    violate(
      'I4',
      `${version === undefined ? 'a source was taken out with' : 'a list lacked'} ${nameOf(key)}, and its final state is said to be known`,
    )
  if (version === undefined) return
  const written = history.at(version).mutations.filter((mutation) => mutation.key === key)
  const [only] = written
  // What came before in the same batch, which is told at the version of the whole, may have been another end.
  const isLast = only?.was?.isInvalid === false && only.was.item.n === previous.n
  const isNotified = !settings.isPolled && written.length === 1 && only?.stored === undefined && isLast
  if (origin === 'watch' && isNotified && finalState === 'unknown')
    violate('I4', `the source told that ${nameOf(key)} was deleted, and its final state is said to be unknown`)
}
