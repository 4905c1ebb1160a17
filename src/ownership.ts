import type { Ordinal } from './store.js'
import type { Version } from './version.js'

/** What one source gave to a store. */
export interface Part {
  /** Undefined where one source has the whole store. */
  readonly name: string | undefined
  version: Version | undefined
  /** Keys of objects that are invalid, with their versions. */
  readonly invalid: Map<string, Version | undefined>
  /** Keys that `prepare` left out, where somebody wants to know. */
  readonly omitted: Map<string, Version | undefined>
}

export function newPart(name?: string): Part {
  return { name, version: undefined, invalid: new Map(), omitted: new Map() }
}

/**
 * Over several sources: whose each key is. A key belongs to the source that gave it first, until that source takes it
 * back; what others say of it meanwhile is a claim, and changes nothing.
 */
export class Ownership {
  readonly #owners: (Part | undefined)[] = []
  readonly #claims = new Map<string, Set<Part>>()

  remove(part: Part): void {
    for (const [key, claimants] of this.#claims) {
      claimants.delete(part)
      if (claimants.size === 0) this.#claims.delete(key)
    }
  }

  isOwner(part: Part, ordinal: Ordinal): boolean {
    return this.#owners[ordinal] === part
  }

  set(part: Part | undefined, ordinal: Ordinal): void {
    this.#owners[ordinal] = part
  }

  /** Remembers that `part` gives a key that is another's. Whether that is news. */
  claim(part: Part, key: string): boolean {
    const claimants = this.#claims.get(key) ?? new Set()
    if (claimants.has(part)) return false
    this.#claims.set(key, claimants.add(part))
    return true
  }

  disclaim(part: Part, key: string): void {
    const claimants = this.#claims.get(key)
    claimants?.delete(part)
    if (claimants?.size === 0) this.#claims.delete(key)
  }

  /** The claims to a key that is nobody's any more; they are forgotten. */
  release(key: string): ReadonlySet<Part> | undefined {
    const claimants = this.#claims.get(key)
    this.#claims.delete(key)
    return claimants
  }
}
