import type { Informer } from '../../../src/informer/informer-types.js'
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
  readonly #scenario: Scenario
  readonly #members: SetMembers
  readonly #subscription: Subscription
  /** How often each source had been taken out when all before had been told. */
  readonly #settled = new Map<SetMember, number>()
  /** By what was told: in which stays. */
  readonly #incarnations = new Map<string, Set<number>>()

  constructor(scenario: Scenario, members: SetMembers, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#members = members
    const receive = (change: Change<Item>): void => this.#receive(change)
    this.#subscription = informer.subscribe({ add: receive, update: receive, delete: receive }, { name: 'witness' })
  }

  /** In which stay of its source a change came; undefined where it may be of several. */
  incarnationOf(member: SetMember, change: Change<Item>): number | undefined {
    const incarnations = this.#incarnations.get(idOf(member, change))
    const [only] = incarnations ?? []
    return incarnations?.size === 1 ? only : undefined
  }

  /** Everything that had happened has been told. */
  checkStep(): void {
    if (this.#subscription.backlog.keys > 0) return
    for (const member of this.#members) this.#settled.set(member, member.removals)
  }

  #receive(change: Change<Item>): void {
    const { key, object, origin } = change
    if (change.type === 'update' && object === change.previous)
      this.#scenario.violate('I3', `of ${nameOf(key)} the same object was told again`)
    const member = this.#members.ownerOf(key, object.n)
    if (member === undefined || origin === 'initial') return
    const [settled, now] = [this.#settled.get(member) ?? 0, member.removals]
    const id = idOf(member, change)
    const incarnations = this.#incarnations.get(id) ?? new Set()
    this.#incarnations.set(id, incarnations)
    for (let incarnation = settled; incarnation <= now; incarnation++) incarnations.add(incarnation)
    // Just now another one has come in its place: whose versions these are is not known.
    if (change.type !== 'delete' || member.settings.isBreach) return
    if (change.version === undefined || (settled === now && member.isIn))
      checkFinalState(this.#scenario, member, change)
  }
}

function idOf({ name }: SetMember, { type, key, version, object }: Change<Item>): string {
  return JSON.stringify([name, key, version, type === 'delete' ? 'gone' : object.n])
}
