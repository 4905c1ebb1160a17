import { type Clock, systemClock } from '../../contract/clock.js'
import { SourceError } from '../../contract/errors.js'
import { emitWarning } from '../../contract/node-or-browser.js'
import type { Version } from '../../contract/version.js'
import { CountingMap } from '../../util/counting-map.js'
import type { RunToCompletion } from '../../util/run-to-completion.js'
import { begun, DEFAULT_SLICES, performSlice, type Slices, type Steps } from '../../util/steps.js'
import { isDevelopment } from '../deep-freeze.js'
import type { DeclaredIndex } from '../indexes/index-builder.js'
import { Store } from '../store.js'
import { type Commit, CommitDomain } from './commit.js'
import { Ingest, type IngestOptions } from './ingest.js'
import { type KeyOwner, KeyOwnership } from './key-ownership.js'

export interface WriteRecord {
  readonly keys: ReadonlySet<string>
  /** Whether the partition was replaced as a whole, so that `keys` may lack keys that were added and deleted. */
  readonly isReplaced: boolean
  stop(): void
}

export interface WriterOptions<T> extends Partial<IngestOptions<T>> {
  /** Called with errors of single objects. `source` names the partition, if there are several. */
  readonly report?: (error: SourceError, source?: string) => void
  readonly onInvalid?: 'omit' | 'keep-previous' | undefined
  /** Called after each commit of a partition, unless that partition has its own `onCommit`. */
  readonly onCommit?: OnCommit<T>
  /** Called if a key has lost its owner, and the partition `source` has claimed that key. */
  readonly onReleased?: (source: string) => void
  readonly maxObjects?: number | undefined
  /** Whether to remember the keys that `prepare` filtered out. Default: false. */
  readonly remembersFiltered?: boolean | undefined
  /** Whether the positions of the store are the numbers of its commits, also with one partition. Default: false. */
  readonly isNumbered?: boolean | undefined
  /** Whether objects have versions or uids. Default: true. */
  readonly hasVersions?: boolean | undefined
  readonly clock?: Clock | undefined
  readonly slices?: Slices | undefined
}

/** Reports a commit. Steps that it returns are performed before the next write. */
export type OnCommit<T> = (commit: Commit<T>) => Steps | undefined

/** What all partitions of a store share: its contents, and the rule that one transaction writes at a time. */
export class StoreWriter<T> {
  readonly store: Store<T>
  readonly ingest: Ingest<T>
  readonly ownership: KeyOwnership
  readonly invalid: CountingMap<string, SourceError> = new CountingMap()
  readonly warn: (error: SourceError) => void
  readonly hooks: WriterOptions<T>
  readonly indexes: Map<string, DeclaredIndex<T>> = new Map()
  /** With the number of users of each. */
  readonly #users = new Map<DeclaredIndex<T>, number>()
  /** The tracked indexes. The array is never changed. */
  tracked: readonly DeclaredIndex<T>[] = []
  readonly #records = new Set<{ readonly keys: Set<string>; readonly owner: KeyOwner; isReplaced: boolean }>()
  commits = 0
  #version: Version | undefined
  #transaction: { rollback(): void } | undefined
  /** Whether its last transaction is complete, and not visible yet. Then it is published in any case. */
  #isDecided = false
  #domain = new CommitDomain()
  readonly #clock: Clock
  readonly #slices: Slices
  #isEnded = false
  /** The number of required writes that run or wait. */
  #required = 0

  constructor(hooks: WriterOptions<T>) {
    this.hooks = hooks
    this.#clock = hooks.clock ?? systemClock
    this.#slices = hooks.slices ?? DEFAULT_SLICES
    this.warn = hooks.report ?? (({ message, code }) => emitWarning(message, { code }))
    this.store = new Store(hooks.maxObjects, hooks.freeze ?? isDevelopment(), hooks.hasVersions)
    this.ingest = new Ingest({ ...hooks, freeze: hooks.freeze ?? false, report: this.warn })
    this.ownership = new KeyOwnership(this.store, this.invalid)
  }

  /** The stores whose commits become visible together with those of this one. */
  get domain(): CommitDomain {
    if (this.#domain.isMerged) this.#domain = this.#domain.current
    return this.#domain
  }

  get largeWrite(): number {
    return this.#slices.largeWrite
  }

  get reentrancy(): RunToCompletion {
    return this.domain.reentrancy
  }

  get position(): Version | undefined {
    return this.ownership.isShared || this.hooks.isNumbered === true ? String(this.commits) : this.#version
  }

  /** Adds the values of an index to all commits, until the returned function is called. */
  track(index: DeclaredIndex<T>): () => void {
    this.#addUsers(index, 1)
    return () => this.#addUsers(index, -1)
  }

  #addUsers(index: DeclaredIndex<T>, added: number): void {
    const before = this.#users.get(index) ?? 0
    const users = before + added
    if (users === 0) this.#users.delete(index)
    else this.#users.set(index, users)
    if (before === 0 || users === 0) this.tracked = [...this.#users.keys()]
  }

  /** Records all keys that are written from now on, by any partition, until `stop` is called. */
  recordWrites(owner: KeyOwner): WriteRecord {
    const record = { keys: new Set<string>(), owner, isReplaced: false, stop: () => this.#records.delete(record) }
    this.#records.add(record)
    return record
  }

  written(key: string): void {
    if (this.#records.size > 0) for (const { keys } of this.#records) keys.add(key)
  }

  replaced(owner: KeyOwner): void {
    for (const record of this.#records) if (record.owner === owner) record.isReplaced = true
  }

  reportUnnamed(error: unknown, { name }: KeyOwner): void {
    this.hooks.report?.(this.ingest.invalid(undefined, error, name), name)
  }

  /** @throws TypeError when one of the user's functions calls a method during a write. */
  assertNotWriting(call: string): void {
    if (!this.domain.isWriting) return
    throw new TypeError(
      `${call}: the store is being written; schema, transform, equals and index functions may only read the object that they are given`,
    )
  }

  /** The user's functions cannot write in `act`. If it throws, a transaction that is not committed is undone. */
  runExclusive<V>(call: string, act: () => V): V {
    this.assertNotWriting(call)
    if (this.isAbandoned) this.assertNotEnded(call)
    const { domain } = this
    return domain.reentrancy.run(() => {
      domain.isWriting = true
      try {
        return act()
      } catch (error) {
        this.undo()
        throw error
      } finally {
        domain.isWriting = false
      }
    })
  }

  /** Whether a write that runs in slices is in progress. */
  get isBusy(): boolean {
    return this.domain.queue.isBusy
  }

  /** Settles when the writes that are in progress now have ended. */
  idle(): Promise<void> {
    return this.domain.queue.idle()
  }

  /**
   * Performs a write of about `size` changes: a small one at once, a large one in slices, and one that is called
   * meanwhile later. A small one with much to do in its dependents continues in slices. `now` does the same as all
   * steps of `begin`, which take up to a tenth longer for small writes, and returns the steps that are left.
   */
  write(call: string, size: number, begin: () => Steps, now?: () => Steps | undefined): void | Promise<void> {
    this.assertNotWriting(call)
    const { queue, hasDependents } = this.domain
    if (queue.isBusy || size > this.largeWrite) return queue.run(() => this.#inSlices(call, begin()))
    // Without dependents there is nothing to do but the write itself.
    const limit = hasDependents ? size + this.largeWrite : Infinity
    if (hasDependents) this.store.hold()
    let left: Steps | undefined
    try {
      left = this.runExclusive(call, now ?? (() => begun(begin(), limit)))
    } finally {
      if (hasDependents && left === undefined) this.store.release()
    }
    if (left !== undefined) return this.#finish(call, left)
  }

  /** Performs the rest of a write in slices. The event loop turns before the first one. */
  #finish(call: string, steps: Steps): Promise<void> {
    return this.domain.queue.run(async () => {
      await this.#clock.sleep(0)
      await this.#inSlices(call, steps)
    })
  }

  /** Like `write`, even if the writer is ended meanwhile. So are the earlier writes, which it waits for. */
  writeRequired(call: string, size: number, begin: () => Steps): void | Promise<void> {
    this.#required++
    const ended = (): void => void this.#required--
    try {
      const writing = this.write(call, size, begin)
      if (writing !== undefined) return writing.finally(ended)
    } catch (error) {
      ended()
      throw error
    }
    ended()
  }

  /** Stops writing: a transaction that is not committed is never visible, and later writes are refused. */
  end(): void {
    this.#isEnded = true
  }

  /** Whether the writer was ended during a transaction. */
  get isAbandoned(): boolean {
    return this.#isEnded && this.#required === 0 && !this.#isDecided && this.store.isHeld
  }

  async #inSlices(call: string, steps: Steps): Promise<void> {
    if (!this.#isDecided) this.assertNotEnded(call)
    this.store.hold()
    const commits = this.commits
    const perform = (): boolean => {
      // After the commit its changes are routed. Then the store can be read.
      this.domain.isWriting = this.commits === commits
      return performSlice(steps, this.#clock, this.#slices)
    }
    try {
      while (!this.runExclusive(call, perform)) {
        await this.#clock.sleep(0)
        if (this.commits === commits && !this.#isDecided) this.assertNotEnded(call)
      }
    } finally {
      if (this.#transaction === undefined) this.store.release()
    }
  }

  /** @throws SourceError STOPPED when the writer was ended, and no required write runs or waits. */
  assertNotEnded(call: string): void {
    if (this.#isEnded && this.#required === 0)
      throw new SourceError(`${call}: the store was stopped`, { code: 'STOPPED', phase: 'apply' })
  }

  undo(): void {
    this.#transaction?.rollback()
    this.#transaction = undefined
  }

  /** Undoes the transaction during which the writer was ended: the functions of views would read what it has written. */
  undoAbandoned(): void {
    if (!this.isAbandoned) return
    this.undo()
    this.store.release()
  }

  begun(transaction: { rollback(): void }): void {
    this.#transaction = transaction
  }

  /** Called when the first list is abandoned, which is not rolled back. */
  abandoned(): void {
    this.#transaction = undefined
  }

  /** Called by a transaction when it is complete. It is visible when the stores that follow from this one are written. */
  decided(): void {
    this.#transaction = undefined
    this.#isDecided = true
  }

  /** Called by a transaction when it is visible. From here on the store can be read and written. */
  committed(version: Version | undefined): void {
    this.#transaction = undefined
    this.#isDecided = false
    this.commits++
    this.#version = version
    this.domain.isWriting = false
    this.store.release()
  }
}
