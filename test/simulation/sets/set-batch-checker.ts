import type { ChangeBatch } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { SetFollower } from './set-follower.js'
import { BEFORE_ALL, type Position, type SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

/**
 * Checks that batches of a set are complete: after each batch, the reader has of every source a state of that source,
 * never earlier than before.
 */
export class SetBatchChecker {
  readonly #scenario: Scenario
  readonly #members: SetMembers
  readonly #positions = new Map<SetFollower, Map<SetMember, Position>>()

  constructor(scenario: Scenario, members: SetMembers) {
    this.#scenario = scenario
    this.#members = members
  }

  check(follower: SetFollower, { changes, source, version }: ChangeBatch<Item>): void {
    const [scenario, members] = [this.#scenario, this.#members]
    if (changes.length === 0 || members.overlap) return
    const positions = this.#positions.get(follower) ?? new Map<SetMember, Position>()
    this.#positions.set(follower, positions)
    const of = members.named(source)
    if (version !== undefined) scenario.violate('sets', `a batch of several sources has the version ${version}`)
    if (source === undefined && changes.some(({ origin }) => origin === 'watch'))
      scenario.mark('a batch was merged of several sources')
    for (const { key } of changes)
      if (of !== undefined && !of.has(key))
        scenario.violate('sets', `a batch of ${source} contains another source's key`)
    for (const member of members) {
      if (member.settings.isBreach) continue
      const held = (key: string): number | undefined => follower.known.get(key)?.n
      const found = member.find(
        held,
        (stored) => (follower.wants(member, stored) ? stored?.item.n : undefined),
        positions.get(member) ?? BEFORE_ALL,
      )
      if (found !== undefined) positions.set(member, found)
      else
        scenario.violate(
          'I8',
          `${follower.name} took a batch, and its objects of ${member.name} are not a state of that source`,
        )
    }
  }
}
