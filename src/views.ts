import type { DeclaredIndex } from './index-builder.js'
import type { Entry } from './source.js'
import type { Pin } from './store.js'
import type { Version } from './version.js'

/**
 * What can be asked of a store. Every answer is taken at the call from a state that the source had: no read sees part of
 * a list, nor part of a batch.
 */
export interface StoreView<T, I = {}> {
  get(key: string): T | undefined
  has(key: string): boolean
  readonly size: number
  /** Where the source was when it looked like this; undefined before the first list, and over several sources. */
  readonly version: Version | undefined
  keys(): Iterable<string>
  entries(): Iterable<Entry<T>>
  /** All objects. The array is shared between calls until something changes; in development it is frozen. */
  list(): readonly T[]
  /** The declared indexes by their names. */
  readonly by: I
}

/** A store at one moment; it stays as it is until it is disposed, and costs a note for each key written meanwhile. */
export class Snapshot<T, I> implements StoreView<T, I>, Disposable {
  readonly #pin: Pin<T>
  readonly version: Version | undefined
  readonly by: I
  #list: readonly T[] | undefined

  constructor(pin: Pin<T>, version: Version | undefined, declared: Iterable<DeclaredIndex<T>>) {
    this.#pin = pin
    this.version = version
    const by: Record<string, unknown> = Object.create(null)
    for (const { name, accessorAt } of declared) by[name] = accessorAt(pin)
    this.by = by as I
  }

  get size(): number {
    return this.#pin.size
  }

  get(key: string): T | undefined {
    return this.#pin.entryOf(key)?.object
  }

  has(key: string): boolean {
    return this.#pin.entryOf(key) !== undefined
  }

  keys(): Iterable<string> {
    return this.#pin.entries().map((entry) => entry.key)
  }

  entries(): Iterable<Entry<T>> {
    return this.#pin.entries()
  }

  list(): readonly T[] {
    this.#list ??= this.#pin.list()
    return this.#list
  }

  [Symbol.dispose](): void {
    this.#list = undefined
    this.#pin.close()
  }
}
