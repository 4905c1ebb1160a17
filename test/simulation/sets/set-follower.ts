import type { Change, Version } from '../../../src/index.js'
import type { Item, Stored } from '../backend/history.js'
import { unhandled } from '../checkers/handled-version-checker.js'
import type { Scenario } from '../system/scenario.js'
import { Follower, type IsIn } from '../workload/follower.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

interface SetFollowerOptions {
  readonly name: string
  readonly isIn: IsIn
  /** The incarnation of its source in which a change came, if known. */
  readonly incarnationOf: (member: SetMember, change: Change<Item>) => number | undefined
}

/** A receiver of changes of a set. */
export class SetFollower extends Follower {
  readonly #members: SetMembers
  readonly #incarnationOf: SetFollowerOptions['incarnationOf']
  readonly #begun: () => void

  /** `begun` is called with each received change. */
  constructor(
    scenario: Scenario,
    members: SetMembers,
    { name, isIn, incarnationOf }: SetFollowerOptions,
    begun: () => void,
  ) {
    super(scenario, name, isIn)
    this.#members = members
    this.#incarnationOf = incarnationOf
    this.#begun = begun
  }

  override receive(change: Change<Item>): void {
    super.receive(change)
    this.#begun()
  }

  wants(member: SetMember, stored: Stored | undefined): boolean {
    return member.wants(stored) && this.isIn(stored.item, stored.key)
  }

  get isQuiet(): boolean {
    const { subscription } = this
    if (this.isClosed || this.neverSettles || subscription === undefined) return true
    return subscription.backlog.keys === 0 && this.flaw === undefined
  }

  /** It reports that it has handled everything up to a version of a source. */
  checkReached(member: SetMember, mark: Version): void {
    const handledOf = (key: string): number | undefined => this.known.get(key)?.n
    const missing = unhandled(member, mark, { handledOf, wants: (stored) => this.wants(member, stored) })
    if (missing !== undefined)
      this.scenario.violate('I7', `${this.name} has handled ${member.name} up to ${mark}, and has ${missing}`)
  }

  protected override get difference(): string | undefined {
    return this.#members.flaw((key) => this.known.get(key), `${this.name} ends with`, this.isIn)
  }

  protected override writerOf(n: number): SetMember | undefined {
    return this.#members.writerOf(n)?.member
  }

  protected override incarnationOf(change: Change<Item>): number | undefined {
    const member = this.writerOf(change.object.n)
    return member && this.#incarnationOf(member, change)
  }
}
