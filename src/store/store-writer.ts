import type { SourceError } from '../contract/errors.js'
import { emitWarning } from '../contract/node-or-browser.js'
import type { Version } from '../contract/version.js'
import { RunToCompletion } from '../util/run-to-completion.js'
import type { Commit } from './commit.js'
import { isDevelopment } from './deep-freeze.js'
import type { DeclaredIndex } from './indexes/index-builder.js'
import { Ingest, type IngestOptions } from './ingest.js'
import { type KeyOwner, KeyOwnership } from './key-ownership.js'
import { Store } from './store.js'
import { structuralEqual } from './structural-equal.js'
import { UndoableMap } from './undo-journal.js'

/** The keys that are written while a recording is active. */
export interface WriteRecord {
  readonly keys: ReadonlySet<string>
  /** Whether the partition was replaced as a whole, so that `keys` may lack keys that were added and deleted. */
  readonly isReplaced: boolean
  stop(): void
}

/** The callbacks and options that an informer passes to its indexer. */
export interface WriterHooks<T> extends Partial<IngestOptions<T>> {
  /** Called with errors of single objects. `source` names the partition, if there are several. */
  readonly report?: (error: SourceError, source?: string) => void
  readonly onInvalid?: 'omit' | 'keep-previous' | undefined
  /** Called after each commit of a partition, unless that partition has its own `onCommit`. */
  readonly onCommit?: (commit: Commit<T>) => void
  /** Called if a key has lost its owner, and the partition `source` has claimed that key. */
  readonly onReleased?: (source: string) => void
  readonly maxObjects?: number | undefined
  /** Whether to remember the keys that `prepare` filtered out. Default: false. */
  readonly remembersFiltered?: boolean | undefined
}

/** What all partitions of a store share: its contents, and the rule that one transaction writes at a time. */
export class StoreWriter<T> {
  readonly store: Store<T>
  readonly ingest: Ingest<T>
  readonly ownership: KeyOwnership
  /** The errors of invalid objects by key, of all sources. */
  readonly invalid: UndoableMap<string, SourceError> = new UndoableMap()
  /** Delays actions that may not run inside a transaction, or inside a scan of the whole store. */
  readonly reentrancy: RunToCompletion = new RunToCompletion()
  /** Reports failures of the user's functions. */
  readonly warn: (error: SourceError) => void
  readonly hooks: WriterHooks<T>
  /** The number of users of each tracked index. */
  readonly #tracked = new Map<DeclaredIndex<T>, number>()
  readonly #records = new Set<{ readonly keys: Set<string>; readonly owner: KeyOwner; isReplaced: boolean }>()
  #commits = 0
  #version: Version | undefined
  /** The transaction that has begun and is not committed. */
  #transaction: { rollback(): void } | undefined
  #isWriting = false

  constructor(hooks: WriterHooks<T>) {
    this.hooks = hooks
    this.warn = hooks.report ?? (({ message, code }) => emitWarning(message, { code }))
    this.store = new Store(hooks.maxObjects, hooks.freeze ?? isDevelopment())
    this.ingest = new Ingest({
      prepare: hooks.prepare,
      equals: hooks.equals ?? structuralEqual,
      freeze: hooks.freeze ?? false,
      sourceOf: hooks.sourceOf,
      report: this.warn,
    })
    this.ownership = new KeyOwnership(this.store, this.invalid)
  }

  /** The number of commits. */
  get commits(): number {
    return this.#commits
  }

  /** The position of the store: its version, or for several sources the number of its commits. */
  get position(): Version | undefined {
    return this.ownership.isShared ? String(this.#commits) : this.#version
  }

  /** Adds the values of an index to all commits, until the returned function is called. */
  track(index: DeclaredIndex<T>): () => void {
    this.#tracked.set(index, (this.#tracked.get(index) ?? 0) + 1)
    return () => {
      const users = (this.#tracked.get(index) ?? 1) - 1
      if (users === 0) this.#tracked.delete(index)
      else this.#tracked.set(index, users)
    }
  }

  get tracked(): ReadonlyMap<DeclaredIndex<T>, unknown> {
    return this.#tracked
  }

  /** Records all keys that are written from now on, by any partition, until `stop` is called. */
  recordWrites(owner: KeyOwner): WriteRecord {
    const record = { keys: new Set<string>(), owner, isReplaced: false, stop: () => this.#records.delete(record) }
    this.#records.add(record)
    return record
  }

  /** Adds a key to the active recordings. */
  written(key: string): void {
    if (this.#records.size > 0) for (const { keys } of this.#records) keys.add(key)
  }

  /** Marks the active recordings of a partition that is replaced as a whole. */
  replaced(owner: KeyOwner): void {
    for (const record of this.#records) if (record.owner === owner) record.isReplaced = true
  }

  /** Reports an invalid object without a key. */
  reportUnnamed(error: unknown, { name }: KeyOwner): void {
    this.hooks.report?.(this.ingest.invalid(undefined, error, name), name)
  }

  /**
   * @throws TypeError when one of the user's functions calls a method while the store is being written.
   */
  assertNotWriting(call: string): void {
    if (!this.#isWriting) return
    throw new TypeError(
      `${call}: the store is being written; schema, transform, equals and index functions may only read the object that they are given`,
    )
  }

  /**
   * Runs `act`, in which the user's functions are called: these cannot write to the store. If `act` throws before its
   * transaction is committed, the transaction is rolled back and nothing of it is reported.
   */
  runExclusive<V>(call: string, act: () => V): V {
    this.assertNotWriting(call)
    return this.reentrancy.run(() => {
      this.#isWriting = true
      try {
        return act()
      } catch (error) {
        this.#transaction?.rollback()
        this.#transaction = undefined
        throw error
      } finally {
        this.#isWriting = false
      }
    })
  }

  /** Called by a transaction when it begins. */
  begun(transaction: { rollback(): void }): void {
    this.#transaction = transaction
  }

  /** Called by a transaction when it is committed. From here on the store can be read and written. */
  committed(version: Version | undefined): void {
    this.#transaction = undefined
    this.#commits++
    this.#version = version
    this.#isWriting = false
  }
}
