import { LeaseTable } from '../../../adapters/memory/lease-table.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { LeaseView } from '../../../src/contract/leases.js'
import type { LeaseRequest } from '../../../src/subscriptions/replicas/membership.js'
import type { SeededRandom } from '../../../testing/seeded-random.js'
import type { EventQueue } from './event-queue.js'

/** How often requests and replies are lost, late or repeated. */
export interface StoreFaults {
  /** The probability of a fault of one request. */
  rate: number
  /** The longest delay of a late request or reply, in milliseconds. */
  readonly lateMs: number
}

/** The lease table behind a network that loses, delays and repeats messages. */
export class SimulatedStore {
  readonly table = new LeaseTable()
  isAvailable = true
  /** When set, late messages are lost. */
  isQuiet = false
  /** Added to the clock of the store. */
  clockStepMs = 0
  readonly #events: EventQueue
  readonly #random: SeededRandom
  readonly #faults: StoreFaults
  /** Called with the sender after a write that other members want to know of. `released`: it claims no key any more. */
  readonly #news: (from: object, released: string | undefined) => void

  constructor(
    events: EventQueue,
    random: SeededRandom,
    faults: StoreFaults,
    news: (from: object, released: string | undefined) => void,
  ) {
    this.#events = events
    this.#random = random
    this.#faults = faults
    this.#news = news
  }

  renew(from: object, { record, evict }: LeaseRequest, reply: (result: LeaseView | unknown) => void): void {
    const random = this.#random
    const fault = random.chance(this.#faults.rate) ? random.below(5) : undefined
    const there = this.#delay(fault === 1)
    const back = this.#delay(fault === 3)
    const isLate = fault !== undefined
    const perform = (answer: (result: unknown) => void): void => {
      if (isLate && this.isQuiet) return
      const result = this.#perform(from, record, evict)
      this.#events.at(this.#events.now + back, () => (isLate && this.isQuiet ? undefined : answer(result)))
    }
    if (fault === 0) return
    this.#events.at(this.#events.now + there, () => perform(fault === 2 ? () => {} : reply))
    // The network delivers the request once more, later.
    if (fault === 4) this.#events.at(this.#events.now + there + this.#delay(true), () => perform(() => {}))
  }

  leave(from: object, member: string): void {
    this.#events.at(this.#events.now + this.#delay(this.#random.chance(this.#faults.rate)), () => {
      if (this.isAvailable && this.table.leave(member)) this.#news(from, member)
    })
  }

  #perform(from: object, record: LeaseRequest['record'], evict: LeaseRequest['evict']): unknown {
    if (!this.isAvailable) return new SourceError('away', { code: 'UNAVAILABLE' })
    try {
      const { view, isChanged, hasReleased } = this.table.renew(record, evict, this.#events.now + this.clockStepMs)
      if (isChanged) this.#news(from, hasReleased ? record.member : undefined)
      return view
    } catch (error) {
      return error
    }
  }

  #delay(isLate: boolean): number {
    return isLate ? this.#random.next() * this.#faults.lateMs : 1 + this.#random.next() * 20
  }
}
