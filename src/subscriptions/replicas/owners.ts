import type { Leases } from '../../contract/leases.js'

export type ReplicaMode = Leases['mode']

/** In mode `share` it is rendezvous hashing: a member that joins or leaves moves only the keys that it owns. */
export class Owners {
  readonly members: readonly string[]
  readonly #mode: ReplicaMode
  readonly #seeds: readonly number[]

  constructor(mode: ReplicaMode, members: readonly string[]) {
    this.members = [...new Set(members)].sort()
    this.#mode = mode
    this.#seeds = this.members.map(hashOf)
  }

  owns(member: string, hash: number): boolean {
    const own = this.members.indexOf(member)
    if (own === -1) return false
    if (this.#mode === 'leader') return own === 0
    const score = mix(hash ^ (this.#seeds[own] ?? 0))
    // A loop without closures: it runs for every key when members change.
    for (let at = 0; at < this.#seeds.length; at++) {
      const other = mix(hash ^ (this.#seeds[at] ?? 0))
      if (other > score || (other === score && at < own)) return false
    }
    return true
  }
}

export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, at) => each === b[at])
}

/** A hash of 32 bits (FNV-1a of the UTF-16 code units, then mixed). Every replica must compute the same. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return mix(hash)
}

/** Spreads all bits of a number of 32 bits (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
