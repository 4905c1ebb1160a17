import type { Change, Informer, Subscription } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { checkFinalState } from '../checkers/final-state-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

/**
 * Receives every change of a set at once: it knows the incarnation of each change, however late others receive it. A
 * source that was removed and added again begins another incarnation, which may be behind.
 */
export class UnmergedSetFollower {
  readonly #scenario: Scenario
  readonly #members: SetMembers
  readonly #subscription: Subscription
  /** The number of removals of each source when all earlier changes had been received. */
  readonly #settled = new Map<SetMember, number>()
  /** The possible incarnations of each received change. */
  readonly #incarnations = new Map<string, Set<number>>()

  constructor(scenario: Scenario, members: SetMembers, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#members = members
    const receive = (change: Change<Item>): void => this.#receive(change)
    this.#subscription = informer.subscribe({ add: receive, update: receive, delete: receive }, { name: 'witness' })
  }

  /** The incarnation of a change; undefined if there are several possible ones. */
  incarnationOf(member: SetMember, change: Change<Item>): number | undefined {
    const incarnations = this.#incarnations.get(idOf(member, change))
    const [only] = incarnations ?? []
    return incarnations?.size === 1 ? only : undefined
  }

  /** Called after each step. */
  checkStep(): void {
    if (this.#subscription.backlog.keys > 0) return
    for (const member of this.#members) this.#settled.set(member, member.removals)
  }

  #receive(change: Change<Item>): void {
    const { key, object, origin } = change
    if (change.type === 'update' && object === change.previous)
      this.#scenario.violate('I3', `the same object of ${nameOf(key)} was delivered again`)
    const member = this.#members.ownerOf(key, object.n)
    if (member === undefined || origin === 'initial') return
    const [settled, now] = [this.#settled.get(member) ?? 0, member.removals]
    const id = idOf(member, change)
    const incarnations = this.#incarnations.get(id) ?? new Set()
    this.#incarnations.set(id, incarnations)
    for (let incarnation = settled; incarnation <= now; incarnation++) incarnations.add(incarnation)
    // Another source has just taken its place: the origin of these versions is unknown.
    if (change.type !== 'delete' || member.settings.isBreach) return
    if (change.version === undefined || (settled === now && member.isIn))
      checkFinalState(this.#scenario, member, change)
  }
}

function idOf({ name }: SetMember, { type, key, version, object }: Change<Item>): string {
  return JSON.stringify([name, key, version, type === 'delete' ? 'gone' : object.n])
}
