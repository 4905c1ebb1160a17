import type { LeaseRecord } from '../../contract/leases.js'
import { hashOf, isSameList, Owners, type ReplicaMode } from './owners.js'

/** Which keys a member may run, as long as its lease is valid. Immutable. */
export class Ownership {
  readonly #member: string
  /** The member must own a key by each of them: those of all records that may be in the store. */
  readonly #claims: readonly Owners[]
  readonly #rivals: readonly Rival[]
  /** The ownership of the last view. `within` only takes keys from it. */
  readonly #origin: Ownership

  private constructor(member: string, claims: readonly Owners[], rivals: readonly Rival[], origin?: Ownership) {
    this.#member = member
    this.#claims = claims
    this.#rivals = rivals
    this.#origin = origin ?? this
  }

  static readonly none: Ownership = new Ownership('', [], [])

  static after(mode: ReplicaMode, member: string, claim: Owners, records: readonly LeaseRecord[]): Ownership {
    if (claim.members.length === 0) return Ownership.none
    const rivals = records.flatMap((record) => {
      const all = new Owners(mode, record.members)
      // By the same members no other member owns a key of this one.
      const owners = all.members.length === 0 || isSameList(all.members, claim.members) ? undefined : all
      const isRival = record.member !== member && (owners !== undefined || record.holds.length > 0)
      return isRival ? { member: record.member, owners, holds: new Set(record.holds) } : []
    })
    return new Ownership(member, [claim], rivals)
  }

  within(claim: Owners): Ownership {
    if (this.#claims.some(({ members }) => isSameList(members, claim.members))) return this
    if (this === Ownership.none || claim.members.length === 0) return Ownership.none
    return new Ownership(this.#member, [...this.#claims, claim], this.#rivals, this.#origin)
  }

  includes(key: string, hash: number = hashOf(key)): boolean {
    return this.includesHash(hash) && !this.isHeld(key)
  }

  /** Whether another member still runs the key, although it may not own it any more. */
  isHeld(key: string): boolean {
    return this.#rivals.some(({ holds }) => holds.has(key))
  }

  /** The same, if no other member holds a key with this hash. */
  includesHash(hash: number): boolean {
    return (
      this.#claims.length > 0 &&
      this.#claims.every((claim) => claim.owns(this.#member, hash)) &&
      !this.#rivals.some(({ member, owners }) => owners?.owns(member, hash) === true)
    )
  }

  /** Whether it has no key that `other` does not have, if `other` was the ownership before. */
  onlyLosesFrom(other: Ownership): boolean {
    return this.#origin === other.#origin
  }

  isSame(other: Ownership): boolean {
    return this.#text === other.#text
  }

  get #text(): string {
    const rivals = this.#rivals.map(({ member, owners, holds }) => [member, owners?.members, [...holds]])
    return JSON.stringify([this.#member, this.#claims.map(({ members }) => members), rivals])
  }
}

/** The record of another member, which must not claim or hold a key. */
interface Rival {
  readonly member: string
  readonly owners: Owners | undefined
  readonly holds: ReadonlySet<string>
}
