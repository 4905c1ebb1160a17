import type { Deleted } from '../../../src/queue/change.js'
import type { History, Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Settings } from '../workload/settings.js'

/**
 * Checks `finalState` of a correct source. A delete that the source sent has a known final state. A delete from a list
 * or with its source has an unknown one.
 */
export function checkFinalState(
  { violate }: Scenario,
  { history, settings }: { readonly history: History; readonly settings: Settings },
  { key, version, origin, finalState, previous }: Deleted<Item>,
): void {
  if (origin === 'relist' && finalState === 'known')
    violate(
      'I4',
      `${version === undefined ? 'a source was removed with' : 'a list lacked'} ${nameOf(key)}, and its final state is reported as known`,
    )
  if (version === undefined) return
  const written = history.at(version).mutations.filter((mutation) => mutation.key === key)
  const [only] = written
  // Earlier events of the same batch have the same version, and may have been another delete.
  const isLast = only?.was?.isInvalid === false && only.was.item.n === previous.n
  const isNotified = !settings.isPolled && written.length === 1 && only?.stored === undefined && isLast
  if (origin === 'watch' && isNotified && finalState === 'unknown')
    violate('I4', `the source sent the delete of ${nameOf(key)}, and its final state is reported as unknown`)
}
