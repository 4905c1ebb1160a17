import type { ListEvent } from '../../contract/source.js'
import type { Ordinal } from '../ordinals.js'
import type { Store } from '../store.js'
import { type Undoable, UndoableMap, UndoJournal } from '../undo-journal.js'

/** A partition, as far as the ownership of keys needs it. */
export interface KeyOwner {
  /** Undefined if one source has the whole store. */
  readonly name: string | undefined
  readonly invalid: ReadonlyMap<string, unknown>
}

/**
 * The owner of each key. A single source owns all keys. Of several sources, the first that lists a key owns it until
 * that source deletes it. Events of other sources for that key are claims: they are remembered, and change nothing.
 */
export class KeyOwnership implements Undoable {
  readonly #store: Pick<Store<unknown>, 'size' | 'ordinalLimit' | 'entryAt'>
  readonly #invalid: ReadonlyMap<string, unknown>
  readonly #owners: (KeyOwner | undefined)[] = []
  readonly #journal = new UndoJournal<Ordinal, KeyOwner | undefined>()
  readonly #claims = new UndoableMap<string, ReadonlySet<KeyOwner>>()
  isShared = false

  constructor(store: Pick<Store<unknown>, 'size' | 'ordinalLimit' | 'entryAt'>, invalid: ReadonlyMap<string, unknown>) {
    this.#store = store
    this.#invalid = invalid
  }

  begin(): void {
    this.#journal.begin()
    this.#claims.begin()
  }

  commit(): void {
    this.#journal.commit()
    this.#claims.commit()
  }

  rollback(): void {
    this.#claims.rollback()
    this.#journal.rollback((ordinal, owner) => {
      this.#owners[ordinal] = owner
    })
  }

  owns(owner: KeyOwner, ordinal: Ordinal): boolean {
    return !this.isShared || this.#owners[ordinal] === owner
  }

  countOf(owner: KeyOwner): number {
    if (!this.isShared) return this.#store.size
    let count = 0
    for (let ordinal = 0; ordinal < this.#store.ordinalLimit; ordinal++) {
      if (this.#store.entryAt(ordinal) !== undefined && this.owns(owner, ordinal)) count++
    }
    return count
  }

  assign(owner: KeyOwner | undefined, ordinal: Ordinal): void {
    if (!this.isShared) return
    this.#journal.record(ordinal, this.#owners[ordinal])
    this.#owners[ordinal] = owner
  }

  /** Whether another source owns a key. A key whose object is invalid may have no ordinal. */
  isOwnedByOther(owner: KeyOwner, key: string, ordinal: Ordinal | undefined): boolean {
    if (!this.isShared) return false
    return ordinal === undefined ? this.#invalid.has(key) && !owner.invalid.has(key) : !this.owns(owner, ordinal)
  }

  /** Whether another source owns the key, so that the event changes only claims. A new claim is added to `claimed`. */
  isForeign(
    owner: KeyOwner,
    key: string,
    type: ListEvent<unknown>['type'],
    ordinal: Ordinal | undefined,
    claimed: string[],
  ): boolean {
    if (!this.isOwnedByOther(owner, key, ordinal)) return false
    if (type === 'delete') this.disclaim(owner, key)
    else if (this.#claim(owner, key)) claimed.push(key)
    return true
  }

  #claim(owner: KeyOwner, key: string): boolean {
    const claimants = this.#claims.get(key) ?? new Set<KeyOwner>()
    if (claimants.has(owner)) return false
    this.#claims.set(key, new Set(claimants).add(owner))
    return true
  }

  disclaim(owner: KeyOwner, key: string): void {
    if (this.#claims.get(key)?.has(owner) !== true) return
    const claimants = new Set(this.#claims.get(key))
    claimants.delete(owner)
    if (claimants.size === 0) this.#claims.delete(key)
    else this.#claims.set(key, claimants)
  }

  disclaimAll(owner: KeyOwner): void {
    for (const key of [...this.#claims.keys()]) this.disclaim(owner, key)
  }

  /** Removes the claims to a key without an owner, and returns them. */
  releaseClaims(key: string): ReadonlySet<KeyOwner> | undefined {
    const claimants = this.#claims.get(key)
    this.#claims.delete(key)
    return claimants
  }
}
