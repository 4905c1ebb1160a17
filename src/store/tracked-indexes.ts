import type { DeclaredIndex } from './indexes/index-builder.js'

/** The indexes whose values are added to all commits, with the number of users of each. */
export class TrackedIndexes<T> {
  readonly #users = new Map<DeclaredIndex<T>, number>()
  #all: readonly DeclaredIndex<T>[] = []

  /** The array is never changed. */
  get all(): readonly DeclaredIndex<T>[] {
    return this.#all
  }

  /** Adds a user of an index. Returns a function that removes this user. */
  add(index: DeclaredIndex<T>): () => void {
    this.#addUsers(index, 1)
    return () => this.#addUsers(index, -1)
  }

  #addUsers(index: DeclaredIndex<T>, added: number): void {
    const before = this.#users.get(index) ?? 0
    const users = before + added
    if (users === 0) this.#users.delete(index)
    else this.#users.set(index, users)
    if (before === 0 || users === 0) this.#all = [...this.#users.keys()]
  }
}
