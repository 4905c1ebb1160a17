import type { Entry } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { DeclaredIndex } from './indexes/index-builder.js'
import type { Pin } from './pin.js'
import { pairsOf } from './store.js'
import type { StoreView } from './store-view.js'

/** A store at one version. It does not change until it is disposed, and keeps a copy of each key written meanwhile. */
export class Snapshot<T, I> implements StoreView<T, I>, Disposable {
  readonly #pin: Pin<T>
  readonly version: Version | undefined
  readonly by: I
  readonly declared: readonly DeclaredIndex<T>[]

  constructor(pin: Pin<T>, version: Version | undefined, declared: Iterable<DeclaredIndex<T>>) {
    this.#pin = pin
    this.declared = [...declared]
    this.version = version
    const by: Record<string, unknown> = Object.create(null)
    for (const { name, accessorAt } of this.declared) by[name] = accessorAt(pin)
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

  entry(key: string): Entry<T> | undefined {
    return this.#pin.entryOf(key)
  }

  keys(): IteratorObject<string, undefined> {
    return this.#pin.keys().values()
  }

  entries(): IteratorObject<[key: string, object: T], undefined> {
    return pairsOf(this.#pin.entries())
  }

  /** Reads entry by entry, unlike `entries`, which takes long for a million. It ends with the snapshot. */
  *walk(): Generator<Entry<T>, void> {
    const { ordinalStart, ordinalLimit } = this.#pin
    for (let ordinal = ordinalStart; ordinal < ordinalLimit; ordinal++) {
      const entry = this.#pin.entryAt(ordinal)
      if (entry !== undefined) yield entry
    }
  }

  list(): readonly T[] {
    return this.#pin.list()
  }

  [Symbol.dispose](): void {
    this.#pin.close()
  }
}
