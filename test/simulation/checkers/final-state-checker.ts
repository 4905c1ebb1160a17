import type { Deleted } from '../../../src/queue/change.js'
import type { History, Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Settings } from '../workload/settings.js'
import { unfrozenIn } from './entry-checker.js'

/**
 * Checks `finalState` of a correct source. A delete that the source sent has a known final state. A delete from a list, from
 * a whole collection, or with its source has an unknown one. A last state is frozen if stored objects are.
 */
export function checkFinalState(
  { violate }: Scenario,
  { history, settings }: { readonly history: History; readonly settings: Settings },
  { key, object, version, origin, finalState, previous, gone }: Deleted<Item>,
): void {
  if (origin === 'relist' && finalState === 'known')
    violate(
      'I4',
      `${version === undefined ? 'a source was removed with' : 'a list lacked'} ${nameOf(key)}, and its final state is reported as known`,
    )
  const soft = settings.freezes && object !== previous ? unfrozenIn(object) : undefined
  if (soft !== undefined) violate('I8', `the last state of ${nameOf(key)} can be written to, at ${soft}`)
  const isInferred = settings.isPolled && !settings.pollsWithChanges && gone !== 'out-of-scope'
  if (origin === 'watch' && isInferred && finalState === 'known')
    violate('I4', `a collection lacked ${nameOf(key)}, and its final state is reported as known`)
  // A source of another backend may have taken the place of the one that sent it.
  if (version === undefined || !history.has(version)) return
  const written = history.at(version).mutations.filter((mutation) => mutation.key === key)
  const [only] = written
  // Earlier events of the same batch have the same version, and may have been another delete.
  const isLast = only?.was?.isInvalid === false && only.was.item.n === previous.n
  const isNotified = !settings.isPolled && written.length === 1 && only?.stored === undefined && isLast
  if (origin === 'watch' && isNotified && finalState === 'unknown')
    violate('I4', `the source sent the delete of ${nameOf(key)}, and its final state is reported as unknown`)
}
