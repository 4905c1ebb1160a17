import { SourceError } from '../contract/errors.js'
import type { Entry, ListTransaction, Sink, WatchBatch } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { DeltaBatch } from '../queue/change.js'
import { checkOptions, isFunction } from '../util/validate-options.js'
import { type DeclaredIndex, declareIndexes } from './indexes/index-builder.js'
import type { IndexBuilder } from './indexes/index-types.js'
import { Partition } from './partition.js'
import { Snapshot } from './snapshot.js'
import { pairsOf, Store } from './store.js'
import type { StoreView } from './store-view.js'
import { StoreWriter, type WriterHooks } from './store-writer.js'

/**
 * The indexed store, and the sink that a `Reflector` writes to. Each batch, and each list, becomes visible as a whole, in
 * one synchronous step. An object that is equal to the stored one does not replace it, and is not a change.
 *
 * Like all sinks it has one writer. It holds at most 16 million objects.
 */
export class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
  readonly by: I
  /** @internal */
  readonly writer: StoreWriter<T>
  /** @internal */
  readonly store: Store<T>
  /** @internal The partition of a single source: the whole store. */
  readonly whole: Partition<T>
  readonly #declared = new Map<string, DeclaredIndex<T>>()

  constructor(options?: { readonly indexes?: (ix: IndexBuilder<T>) => I })
  /** @internal */
  constructor(options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined }, hooks: WriterHooks<T>)
  constructor(
    options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined } = {},
    hooks: WriterHooks<T> = {},
  ) {
    checkOptions('new Indexer', options, { indexes: isFunction })
    this.writer = new StoreWriter(hooks)
    this.store = this.writer.store
    this.whole = new Partition(this.writer)
    const declare = options.indexes as ((ix: IndexBuilder<T>) => I & object) | undefined
    this.by = declare === undefined ? (Object.create(null) as I) : this.#declare(declare)
  }

  get(key: string): T | undefined {
    return this.store.isVisible ? this.store.entryOf(key)?.object : undefined
  }

  has(key: string): boolean {
    return this.store.isVisible && this.store.ordinalOf(key) !== undefined
  }

  get size(): number {
    return this.store.isVisible ? this.store.size : 0
  }

  get version(): Version | undefined {
    return this.whole.version
  }

  entry(key: string): Entry<T> | undefined {
    return this.store.isVisible ? this.store.entryOf(key) : undefined
  }

  keys(): IteratorObject<string, undefined> {
    return (this.store.isVisible ? this.store.keys() : []).values()
  }

  entries(): IteratorObject<[key: string, object: T], undefined> {
    return pairsOf(this.store.isVisible ? this.store.entries() : [])
  }

  list(): readonly T[] {
    return this.store.isVisible ? this.store.list() : []
  }

  /** @internal */
  get invalid(): ReadonlyMap<string, SourceError> {
    return this.store.isVisible ? this.writer.invalid : new Map()
  }

  /** @internal */
  get declared(): ReadonlyMap<string, DeclaredIndex<T>> {
    return this.#declared
  }

  /** @internal */
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X {
    if (this.#declared.has(name)) throw new TypeError(`addIndex: there is an index "${name}" already`)
    return this.writer.runExclusive(
      'addIndex',
      () => (this.#declare((ix) => ({ [name]: build(ix) })) as Record<string, X>)[name] as X,
    )
  }

  /** @internal */
  snapshot(): StoreView<T, I> & Disposable {
    this.writer.assertNotWriting('snapshot')
    return new Snapshot<T, I>(
      this.store.isVisible ? this.store.pin() : new Store<T>().pin(),
      this.version,
      this.#declared.values(),
    )
  }

  /** @internal Adds the partition of one of several sources. */
  partition(name: string): Partition<T> {
    this.writer.ownership.share()
    return new Partition(this.writer, name)
  }

  apply(batch: WatchBatch<T> | DeltaBatch<T>): void {
    this.whole.apply(batch)
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): ListTransaction<T> {
    return this.whole.replace({ ignoreVersions })
  }

  #declare<X extends object>(declare: (ix: IndexBuilder<T>) => X): X {
    const { by, declared } = declareIndexes(this.store, declare, (message, cause, key) => {
      const full = `${message}; such objects are not in this index`
      this.writer.warn(new SourceError(full, { code: 'DECODE', phase: 'apply', cause, key }))
    })
    for (const index of declared) this.#declared.set(index.name, index)
    if (this.by !== undefined) Object.assign(this.by as object, by)
    return by
  }
}
