import { SLOT_MS } from '../../../src/informer/relist-limiter.js'
import type { Scenario } from '../system/scenario.js'

/** So many looks at the clock our own slow code may take until it knows that a turn is over. */
const CLOCK_READS = 1_000

/** Whoever takes turns with others. */
export interface Member {
  /** What its reflector does. */
  readonly state: string | undefined
  readonly hasListed: boolean
  /** How many lists it has begun. */
  readonly lists: number
}

/** Judges turns by what can be seen of members: how many list again, and that nobody waits without need. */
export class RelistSlotChecker {
  readonly #scenario: Scenario
  readonly #members: readonly Member[]
  readonly #max: number
  /** Those that list again, or wait until they may, in the order in which they came; and the lists they had begun before. */
  readonly #relists = new Map<Member, number>()
  /** Since when those that list again do. */
  readonly #begunAt = new Map<Member, number>()

  #skipped = 0
  #skippedAt = -Infinity

  constructor(scenario: Scenario, members: readonly Member[], max: number) {
    this.#scenario = scenario
    this.#members = members
    this.#max = max
  }

  /** It does something else than before. */
  moved(member: Member): void {
    this.#relists.delete(member)
    this.#begunAt.delete(member)
    if (member.state?.endsWith('listing') && member.hasListed) this.#relists.set(member, member.lists)
  }

  /** It is there no more. */
  left(member: Member): void {
    if (this.isWaiting(member)) this.#scenario.mark('a member left while it waited for its turn')
    this.#relists.delete(member)
    this.#begunAt.delete(member)
  }

  /** Whether it waits for its turn. */
  isWaiting(member: Member): boolean {
    return this.#relists.get(member) === member.lists
  }

  checkStep(): void {
    const { violate, mark, clock, settings } = this.#scenario
    const relists = [...this.#relists.keys()]
    const running = relists.filter((member) => !this.isWaiting(member))
    for (const member of running) if (!this.#begunAt.has(member)) this.#begunAt.set(member, clock.elapsed)
    // Who takes longer than a turn holds nobody up.
    const ageOf = (member: Member): number => clock.elapsed - (this.#begunAt.get(member) ?? 0)
    const inSlot = running.filter((member) => ageOf(member) < SLOT_MS)
    const slowMs = CLOCK_READS * settings.driftMs
    if (clock.skipped !== this.#skipped) this.#skippedAt = clock.elapsed
    this.#skipped = clock.skipped
    // What was due while nobody could act comes one by one.
    const isLate = clock.elapsed - this.#skippedAt <= slowMs
    const mayHold = running.filter((member) => isLate || ageOf(member) <= SLOT_MS + slowMs)
    const first = relists.findIndex((member) => this.isWaiting(member))
    if (this.#members.some(({ state, lists }) => state === 'listing' && lists === 0))
      violate('groups', 'a first list is held back')
    if (inSlot.length > this.#max) violate('groups', `${inSlot.length} list again at a time, and ${this.#max} may`)
    if (first < 0) return
    mark('a member waited for its turn')
    if (mayHold.length < this.#max)
      violate('groups', `one waits for its turn, and ${mayHold.length} of ${this.#max} list again`)
    if (relists.slice(first).some((member) => !this.isWaiting(member)))
      violate('groups', 'one lists again before another that came earlier')
  }
}
