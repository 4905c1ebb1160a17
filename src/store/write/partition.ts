import { systemClock } from '../../contract/clock.js'
import { messageOf, SourceError } from '../../contract/errors.js'
import type { PackedPart, SavedEntry, SavedInvalid, SavedRecord } from '../../contract/mirror-cache.js'
import type { Entry, ListEvent, ListTransaction, Sink, WatchBatch, WatchEvent } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import { type Delta, type DeltaBatch, namedInvalid } from '../../queue/change.js'
import { DEFAULT_SLICES, finish, inSteps, performSlice, type Steps } from '../../util/steps.js'
import type { DeclaredIndex } from '../indexes/index-builder.js'
import type { StoreIndex } from '../indexes/store-index.js'
import type { Ordinal } from '../ordinals.js'
import { KeptBase } from '../packed/kept-base.js'
import { type NamedIndex, pack } from '../packed/pack.js'
import type { PackedIndex, PackedSnapshot } from '../packed/packed-snapshot.js'
import type { Pin } from '../pin.js'
import { type PinnedMap, UndoableMap } from '../undo-journal.js'
import type { CommitGroup, CommitOrigin } from './commit.js'
import { FILTERED, UNCHANGED } from './ingest.js'
import { KeyMarks } from './key-marks.js'
import { InitialList, type ListWriter, Relist } from './list-writer.js'
import type { OnCommit, StoreWriter, WriteRecord } from './store-writer.js'
import { StoreTransaction, type WritablePartition } from './transaction.js'

/** About this number of objects have their values compared with those of each saved index. */
const SAMPLES = 64
/** And this number of saved values of each index with those of their objects. */
const VALUE_SAMPLES = 16

interface ArrivedBatch<T> {
  readonly events: readonly WatchEvent<T>[]
  readonly version: Version | undefined
  readonly committedAt: number | undefined
}

/** The sink of a reflector: the objects of one source in a store. A single source has the whole store. */
export class Partition<T> implements Sink<T>, WritablePartition<T> {
  readonly name: string | undefined
  version: Version | undefined
  readonly invalid: Map<string, Version | undefined> = new Map()
  readonly filtered: UndoableMap<string, Version | undefined> = new UndoableMap()
  onCommit: OnCommit<T> | undefined
  /** The group of the next batch or list: it is written together with those of other stores. */
  group: CommitGroup | undefined
  readonly #writer: StoreWriter<T>
  /** Whether the store is being filled with saved content that readers see already. */
  isFilling = false

  constructor(writer: StoreWriter<T>, name?: string) {
    this.#writer = writer
    this.name = name
    this.onCommit = writer.hooks.onCommit
  }

  get size(): number {
    return this.#writer.ownership.countOf(this)
  }

  owns(ordinal: Ordinal): boolean {
    return this.#writer.ownership.owns(this, ordinal)
  }

  /** The owner of the key may be another source. A right `guess` needs no hash of the key. */
  ordinalOf(key: string, guess?: Ordinal): Ordinal | undefined {
    return this.#writer.store.ordinalOf(key, guess)
  }

  entryOf(key: string): Entry<T> | undefined {
    return this.entryAt(this.ordinalOf(key))
  }

  entryAt(ordinal: Ordinal | undefined): Entry<T> | undefined {
    return ordinal !== undefined && this.owns(ordinal) ? this.#writer.store.entryAt(ordinal) : undefined
  }

  /** Whether this source's object there has this key and version, and no later object was not stored. */
  hasVersionAt(ordinal: Ordinal, key: string, version: Version): boolean {
    const entry = this.#writer.store.entryAt(ordinal)
    if (entry === undefined || entry.version !== version || entry.key !== key) return false
    return this.owns(ordinal) && this.unstored(key) === undefined
  }

  noKeys(): KeyMarks {
    const { ordinalStart, ordinalLimit } = this.#writer.store
    return new KeyMarks(ordinalLimit, ordinalStart)
  }

  /** Returns the keys of its stored and of its invalid objects that are not in `marks`. */
  *keysOutside(marks: KeyMarks): Generator<string> {
    const { store } = this.#writer
    for (let ordinal = store.ordinalStart; ordinal < store.ordinalLimit; ordinal++) {
      if (marks.hasOrdinal(ordinal)) continue
      const entry = this.entryAt(ordinal)
      if (entry !== undefined) yield entry.key
    }
    for (const key of this.invalid.keys()) if (store.ordinalOf(key) === undefined && !marks.hasOther(key)) yield key
  }

  isOwnedByOther(key: string, ordinal: Ordinal | undefined): boolean {
    return this.#writer.ownership.isOwnedByOther(this, key, ordinal)
  }

  isInvalid(key: string): boolean {
    return this.invalid.has(key)
  }

  /** Returns the version of an object that is invalid or filtered out; undefined for all other keys. */
  unstored(key: string): { readonly version: Version | undefined } | undefined {
    if (this.invalid.size > 0 && this.invalid.has(key)) return { version: this.invalid.get(key) }
    return this.filtered.size > 0 && this.filtered.has(key) ? { version: this.filtered.get(key) } : undefined
  }

  /** Whether the store would not change if this object arrived. */
  isUpToDate(arrived: Entry<unknown>): boolean {
    const current = this.entryOf(arrived.key)
    const result = this.#writer.ingest.ingest(arrived, current, true)
    const isInvalid = this.isInvalid(arrived.key)
    if (isInvalid || result instanceof SourceError) return isInvalid && result instanceof SourceError
    if (result === UNCHANGED) return true
    return result === FILTERED ? current === undefined : result.object === current?.object
  }

  get isBusy(): boolean {
    return this.#writer.isBusy
  }

  async idle(): Promise<void> {
    while (this.#writer.isBusy) await this.#writer.idle()
  }

  recordWrites(): WriteRecord {
    return this.#writer.recordWrites(this)
  }

  apply(batch: WatchBatch<T> | DeltaBatch<T>): void | Promise<void> {
    const events = 'deltas' in batch ? batch.deltas.map(eventOf) : batch.events
    let size = events.length
    for (const event of events) if (event.type === 'replace') size += event.entries.length + this.size
    const committedAt = 'deltas' in batch ? undefined : batch.committedAt
    const arrived = { events, version: batch.version, committedAt }
    const group = this.#takeGroup()
    if (group !== undefined) {
      const commit = { version: batch.version ?? this.version, committedAt }
      return group.add(this, { writer: this.#writer, size, begin: () => this.#written(arrived), ...commit })
    }
    return this.#writer.write(
      'apply',
      size,
      () => this.#apply(arrived),
      () => this.#applyNow(arrived),
    )
  }

  #takeGroup(): CommitGroup | undefined {
    const { group } = this
    this.group = undefined
    return group
  }

  /** The same as all steps of `#apply`. */
  #applyNow(arrived: ArrivedBatch<T>): Steps | undefined {
    const { events, version, committedAt } = arrived
    const transaction = new StoreTransaction(this.#writer, this, 'watch', { version })
    for (const event of events) {
      if (event.type === 'replace') finish(transaction.replace(event.entries, namedInvalid(events)))
      else transaction.apply(event)
    }
    return transaction.commitNow(version ?? this.version, committedAt)
  }

  *#apply(arrived: ArrivedBatch<T>): Steps {
    const { version, committedAt } = arrived
    const transaction = yield* this.#written(arrived)
    yield* transaction.commit(version ?? this.version, committedAt)
  }

  *#written(arrived: ArrivedBatch<T>): Generator<void, StoreTransaction<T>> {
    const { events, version } = arrived
    const transaction = new StoreTransaction(this.#writer, this, 'watch', { version })
    for (const event of events) {
      if (event.type === 'replace') yield* transaction.replace(event.entries, namedInvalid(events))
      else transaction.apply(event)
      yield
    }
    return transaction
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): ListTransaction<T> {
    const writer = this.#writer
    const isFirst = writer.commits === 0 && writer.store.size === 0 && !writer.ownership.isShared
    const list = isFirst ? new InitialList(writer, this) : new Relist(writer, this, ignoreVersions)
    return {
      ...this.#pagesOf<ListEvent<T>>('page', list, (event) => list.take(event)),
      commit: (version) => {
        const group = this.#takeGroup()
        const { size } = list
        if (group === undefined) return writer.write('commit', size, () => committed(list, version))
        return group.add(this, { writer, size, begin: () => list.write(version), version, committedAt: undefined })
      },
    }
  }

  /** Fills the empty store with a saved mirror. Its objects are not converted, and become visible with `commit`. */
  restore(version: Version): {
    page(records: readonly SavedRecord[]): void | Promise<void>
    commit(): void | Promise<void>
    abandon(): void
  } {
    const writer = this.#writer
    const list = new InitialList(writer, this)
    return {
      ...this.#pagesOf<SavedRecord>('restore', list, (record) => list.restore(record)),
      commit: () => writer.write('commit', list.size, () => committed(list, version)),
    }
  }

  /** What all lists have in common, whatever their pages contain. */
  #pagesOf<E>(call: string, list: ListWriter<T>, take: (element: E) => void) {
    const writer = this.#writer
    return {
      page: (elements: readonly E[]) =>
        writer.write(
          call,
          0,
          () => inSteps(elements, take),
          () => void elements.forEach(take),
        ),
      abandon: () => {
        if (!writer.isAbandoned)
          writer.write('abandon', 0, () => inSteps([list], () => list.abandon()))?.catch(() => {})
      },
    }
  }

  /**
   * Shows packed content in place; an object that cannot be decoded is reported, and absent. `shown` resolves when
   * readers see it, `filled` when the store has it and can be written, `released` when it is not read any more. With
   * `keep` the store is not filled: the content is released when all its objects were overwritten or deleted.
   */
  serve(
    snapshot: PackedSnapshot,
    version: Version,
    onDamage: (error: unknown) => void,
    { keep = false }: { readonly keep?: boolean | undefined } = {},
  ): { readonly shown: Promise<void>; readonly filled: Promise<void>; readonly released: Promise<void> } {
    const writer = this.#writer
    const { store, ingest } = writer
    if (snapshot.size > store.freeCapacity) throw store.overflowError()
    const restored = ingest.restored.bind(ingest)
    const indexes = packedIndexesOf<T>(snapshot, writer.indexes.values(), restored)
    const released = Promise.withResolvers<void>()
    const base = new KeptBase<T>({ snapshot, restored, onDamage, onReleased: released.resolve })
    const shown = Promise.resolve(writer.write('restore', Infinity, () => this.#show(base, version, indexes)))
    shown.catch(released.resolve)
    if (keep) return { shown, filled: shown, released: released.promise }
    this.isFilling = true
    const fill = (): void | Promise<void> => writer.writeRequired('restore', Infinity, () => store.fillFromKept())
    const filled = shown
      .then(fill, () => {})
      .catch(onDamage)
      .finally(() => {
        this.isFilling = false
      })
    return { shown, filled, released: released.promise }
  }

  *#show(base: KeptBase<T>, version: Version, values: Map<StoreIndex<T>, PackedIndex>): Steps {
    const { store, indexes } = this.#writer
    const { snapshot } = base
    for (const { index } of indexes.values())
      if (!values.has(index)) values.set(index, yield* store.indexes.packedValuesOf(index, base))
    const others: SavedRecord[] = []
    for (let i = snapshot.size; i < snapshot.count; i++) {
      others.push(snapshot.recordAt(i))
      yield
    }
    const transaction = new StoreTransaction(this.#writer, this, 'initial', { version })
    for (const record of others) {
      transaction.restore(record)
      yield
    }
    store.keep(base, values)
    const left = transaction.commitNow(version)
    if (left !== undefined) yield* left
  }

  async prepareIndexes(): Promise<void> {
    const { store, hooks } = this.#writer
    const steps = store.indexes.prepare()
    const { clock = systemClock, slices = DEFAULT_SLICES } = hooks
    while (!performSlice(steps, clock, slices)) await clock.sleep(0)
  }

  get isAbandoned(): boolean {
    return this.#writer.isAbandoned
  }

  /** No write may be in progress. @throws SourceError UNAVAILABLE when the indexes are damaged. */
  pin(): PinnedPartition<T> {
    const indexes = this.#capturedIndexes()
    return new PinnedPartition(this.#writer.store.pin(), indexes, {
      filtered: this.filtered.pin(),
      invalid: this.#invalidRecords(),
    })
  }

  /** As `pin`, without the keys that are filtered out or invalid; of all sources. */
  pinObjects(): PinnedPartition<T> {
    const indexes = this.#capturedIndexes()
    return new PinnedPartition(this.#writer.store.pin(), indexes)
  }

  #capturedIndexes(): readonly NamedIndex[] {
    this.#writer.store.indexes.assertIntact()
    const indexes: NamedIndex[] = []
    for (const { name, signature, index } of this.#writer.indexes.values()) {
      const captured = index.capture?.()
      if (captured !== undefined) indexes.push({ name, signature, captured })
    }
    return indexes
  }

  #invalidRecords(): readonly SavedInvalid[] {
    return Array.from(this.invalid, ([key, version]) => {
      const error = this.#writer.invalid.get(key)
      return { type: 'invalid', key, version, reason: messageOf(error?.cause ?? error) }
    })
  }

  /** Removes all objects of this source, and its claims: the source was removed from its set. */
  drop(): void | Promise<void> {
    return this.#writer.write('drop', this.size, () => this.#removeAll('relist'))
  }

  /** Called if access was lost. There is no version until the next list. `stop` does not end this. */
  clear(): void | Promise<void> {
    return this.#writer.writeRequired('clear', this.size, () => this.#removeAll('access-lost'))
  }

  *#removeAll(origin: CommitOrigin): Steps {
    const transaction = new StoreTransaction(this.#writer, this, origin)
    this.#writer.replaced(this)
    yield* transaction.removeAll(() => true, origin === 'relist' ? 'source-removed' : 'unknown')
    if (origin === 'relist') this.#writer.ownership.disclaimAll(this)
    yield* transaction.commit(undefined)
  }
}

function* committed<T>(list: ListWriter<T>, version: Version): Steps {
  const transaction = yield* list.write(version)
  yield* transaction.commit(version)
}

/** A delta has no version: that of its batch is not the object's own, and proves no equality. */
function eventOf<T>({ type, key, object }: Delta<T>): ListEvent<T> {
  return { type: type === 'deleted' ? 'delete' : 'put', key, object }
}

/** The keys of a partition that have no stored object, or an older one. */
interface OtherKeys {
  readonly filtered: PinnedMap<string, Version | undefined>
  readonly invalid: readonly SavedInvalid[]
}

/** The content of a partition at one version: its objects, and the keys that are filtered out or invalid. */
class PinnedPartition<T> {
  readonly #pin: Pin<T>
  readonly #indexes: readonly NamedIndex[]
  readonly #others: OtherKeys | undefined

  constructor(pin: Pin<T>, indexes: readonly NamedIndex[], others?: OtherKeys) {
    this.#pin = pin
    this.#indexes = indexes
    this.#others = others
  }

  get size(): number {
    return this.#pin.size + (this.#others?.filtered.size ?? 0) + (this.#others?.invalid.length ?? 0)
  }

  *records(): Generator<SavedRecord> {
    for (const [, record] of this.#numbered()) yield record
  }

  /** Returns the records in a packed form, in steps. */
  pack(
    encode: (record: SavedRecord) => string,
    seed: number,
    blockBytes?: number,
  ): Generator<PackedPart | undefined, void> {
    const { size, ordinalLimit } = this.#pin
    const records = (): Generator<readonly [Ordinal | undefined, SavedRecord]> => this.#numbered()
    return pack({ size, ordinalLimit, indexes: this.#indexes, records }, encode, seed, blockBytes)
  }

  *#numbered(): Generator<readonly [ordinal: Ordinal | undefined, record: SavedRecord]> {
    for (let ordinal = this.#pin.ordinalStart; ordinal < this.#pin.ordinalLimit; ordinal++) {
      const entry = this.#pin.entryAt(ordinal)
      if (entry !== undefined) yield [ordinal, { ...entry, type: 'entry' }]
    }
    if (this.#others === undefined) return
    for (const [key, version] of this.#others.filtered) yield [undefined, { type: 'filtered', key, version }]
    for (const record of this.#others.invalid) yield [undefined, record]
  }

  close(): void {
    this.#pin.close()
    this.#others?.filtered.close()
  }
}

/** Not of an index that was not saved, has other code, or returns other values now. Throws for damaged objects. */
function packedIndexesOf<T>(
  snapshot: PackedSnapshot,
  declared: Iterable<DeclaredIndex<T>>,
  restored: (entry: SavedEntry) => Entry<T>,
): Map<StoreIndex<T>, PackedIndex> {
  const indexes = new Map<StoreIndex<T>, PackedIndex>()
  for (const { name, signature, index } of declared) {
    const packed = snapshot.indexes.get(name)
    if (packed === undefined || packed.signature !== signature || index.valueFor === undefined) continue
    indexes.set(index, packed)
  }
  const entries = new Map<Ordinal, Entry<T>>()
  const valueAt = (index: StoreIndex<T>, ordinal: Ordinal): unknown => {
    let entry = entries.get(ordinal)
    if (entry === undefined) {
      const record = snapshot.recordAt(ordinal)
      if (record.type !== 'entry') throw new RangeError('it is not an entry')
      entry = restored(record)
      entries.set(ordinal, entry)
    }
    return index.valueFor?.(entry)
  }
  for (const ordinal of indexes.size === 0 ? [] : samples(snapshot.size, SAMPLES)) {
    for (const [index, packed] of indexes) if (!packed.has(ordinal, valueAt(index, ordinal))) indexes.delete(index)
  }
  for (const [index, packed] of indexes) {
    for (const position of samples(packed.length, VALUE_SAMPLES))
      if (!packed.isAt(position, valueAt(index, packed.ordinalAt(position)))) indexes.delete(index)
  }
  return indexes
}

function* samples(length: number, count: number): Generator<number> {
  const step = Math.max(1, Math.floor(length / count))
  for (let at = 0; at < length; at += step) yield at
}
