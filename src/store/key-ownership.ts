import type { ListEvent } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { Ordinal, Store } from './store.js'
import { Journal, type Undoable, UndoableMap } from './undo-journal.js'

/** What one source gave to a store. */
export interface Part {
  /** Undefined where one source has the whole store. */
  readonly name: string | undefined
  version: Version | undefined
  /** Keys of objects that are invalid, with their versions. */
  readonly invalid: UndoableMap<string, Version | undefined>
  /** Keys that `prepare` left out, where somebody wants to know. */
  readonly omitted: UndoableMap<string, Version | undefined>
}

export function newPart(name?: string): Part {
  return { name, version: undefined, invalid: new UndoableMap(), omitted: new UndoableMap() }
}

/**
 * Whose each key is: all of one source, or over several that of the source that gave it first, until that source takes it
 * back; what others say of it meanwhile is a claim, and changes nothing.
 */
export class Ownership implements Undoable {
  readonly #store: Pick<Store<unknown>, 'size' | 'ordinalLimit' | 'entryAt'>
  /** Keys of objects that are invalid, of all sources. */
  readonly #invalid: ReadonlyMap<string, unknown>
  readonly #owners: (Part | undefined)[] = []
  readonly #journal = new Journal<Ordinal, Part | undefined>()
  readonly #claims = new UndoableMap<string, ReadonlySet<Part>>()
  #isShared = false

  constructor(store: Pick<Store<unknown>, 'size' | 'ordinalLimit' | 'entryAt'>, invalid: ReadonlyMap<string, unknown>) {
    this.#store = store
    this.#invalid = invalid
  }

  begin(): void {
    this.#journal.begin()
    this.#claims.begin()
  }

  end(): void {
    this.#journal.end()
    this.#claims.end()
  }

  undo(): void {
    this.#claims.undo()
    this.#journal.undo((ordinal, owner) => {
      this.#owners[ordinal] = owner
    })
  }

  /** Whether there are several sources. */
  get isShared(): boolean {
    return this.#isShared
  }

  /** From now on there are. */
  share(): void {
    this.#isShared = true
  }

  remove(part: Part): void {
    for (const key of [...this.#claims.keys()]) this.disclaim(part, key)
  }

  owns(part: Part, ordinal: Ordinal): boolean {
    return !this.#isShared || this.#owners[ordinal] === part
  }

  sizeOf(part: Part): number {
    if (!this.#isShared) return this.#store.size
    let size = 0
    for (let ordinal = 0; ordinal < this.#store.ordinalLimit; ordinal++) {
      if (this.#store.entryAt(ordinal) !== undefined && this.owns(part, ordinal)) size++
    }
    return size
  }

  set(part: Part | undefined, ordinal: Ordinal): void {
    if (!this.#isShared) return
    this.#journal.note(ordinal, this.#owners[ordinal])
    this.#owners[ordinal] = part
  }

  /** Whether another source has a key; one whose object is invalid may have no place in the store. */
  isOthers(part: Part, key: string, ordinal: Ordinal | undefined): boolean {
    if (!this.#isShared) return false
    return ordinal === undefined ? this.#invalid.has(key) && !part.invalid.has(key) : !this.owns(part, ordinal)
  }

  /** Whether an event is about what another source gave, and so changes nothing. A claim that is news goes to `claimed`. */
  isForeign(
    key: string,
    type: ListEvent<unknown>['type'],
    ordinal: Ordinal | undefined,
    { part, claimed }: { readonly part: Part; readonly claimed: string[] },
  ): boolean {
    if (!this.isOthers(part, key, ordinal)) return false
    if (type === 'delete') this.disclaim(part, key)
    else if (this.#claim(part, key)) claimed.push(key)
    return true
  }

  /** Remembers that `part` gives a key that is another's. Whether that is news. */
  #claim(part: Part, key: string): boolean {
    const claimants = this.#claims.get(key) ?? new Set<Part>()
    if (claimants.has(part)) return false
    this.#claims.set(key, new Set(claimants).add(part))
    return true
  }

  disclaim(part: Part, key: string): void {
    if (this.#claims.get(key)?.has(part) !== true) return
    const claimants = new Set(this.#claims.get(key))
    claimants.delete(part)
    if (claimants.size === 0) this.#claims.delete(key)
    else this.#claims.set(key, claimants)
  }

  /** The claims to a key that is nobody's any more; they are forgotten. */
  release(key: string): ReadonlySet<Part> | undefined {
    const claimants = this.#claims.get(key)
    this.#claims.delete(key)
    return claimants
  }
}
