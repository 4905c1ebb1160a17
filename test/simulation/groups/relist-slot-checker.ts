import { SLOT_MS } from '../../../src/informer/relist-limiter.js'
import type { Scenario } from '../system/scenario.js'

/** The number of clock reads that slow code may take until it notices the end of a slot. */
const CLOCK_READS = 1_000

export interface Member {
  readonly reflectorState: string | undefined
  readonly hasListed: boolean
  /** The number of lists that it has begun. */
  readonly lists: number
}

/** Checks relist slots from outside: the number of relisting members, and that no member waits without need. */
export class RelistSlotChecker {
  readonly #scenario: Scenario
  readonly #members: readonly Member[]
  readonly #max: number
  /** Whether members need a slot of another group too, for which they may wait. */
  readonly #isNested: boolean
  /** Members that relist or wait for a slot, in the order of arrival, with the number of their earlier lists. */
  readonly #relists = new Map<Member, number>()
  /** The time since which each relisting member lists. */
  readonly #begunAt = new Map<Member, number>()

  #skipped = 0
  #skippedAt = -Infinity

  constructor(scenario: Scenario, members: readonly Member[], max: number, isNested = false) {
    this.#isNested = isNested
    this.#scenario = scenario
    this.#members = members
    this.#max = max
  }

  moved(member: Member): void {
    this.#relists.delete(member)
    this.#begunAt.delete(member)
    if (member.reflectorState?.endsWith('listing') && member.hasListed) this.#relists.set(member, member.lists)
  }

  left(member: Member): void {
    if (this.isWaiting(member)) this.#scenario.mark('a member left while it waited for its relist slot')
    this.#relists.delete(member)
    this.#begunAt.delete(member)
  }

  isWaiting(member: Member): boolean {
    return this.#relists.get(member) === member.lists
  }

  checkStep(): void {
    const { violate, mark, clock, settings } = this.#scenario
    const relists = [...this.#relists.keys()]
    const running = relists.filter((member) => !this.isWaiting(member))
    for (const member of running) if (!this.#begunAt.has(member)) this.#begunAt.set(member, clock.elapsed)
    // A member that takes longer than a slot does not delay others.
    const ageOf = (member: Member): number => clock.elapsed - (this.#begunAt.get(member) ?? 0)
    const inSlot = running.filter((member) => ageOf(member) < SLOT_MS)
    const slowMs = CLOCK_READS * settings.driftMs
    if (clock.skipped !== this.#skipped) this.#skippedAt = clock.elapsed
    this.#skipped = clock.skipped
    // Callbacks that were due during a suspension are called one by one.
    const isLate = clock.elapsed - this.#skippedAt <= slowMs
    const mayHold = running.filter((member) => isLate || ageOf(member) <= SLOT_MS + slowMs)
    const first = relists.findIndex((member) => this.isWaiting(member))
    if (this.#members.some(({ reflectorState, lists }) => reflectorState === 'listing' && lists === 0))
      violate('groups', 'a first list is held back')
    if (inSlot.length > this.#max) violate('groups', `${inSlot.length} list again at a time, and ${this.#max} may`)
    if (first < 0 || this.#isNested) return
    mark('a member waited for its relist slot')
    if (mayHold.length < this.#max)
      violate('groups', `a member waits for its slot, and ${mayHold.length} of ${this.#max} list again`)
    if (relists.slice(first).some((member) => !this.isWaiting(member)))
      violate('groups', 'a member relists before another one that came earlier')
  }
}
