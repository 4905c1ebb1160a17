import { LeaseTable } from '../../../adapters/memory/lease-table.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { LeaseRequest } from '../../../src/subscriptions/replicas/membership.js'
import type { Stream } from '../workload/random-decisions.js'
import type { ReplicaWorld } from './replica-world.js'
import type { SimulatedReplica } from './simulated-replica.js'

/** How often requests and replies are lost, late or repeated. */
export interface StoreFaults {
  /** The probability of a fault of one request. */
  readonly rate: number
  /** The longest delay of a late request or reply, in milliseconds. */
  readonly lateMs: number
}

const FAULTS = ['lost request', 'late request', 'lost reply', 'late reply', 'repeated request'] as const

/** The lease table behind a network that loses, delays and repeats messages, until faults are over. */
export class SimulatedStore {
  readonly table = new LeaseTable()
  isAvailable = true
  /** Added to the clock of the store. */
  clockStepMs = 0
  readonly #world: ReplicaWorld
  readonly #faults: StoreFaults
  /** Called with the sender after a write that other members want to know of. `released`: it claims no key any more. */
  readonly #news: (from: SimulatedReplica, released: string | undefined) => void

  constructor(
    world: ReplicaWorld,
    faults: StoreFaults,
    news: (from: SimulatedReplica, released: string | undefined) => void,
  ) {
    this.#world = world
    this.#faults = faults
    this.#news = news
  }

  renew(from: SimulatedReplica, { record, evict }: LeaseRequest, reply: (result: unknown) => void): void {
    const { clock, decisions } = this.#world
    const { random } = from
    const drawn = random.pick(FAULTS)
    const fault = this.#strikes(drawn, from) ? drawn : undefined
    const thereMs = this.#delayMs(random, fault === 'late request')
    const backMs = this.#delayMs(random, fault === 'late reply')
    // A late message that arrives after the faults is lost.
    const isLost = (): boolean => fault !== undefined && decisions.isQuiet
    const perform = (answer: (result: unknown) => void): void => {
      if (isLost()) return
      if (fault === 'late request') this.#world.mark('a late request was performed')
      const result = this.#perform(from, record, evict)
      clock.in(backMs, () => {
        if (!isLost()) answer(result)
      })
    }
    if (fault === 'lost request') return
    clock.in(thereMs, () => perform(fault === 'lost reply' ? () => {} : reply))
    // The network delivers the request once more, later.
    if (fault === 'repeated request')
      clock.in(thereMs + this.#delayMs(random, true), () => {
        this.#world.mark('a request was performed twice')
        perform(() => {})
      })
  }

  leave(from: SimulatedReplica, member: string): void {
    const isLate = this.#strikes('late leave', from)
    this.#world.clock.in(this.#delayMs(from.random, isLate), () => {
      if (this.isAvailable && this.table.leave(member)) this.#news(from, member)
    })
  }

  #strikes(fault: string, { name, random }: SimulatedReplica): boolean {
    const { decisions } = this.#world
    const strikes = random.chance(this.#faults.rate) && !decisions.isQuiet
    return strikes && decisions.take(`${fault}#${name}.${random.drawn}`)
  }

  #perform(from: SimulatedReplica, record: LeaseRequest['record'], evict: LeaseRequest['evict']): unknown {
    if (!this.isAvailable) return new SourceError('away', { code: 'UNAVAILABLE' })
    try {
      const now = this.#world.clock.elapsed + this.clockStepMs
      const { view, isChanged, hasReleased } = this.table.renew(record, evict, now)
      if (isChanged) this.#news(from, hasReleased ? record.member : undefined)
      return view
    } catch (error) {
      return error
    }
  }

  #delayMs(random: Stream, isLate: boolean): number {
    return isLate ? random.next() * this.#faults.lateMs : 1 + random.next() * 20
  }
}
