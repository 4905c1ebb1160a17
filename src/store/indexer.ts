import { SourceError } from '../contract/errors.js'
import type { Entry, ListTransaction, Sink, WatchBatch } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { DeltaBatch } from '../queue/change.js'
import { finish, type Steps } from '../util/steps.js'
import { checkOptions, isFunction } from '../util/validate-options.js'
import { type DeclaredIndex, declareIndexes } from './indexes/index-builder.js'
import type { IndexBuilder } from './indexes/index-types.js'
import type { Pin } from './pin.js'
import { pairsOf, type Store } from './store.js'
import type { StoreView } from './store-view.js'
import { Partition } from './write/partition.js'
import { StoreWriter, type WriterOptions } from './write/store-writer.js'

/**
 * The indexed store, and the sink that a `Reflector` writes to. Each batch, and each list, becomes visible as a whole,
 * in one synchronous step. An object that is equal to the stored one does not replace it, and is not a change.
 *
 * Like all sinks it has one writer. It holds at most 16 million objects.
 *
 * @example
 * ```ts
 * import { type IndexBuilder, Indexer, Reflector } from 'listwatch'
 *
 * const indexes = (ix: IndexBuilder<Order>) => ({ tenant: ix.equal((order) => order.tenant) })
 * const store = new Indexer({ indexes })
 * const mirroring = new Reflector(source, store).run({ signal })
 * console.log(store.by.tenant('acme').length)
 * ```
 */
export class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
  readonly by: I & object
  /** @internal */
  readonly writer: StoreWriter<T>
  /** @internal */
  readonly store: Store<T>
  /** @internal The partition of a single source: the whole store. */
  readonly whole: Partition<T>

  constructor(options?: { readonly indexes?: (ix: IndexBuilder<T>) => I })
  /** @internal */
  constructor(options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined }, hooks: WriterOptions<T>)
  constructor(
    options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined } = {},
    hooks: WriterOptions<T> = {},
  ) {
    checkOptions('new Indexer', options, { indexes: isFunction })
    this.writer = new StoreWriter(hooks)
    this.store = this.writer.store
    this.whole = new Partition(this.writer)
    this.by = Object.create(null) as I & object
    const declare = options.indexes as ((ix: IndexBuilder<T>) => I & object) | undefined
    if (declare !== undefined) finish(this.#declare(declare))
  }

  get(key: string): T | undefined {
    return this.store.readers.entryOf(key)?.object
  }

  has(key: string): boolean {
    return this.store.readers.entryOf(key) !== undefined
  }

  get size(): number {
    return this.store.readers.size
  }

  get version(): Version | undefined {
    return this.whole.version
  }

  entry(key: string): Entry<T> | undefined {
    const { readers } = this.store
    // Not `entryOf`: the function of a view may read an object, and not its version, which changes without a commit.
    const ordinal = readers.ordinalOf(key)
    return ordinal === undefined ? undefined : readers.entryAt(ordinal)
  }

  keys(): IteratorObject<string, undefined> {
    return this.store.readers.keys().values()
  }

  entries(): IteratorObject<[key: string, object: T], undefined> {
    return pairsOf(this.store.readers.entries())
  }

  list(): readonly T[] {
    return this.store.readers.list()
  }

  /** @internal */
  get invalid(): ReadonlyMap<string, SourceError> {
    return this.store.isVisible ? this.writer.invalid : new Map()
  }

  /** @internal */
  get declared(): ReadonlyMap<string, DeclaredIndex<T>> {
    return this.writer.indexes
  }

  /** @internal */
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X> {
    if (this.declared.has(name)) throw new TypeError(`addIndex: there is an index "${name}" already`)
    this.writer.assertNotWriting('addIndex')
    return this.#addIndex(name, build)
  }

  async #addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X> {
    let built: { readonly index: X } | undefined
    const declare = (ix: IndexBuilder<T>): Record<string, X> => {
      if (this.declared.has(name)) throw new TypeError(`addIndex: there is an index "${name}" already`)
      built = { index: build(ix) }
      return { [name]: built.index }
    }
    await this.writer.write('addIndex', this.store.size, () => this.#declare(declare))
    if (built === undefined) throw new Error('an index was not built')
    return built.index
  }

  /** @internal */
  snapshot(): Snapshot<T, I> {
    this.writer.assertNotWriting('snapshot')
    return new Snapshot<T, I>(this.store.readers.pin(), this.version, this.declared.values())
  }

  /** @internal Adds the partition of one of several sources. */
  partition(name: string): Partition<T> {
    this.writer.ownership.isShared = true
    return new Partition(this.writer, name)
  }

  apply(batch: WatchBatch<T> | DeltaBatch<T>): void | Promise<void> {
    return this.whole.apply(batch)
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): ListTransaction<T> {
    return this.whole.replace({ ignoreVersions })
  }

  *#declare(declare: (ix: IndexBuilder<T>) => object): Steps {
    const { by, declared } = declareIndexes(this.store, declare, (message, cause, key) => {
      const full = `${message}; such objects are not in this index`
      this.writer.warn(new SourceError(full, { code: 'DECODE', phase: 'apply', cause, key }))
    })
    for (const { index } of declared) {
      yield* this.store.addIndex(index)
      if (index.prepare !== undefined) yield* index.prepare()
    }
    for (const index of declared) this.writer.indexes.set(index.name, index)
    Object.assign(this.by, by)
  }
}

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
