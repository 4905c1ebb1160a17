import type { ChangeBatch } from '../../../src/subscriptions/subscription-types.js'
import type { Item, State } from '../backend/history.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { SourceFollower } from '../workload/source-follower.js'
import type { UnmergedFollower } from './unmerged-follower.js'

/**
 * A reader that has taken a batch has the state of the source at the batch's version (I8). A reader without a scope
 * receives the last change of each key (I3), compared with the unmerged follower if there is one.
 */
export function checkBatch(
  { history, settings, violate, mark }: SourceScenario,
  follower: SourceFollower,
  { version, changes }: ChangeBatch<Item>,
  { isScoped, unmerged }: { readonly isScoped: boolean; readonly unmerged: UnmergedFollower | undefined },
): void {
  if (settings.isBreach) return
  if (version === undefined) {
    if (changes.at(-1)?.origin === 'access-lost' && follower.known.size > 0)
      violate('I8', `${follower.name} received the loss of access, and has ${follower.known.size} objects`)
    return
  }
  const { state } = history.at(version)
  const wanted = (then: State, key: string): number | undefined => {
    const stored = then.get(key)
    return follower.wants(stored) ? stored?.item.n : undefined
  }
  for (const key of settings.keys) {
    if (state.get(key)?.isInvalid) continue
    const [n, right] = [follower.known.get(key)?.n, wanted(state, key)]
    if (n === right) continue
    violate('I8', `${follower.name} took a batch at ${version}: ${nameOf(key)} is n${n}, the source had n${right}`)
    return
  }
  const last = new Map(changes.map((change) => [change.key, change]))
  if (last.size < changes.length) mark('a batch contained two changes of a key')
  if (isScoped || changes.length === 0) return
  for (const { key, version: delivered, origin } of last.values()) {
    if (delivered === undefined || origin === 'initial') continue
    const at = history.indexOf(delivered)
    if (unmerged?.isLast(key, version, at) === false)
      violate(
        'I3',
        `${follower.name} received ${nameOf(key)} at ${delivered}, and the last change up to ${version} was another`,
      )
  }
}
