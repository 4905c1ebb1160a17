import type { ChangeBatch } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { SetFollower } from './set-follower.js'
import { BEGINNING, type Position, type SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

/**
 * Judges that batches of a set are whole: after each the reader has of every source what that had at one moment, and never
 * an earlier one than before.
 */
export class SetBatchChecker {
  readonly #stage: Scenario
  readonly #slots: SetMembers
  readonly #positions = new Map<SetFollower, Map<SetMember, Position>>()

  constructor(stage: Scenario, slots: SetMembers) {
    this.#stage = stage
    this.#slots = slots
  }

  judge(follower: SetFollower, { changes, source, version }: ChangeBatch<Item>): void {
    const [stage, slots] = [this.#stage, this.#slots]
    if (changes.length === 0 || slots.overlap) return
    const positions = this.#positions.get(follower) ?? new Map<SetMember, Position>()
    this.#positions.set(follower, positions)
    const of = slots.named(source)
    if (version !== undefined) stage.violate('sets', `a batch of several sources says ${version}`)
    if (source === undefined && changes.some(({ origin }) => origin === 'watch'))
      stage.mark('a batch was merged of several sources')
    for (const { key } of changes)
      if (of !== undefined && !of.has(key)) stage.violate('sets', `a batch of ${source} tells of another source's key`)
    for (const slot of slots) {
      if (slot.settings.isBreach) continue
      const held = (key: string): number | undefined => follower.known.get(key)?.n
      const found = slot.find(
        held,
        (stored) => (follower.wants(slot, stored) ? stored?.item.n : undefined),
        positions.get(slot) ?? BEGINNING,
      )
      if (found !== undefined) positions.set(slot, found)
      else stage.violate('I8', `${follower.name} took a batch, and ${slot.name} never had what it has of it now`)
    }
  }
}
