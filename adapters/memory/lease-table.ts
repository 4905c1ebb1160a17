import { type Eviction, LeaseLostError, type LeaseRecord, type LeaseView } from '../../src/contract/leases.js'
import { encodeBody } from '../common/lease-records.js'

interface Stored {
  readonly record: LeaseRecord
  readonly writtenAt: number
}

/** How many states of the past a fork can return to. */
const MAX_HISTORY = 32

export class LeaseTable {
  #records: ReadonlyMap<string, Stored> = new Map()
  /** The earlier states, the oldest first. */
  #history: ReadonlyMap<string, Stored>[] = []
  #fence = 0
  #epoch = 1

  get records(): readonly LeaseRecord[] {
    return [...this.#records.values()].map(({ record }) => record)
  }

  /** `isChanged`: other members are notified. `hasReleased`: the member claims no key. */
  renew(
    record: LeaseRecord,
    evict: readonly Eviction[],
    now: number,
  ): { readonly view: LeaseView; readonly isChanged: boolean; readonly hasReleased: boolean } {
    const { member, renewal } = record
    const last = this.#records.get(member)?.record
    if (last === undefined ? renewal !== 0 : last.renewal >= renewal) {
      const why = last === undefined ? 'is missing' : `has renewal ${last.renewal}, and ${renewal} was sent`
      throw new LeaseLostError(`the record of ${member} ${why}`)
    }
    const next = new Map(this.#records)
    const gone = evict.filter(
      (each) => each.member !== member && next.get(each.member)?.record.renewal === each.renewal,
    )
    for (const each of gone) next.delete(each.member)
    next.set(member, { record, writtenAt: now })
    this.#write(next)
    const isChanged = gone.length > 0 || last === undefined || encodeBody(last) !== encodeBody(record)
    return { view: this.#view(now), isChanged, hasReleased: record.members.length === 0 }
  }

  leave(member: string): boolean {
    if (!this.#records.has(member)) return false
    const next = new Map(this.#records)
    next.delete(member)
    this.#write(next)
    return true
  }

  /** Loses the last writes, at most those that are remembered, and starts a new epoch. Fences still grow. */
  fork(writes: number): void {
    const [state, ...later] = this.#history.slice(-writes)
    if (state !== undefined) {
      this.#records = state
      this.#history = this.#history.slice(0, this.#history.length - later.length - 1)
    }
    this.#epoch++
  }

  #write(next: ReadonlyMap<string, Stored>): void {
    this.#history.push(this.#records)
    if (this.#history.length > MAX_HISTORY) this.#history.shift()
    this.#records = next
  }

  #view(now: number): LeaseView {
    const records = [...this.#records.values()].map(({ record, writtenAt }) => ({
      ...record,
      ageMs: Math.max(0, now - writtenAt),
    }))
    return { fence: ++this.#fence, epoch: String(this.#epoch), records }
  }
}
