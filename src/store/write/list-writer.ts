import { SourceError } from '../../contract/errors.js'
import type { SavedRecord } from '../../contract/mirror-cache.js'
import type { Entry, ListEvent } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import { OrderedTable } from '../../util/ordered-table.js'
import type { Ordinal } from '../ordinals.js'
import { FILTERED, UNCHANGED } from './ingest.js'
import type { StoreWriter } from './store-writer.js'
import { StoreTransaction, type WritablePartition } from './transaction.js'

export interface ListWriter<T> {
  readonly size: number
  take(event: ListEvent<T>): void
  /** Returns the transaction, which is still to be committed. */
  write(version: Version): Generator<void, StoreTransaction<T>>
  abandon(): void
}

/** The first list. It writes to the store directly; the store is invisible until the list is complete. */
export class InitialList<T> implements ListWriter<T> {
  readonly #writer: StoreWriter<T>
  readonly #partition: WritablePartition<T>
  readonly #transaction: StoreTransaction<T>

  constructor(writer: StoreWriter<T>, partition: WritablePartition<T>) {
    this.#writer = writer
    this.#partition = partition
    writer.store.isVisible = false
    this.#transaction = new StoreTransaction(writer, partition, 'initial')
  }

  take(event: ListEvent<T>): void {
    this.#transaction.apply(event)
  }

  restore(record: SavedRecord): void {
    this.#transaction.restore(record)
  }

  /** A large list prepares the indexes when it is committed. */
  get size(): number {
    return this.#writer.store.size
  }

  *write(): Generator<void, StoreTransaction<T>> {
    const { store, isBusy } = this.#writer
    if (isBusy) yield* store.indexes.prepare()
    return this.#transaction
  }

  abandon(): void {
    const { store } = this.#writer
    store.clear()
    this.#partition.filtered.clear()
    this.#writer.abandoned()
    store.isVisible = true
  }
}

/** A later list. Its pages are compared with the store as they arrive; the differences are written by `write`. */
export class Relist<T> implements ListWriter<T> {
  readonly #writer: StoreWriter<T>
  readonly #partition: WritablePartition<T>
  readonly #ignoreVersions: boolean
  /** The least ordinal when the list began. */
  readonly #start: Ordinal
  /** Has a 1 for each ordinal that the list contains, of the ordinals that existed when it began. */
  readonly #listed: Uint8Array
  /** The keys to write: new or changed entries, and keys that `prepare` filters out. */
  readonly #pending = new OrderedTable<Entry<T> | typeof FILTERED>()
  readonly #invalid = new Map<string, SourceError>()
  /** The keys that the list has deleted, and not written since. */
  readonly #deleted = new Set<string>()
  readonly #versions = new Map<string, Version | undefined>()
  /** Keys of other sources that the list claims for the first time. */
  readonly #claimed: string[] = []
  /** False after an invalid object without a key: it may be any key, so no key is known to be deleted. */
  #isComplete = true

  constructor(writer: StoreWriter<T>, partition: WritablePartition<T>, ignoreVersions: boolean) {
    this.#writer = writer
    this.#partition = partition
    this.#ignoreVersions = ignoreVersions
    this.#start = writer.store.ordinalStart
    this.#listed = new Uint8Array(writer.store.ordinalLimit - this.#start)
  }

  get size(): number {
    let size = this.#pending.size + this.#invalid.size
    if (!this.#isComplete) return size
    for (const _key of this.#unlisted()) size++
    return size
  }

  take(event: ListEvent<T>): void {
    const { key } = event
    const partition = this.#partition
    if (key === undefined) {
      this.#isComplete = false
      if (event.type === 'invalid') this.#writer.reportUnnamed(event.error, partition)
      return
    }
    const { store, ingest, ownership } = this.#writer
    const ordinal = store.ordinalOf(key)
    const hasLastValid = event.type === 'invalid' && event.hasLastValid === true
    const good = hasLastValid ? this.#listedStateOf(key, ordinal) : undefined
    // This event replaces an earlier one, even if another source has written the key in between, and deletes it later.
    if (this.#pending.size > 0) this.#pending.delete(key)
    if (this.#invalid.size > 0) this.#invalid.delete(key)
    if (ownership.isForeign(partition, key, event.type, ordinal, this.#claimed)) return
    const current = ordinal === undefined ? undefined : store.entryAt(ordinal)
    if (event.type === 'delete') this.#deleted.add(key)
    else if (!hasLastValid && this.#deleted.size > 0) this.#deleted.delete(key)
    const isDeleted = this.#deleted.size > 0 && this.#deleted.has(key)
    if (ordinal !== undefined) this.#listed[ordinal - this.#start] = isDeleted ? 0 : 1
    if (event.type === 'delete') return
    const result =
      event.type === 'invalid'
        ? ingest.invalid(key, event.error, partition.name)
        : ingest.ingest(event, current, this.#ignoreVersions, partition.name)
    if (result instanceof SourceError || result === FILTERED) this.#versions.set(key, event.version)
    if (result instanceof SourceError) {
      this.#invalid.set(key, result)
      if (good !== undefined && this.#writer.hooks.onInvalid !== 'omit') this.#pending.set(key, good)
    } else if (result === UNCHANGED) {
      if (current !== undefined && partition.invalid.has(key)) this.#pending.set(key, current) // It is valid again.
    } else if (result === FILTERED || current === undefined) this.#pending.set(key, result)
    else {
      // A large list keeps no second text of each key: the garbage collector would copy it.
      const entry = result === event ? { ...result, key: current.key } : result
      this.#pending.set(current.key, entry)
    }
  }

  #listedStateOf(key: string, ordinal: Ordinal | undefined): Entry<T> | typeof FILTERED | undefined {
    const pending = this.#pending.get(key)
    if (pending !== undefined || ordinal === undefined || this.#invalid.has(key)) return pending
    return this.#listed[ordinal - this.#start] === 1 ? this.#writer.store.entryAt(ordinal) : undefined
  }

  *write(version: Version): Generator<void, StoreTransaction<T>> {
    const writer = this.#writer
    const partition = this.#partition
    const ignoreVersions = this.#ignoreVersions
    const { store } = writer
    this.#dropForeign()
    const claimed = this.#claimed
    const transaction = new StoreTransaction(writer, partition, 'relist', { version, ignoreVersions, claimed })
    writer.replaced(partition)
    if (!this.#isComplete) {
      // The list has named these.
      for (const key of this.#deleted) {
        if (!this.#invalid.has(key)) transaction.markValid(key)
        partition.filtered.delete(key)
        transaction.remove(key)
      }
    }
    for (const [key, error] of this.#invalid) transaction.markInvalid(key, error, this.#versions.get(key))
    if (this.#isComplete) {
      for (const key of partition.invalid.keys()) if (!this.#invalid.has(key)) transaction.markValid(key)
      partition.filtered.clear()
      for (const key of this.#unlisted()) {
        transaction.remove(key)
        yield
      }
    }
    if (ignoreVersions) {
      for (const key of this.#invalid.keys()) this.#forgetVersion(key)
      if (!this.#isComplete) {
        for (const key of this.#unlisted()) {
          this.#forgetVersion(key)
          yield
        }
      }
    }
    for (const [key, result] of this.#pending) {
      if (!this.#invalid.has(key)) transaction.markValid(key)
      if (result === FILTERED) transaction.filter(key, this.#versions.get(key))
      else transaction.write(result, store.ordinalOf(key))
      yield
    }
    return transaction
  }

  /** The next list reports the claims of this one. */
  abandon(): void {
    for (const key of this.#claimed) this.#writer.ownership.disclaim(this.#partition, key)
  }

  /** Drops keys that another source has written since their page arrived. */
  #dropForeign(): void {
    const { store, ownership } = this.#writer
    if (!ownership.isShared) return
    for (const keys of [this.#pending, this.#invalid]) {
      for (const key of keys.keys()) {
        if (ownership.isForeign(this.#partition, key, 'put', store.ordinalOf(key), this.#claimed)) keys.delete(key)
      }
    }
  }

  /** The same version may name another state in the history of the list. */
  #forgetVersion(key: string): void {
    const { store } = this.#writer
    const ordinal = store.ordinalOf(key)
    const entry = ordinal === undefined ? undefined : store.entryAt(ordinal)
    if (ordinal === undefined || entry?.version === undefined) return
    const { version: _version, ...rest } = entry
    store.touch(ordinal, rest)
  }

  /** The stored keys of the partition that the list does not contain. */
  *#unlisted(): Generator<string> {
    for (let at = 0; at < this.#listed.length; at++) {
      const ordinal = at + this.#start
      const entry = this.#listed[at] === 1 ? undefined : this.#writer.store.entryAt(ordinal)
      if (entry !== undefined && this.#partition.owns(ordinal)) yield entry.key
    }
  }
}
