import type { DeclaredIndex } from './indexes/index-builder.js'

/**
 * The indexes of a store by name, and those whose values are added to all commits, with the number of users of each.
 */
export class DeclaredIndexes<T> {
  readonly byName: Map<string, DeclaredIndex<T>> = new Map()
  readonly #users = new Map<DeclaredIndex<T>, number>()
  #tracked: readonly DeclaredIndex<T>[] = []

  /** The tracked indexes. The array is never changed. */
  get tracked(): readonly DeclaredIndex<T>[] {
    return this.#tracked
  }

  /** Adds a user of an index. Returns a function that removes this user. */
  track(index: DeclaredIndex<T>): () => void {
    this.#addUsers(index, 1)
    return () => this.#addUsers(index, -1)
  }

  #addUsers(index: DeclaredIndex<T>, added: number): void {
    const before = this.#users.get(index) ?? 0
    const users = before + added
    if (users === 0) this.#users.delete(index)
    else this.#users.set(index, users)
    if (before === 0 || users === 0) this.#tracked = [...this.#users.keys()]
  }
}
