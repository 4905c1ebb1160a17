import type { Informer } from '../../../src/informer/informer.js'
import type { Change } from '../../../src/queue/change.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import { checkFinalState } from '../checkers/final-state-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

/**
 * Told at once of every change of a set: it knows of which stay in the set each came, however late others are told.
 * A source that was taken out and comes back begins another stay: it may be behind where it was.
 */
export class UnmergedSetFollower {
  readonly #scene: Scenario
  readonly #slots: SetMembers
  readonly #subscription: Subscription
  /** How often each source had been taken out when all before had been told. */
  readonly #settled = new Map<SetMember, number>()
  /** By what was told: in which stays. */
  readonly #stays = new Map<string, Set<number>>()

  constructor(scene: Scenario, slots: SetMembers, informer: Informer<Item, IndexesOf>) {
    this.#scene = scene
    this.#slots = slots
    const tell = (change: Change<Item>): void => this.#tell(change)
    this.#subscription = informer.subscribe({ add: tell, update: tell, delete: tell }, { name: 'witness' })
  }

  /** In which stay of its source a change came; undefined where it may be of several. */
  stayOf(slot: SetMember, change: Change<Item>): number | undefined {
    const stays = this.#stays.get(idOf(slot, change))
    const [only] = stays ?? []
    return stays?.size === 1 ? only : undefined
  }

  /** Everything that had happened has been told. */
  look(): void {
    if (this.#subscription.backlog.keys > 0) return
    for (const slot of this.#slots) this.#settled.set(slot, slot.removals)
  }

  #tell(change: Change<Item>): void {
    const { key, object, origin } = change
    if (change.type === 'update' && object === change.previous)
      this.#scene.violate('I3', `of ${nameOf(key)} the same object was told again`)
    const slot = this.#slots.giverOf(key, object.n)
    if (slot === undefined || origin === 'initial') return
    const [settled, now] = [this.#settled.get(slot) ?? 0, slot.removals]
    const id = idOf(slot, change)
    const stays = this.#stays.get(id) ?? new Set()
    this.#stays.set(id, stays)
    for (let stay = settled; stay <= now; stay++) stays.add(stay)
    // Just now another one has come in its place: whose versions these are is not known.
    if (change.type !== 'delete' || slot.settings.isBreach) return
    if (change.version === undefined || (settled === now && slot.isIn)) checkFinalState(this.#scene, slot, change)
  }
}

function idOf({ name }: SetMember, { type, key, version, object }: Change<Item>): string {
  return JSON.stringify([name, key, version, type === 'delete' ? 'gone' : object.n])
}
