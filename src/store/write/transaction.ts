import { SourceError } from '../../contract/errors.js'
import type { SavedRecord } from '../../contract/mirror-cache.js'
import type { Delete, Entry, Invalid, ListEvent } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { Change, Deleted } from '../../queue/change.js'
import { begun, type Steps } from '../../util/steps.js'
import type { DeclaredIndex } from '../indexes/index-builder.js'
import type { Ordinal } from '../ordinals.js'
import type { Undoable, UndoableMap } from '../undo-journal.js'
import type { CommitOrigin, DomainPart, Membership } from './commit.js'
import { FILTERED, isOtherIdentity, UNCHANGED } from './ingest.js'
import type { KeyOwner } from './key-ownership.js'
import type { OnCommit, StoreWriter } from './store-writer.js'

export interface WritablePartition<T> extends KeyOwner {
  version: Version | undefined
  readonly invalid: Map<string, Version | undefined>
  /** The keys that `prepare` filtered out, with their versions, if these are remembered. */
  readonly filtered: UndoableMap<string, Version | undefined>
  readonly onCommit: OnCommit<T> | undefined
  owns(ordinal: Ordinal): boolean
}

export interface TransactionOptions {
  readonly version?: Version | undefined
  readonly ignoreVersions?: boolean
  /** Keys of other sources that the partition has claimed before the transaction. */
  readonly claimed?: string[]
}

interface InvalidObject {
  readonly error: SourceError
  readonly version: Version | undefined
}

const NOTHING: readonly never[] = []

/** A batch, or a list. It begins and is committed in `StoreWriter.runExclusive`, which rolls it back on an error. */
export class StoreTransaction<T> implements DomainPart {
  readonly writer: StoreWriter<T>
  readonly origin: CommitOrigin
  readonly #partition: WritablePartition<T>
  readonly #version: Version | undefined
  /** The final state of deleted objects: only a watch reports deletions, a list lacks the keys. */
  readonly #finalState: 'known' | 'unknown'
  readonly #ignoreVersions: boolean
  /** Whether changes are not collected, because no one reads them. */
  readonly #isSilent: boolean
  readonly tracked: readonly DeclaredIndex<T>[]
  readonly #undoables: readonly Undoable[]
  readonly changes: Change<T>[] = []
  readonly memberships: Membership[] = []
  readonly ordinals: Ordinal[] = []
  /** The version after it, and the time of its commit at the source. */
  version: Version | undefined
  committedAt: number | undefined
  readonly #claimed: string[]
  /** Keys that the partition has given up. They may have no owner now. */
  readonly #released: string[] = []
  /** The keys that become invalid, or valid again, at the commit. */
  #validity: Map<string, InvalidObject | undefined> | undefined

  constructor(
    writer: StoreWriter<T>,
    partition: WritablePartition<T>,
    origin: CommitOrigin,
    { version, ignoreVersions = false, claimed = [] }: TransactionOptions = {},
  ) {
    const { store, ownership, tracked } = writer
    store.indexes.assertIntact()
    this.writer = writer
    this.#partition = partition
    this.origin = origin
    this.#version = version
    this.#finalState = origin === 'watch' ? 'known' : 'unknown'
    this.#ignoreVersions = ignoreVersions
    this.#isSilent = origin === 'initial' || partition.onCommit === undefined
    this.tracked = tracked
    this.#claimed = claimed
    // The first list is not rolled back: if it fails, the whole store is cleared.
    this.#undoables = origin === 'initial' ? NOTHING : [store, ownership, partition.filtered]
    writer.begun(this)
    for (const each of this.#undoables) each.begin()
  }

  /** As `commit`, without preparing the indexes. Returns the steps that are left, if dependents have many. */
  commitNow(version: Version | undefined, committedAt?: number): Steps | undefined {
    const steps = this.#commit(version, committedAt)
    if (steps !== undefined) return begun(this.#settled(steps), this.writer.largeWrite)
    return void this.#settleClaims()
  }

  /** Ends the transaction, and reports it. One of the steps makes it visible. */
  *commit(version: Version | undefined, committedAt?: number): Steps {
    if (this.writer.isBusy) yield* this.writer.store.indexes.prepare()
    yield* this.#settled(this.#commit(version, committedAt))
  }

  *#settled(steps: Steps | undefined): Steps {
    if (steps !== undefined) yield* steps
    this.#settleClaims()
  }

  /** Ends the transaction, and makes it visible with what follows from it. Returns the steps that are left. */
  #commit(version: Version | undefined, committedAt: number | undefined): Steps | undefined {
    this.end(version, committedAt)
    const { domain } = this.writer
    if (domain.hasDependents) return domain.commit(this)
    this.publish()
    return this.report()
  }

  /** Ends the transaction: its writes are not undone any more. `publish` makes them visible. */
  end(version: Version | undefined, committedAt: number | undefined): void {
    this.version = version
    this.committedAt = committedAt
    for (const each of this.#undoables) each.commit()
    this.writer.decided()
  }

  publish(): void {
    if (this.origin === 'initial') this.writer.store.isVisible = true
    this.#commitValidity()
    this.#partition.version = this.version
    this.writer.committed(this.version)
  }

  report(): Steps | undefined {
    const { onCommit, name } = this.#partition
    const { origin, changes, memberships, tracked, version, committedAt } = this
    const { position } = this.writer
    return onCommit?.({ origin, changes, memberships, tracked, version, position, source: name, committedAt })
  }

  rollback(): void {
    for (const each of this.#undoables) each.rollback()
  }

  /** Reports keys that two sources list. Notifies the claimants of keys that have no owner any more. */
  #settleClaims(): void {
    const { store, invalid, ownership, hooks } = this.writer
    if (!ownership.isShared) return
    const { name } = this.#partition
    const [first] = this.#claimed
    if (first !== undefined) {
      const others = this.#claimed.length === 1 ? '' : ` and ${this.#claimed.length - 1} more`
      const message = `another source of the set has the key "${first}"${others} already; the events of "${name}" for it are ignored`
      hooks.report?.(new SourceError(message, { code: 'PROTOCOL', phase: 'apply', key: first }), name)
    }
    const claimants = new Set<string>()
    for (const key of this.#released) {
      if (store.ordinalOf(key) !== undefined || invalid.has(key)) continue
      for (const claimant of ownership.releaseClaims(key) ?? [])
        if (claimant.name !== undefined) claimants.add(claimant.name)
    }
    for (const claimant of claimants) hooks.onReleased?.(claimant)
  }

  apply(event: ListEvent<T>): void {
    if (event.type === 'put') this.put(event)
    else if (event.type === 'delete') this.#delete(event)
    else if (event.type === 'invalid') this.#reject(event)
  }

  /** Adds a record of a saved mirror as it is: its object has passed `prepare` before it was saved. */
  restore(record: SavedRecord): void {
    const { key, version } = record
    if (typeof key !== 'string') throw new SourceError('a saved record has no key', { code: 'PROTOCOL' })
    const { ingest, store } = this.writer
    if (record.type === 'entry') this.write(ingest.restored(record), store.ordinalOf(key))
    else if (record.type === 'filtered') this.filter(key, version)
    else this.markInvalid(key, ingest.invalid(key, record.reason, this.#partition.name), version)
  }

  /** A right `guess` at the ordinal of the key needs no hash of the key. */
  put(arrived: Entry<unknown>, guess?: Ordinal): void {
    const { store, ingest, invalid } = this.writer
    const ordinal = store.ordinalOf(arrived.key, guess)
    if (this.#isForeign(arrived.key, 'put', ordinal)) return
    const current = ordinal === undefined ? undefined : store.entryAt(ordinal)
    const result = ingest.ingest(arrived, current, this.#ignoreVersions, this.#partition.name)
    if (result instanceof SourceError) {
      this.markInvalid(arrived.key, result, arrived.version)
      return
    }
    if (invalid.size > 0 || this.#validity !== undefined) this.markValid(arrived.key)
    if (result === FILTERED) this.filter(arrived.key, arrived.version)
    else if (result !== UNCHANGED) this.write(result, ordinal)
  }

  #delete({ key, object }: Delete<unknown>): void {
    if (this.#isForeign(key, 'delete', this.writer.store.ordinalOf(key))) return
    this.markValid(key)
    this.#partition.filtered.delete(key)
    this.remove(key, this.#finalState, this.writer.ingest.lastState(key, object))
  }

  #reject({ key, error, version }: Invalid): void {
    const { store, ingest } = this.writer
    if (key === undefined) this.writer.reportUnnamed(error, this.#partition)
    else if (!this.#isForeign(key, 'invalid', store.ordinalOf(key)))
      this.markInvalid(key, ingest.invalid(key, error, this.#partition.name), version)
  }

  #isForeign(key: string, type: ListEvent<T>['type'], ordinal: Ordinal | undefined): boolean {
    return this.writer.ownership.isForeign(this.#partition, key, type, ordinal, this.#claimed)
  }

  markValid(key: string): void {
    if (!this.#isInvalid(key)) return
    this.#setValidity(key, undefined)
    this.writer.written(key)
    this.#released.push(key)
  }

  markInvalid(key: string, error: SourceError, version: Version | undefined): void {
    this.#setValidity(key, { error, version })
    this.writer.written(key)
    if (this.writer.hooks.onInvalid === 'omit') this.remove(key, 'unknown', undefined, 'unknown')
  }

  #isInvalid(key: string): boolean {
    if (this.#validity?.has(key) === true) return this.#validity.get(key) !== undefined
    return this.#partition.invalid.has(key)
  }

  #setValidity(key: string, object: InvalidObject | undefined): void {
    this.#validity ??= new Map()
    this.#validity.set(key, object)
  }

  #commitValidity(): void {
    if (this.#validity === undefined) return
    const { invalid, hooks } = this.writer
    const { invalid: versions, name } = this.#partition
    for (const [key, object] of this.#validity) {
      const known = invalid.get(key)
      if (object === undefined) {
        versions.delete(key)
        invalid.delete(key)
        continue
      }
      versions.set(key, object.version)
      invalid.set(key, object.error)
      if (known?.message !== object.error.message) hooks.report?.(object.error, name)
    }
  }

  filter(key: string, version: Version | undefined): void {
    this.remove(key, this.#finalState, undefined, 'out-of-scope')
    if (this.writer.hooks.remembersFiltered === true) this.#partition.filtered.set(key, version)
  }

  /** Replaces all objects of a source that polls. Keys in `keep` are not deleted; without `keep`, no key is. */
  *replace(entries: readonly Entry<T>[], keep: ReadonlySet<string> | undefined): Steps {
    this.writer.replaced(this.#partition)
    if (keep !== undefined) {
      const keys = new Set(keep)
      for (const { key } of entries) keys.add(key)
      yield* this.removeAll((key) => !keys.has(key))
    }
    for (const entry of entries) {
      this.put(entry)
      yield
    }
  }

  /** Removes the keys of the partition for which `isGone` returns true, and forgets all filtered keys. */
  *removeAll(isGone: (key: string) => boolean, gone?: Deleted<T>['gone']): Steps {
    const { store } = this.writer
    const partition = this.#partition
    for (const key of [...partition.invalid.keys(), ...(this.#validity?.keys() ?? [])])
      if (isGone(key)) this.markValid(key)
    partition.filtered.clear()
    for (let ordinal = store.ordinalStart; ordinal < store.ordinalLimit; ordinal++) {
      const key = store.entryAt(ordinal)?.key
      if (key === undefined || !partition.owns(ordinal) || !isGone(key)) continue
      this.remove(key, 'unknown', undefined, gone)
      yield
    }
  }

  write(entry: Entry<T>, ordinal: Ordinal | undefined): void {
    const { store, ownership } = this.writer
    const { filtered } = this.#partition
    const current = ordinal === undefined ? undefined : store.entryAt(ordinal)
    const isOther = current !== undefined && isOtherIdentity(current, entry)
    this.writer.written(entry.key)
    if (ordinal !== undefined && current?.object === entry.object && !isOther) {
      store.touch(ordinal, entry)
      return
    }
    if (filtered.size > 0) filtered.delete(entry.key)
    const membership = this.#isSilent ? undefined : this.#membershipOf(ordinal)
    const at = store.setAt(ordinal, entry)
    ownership.assign(this.#partition, at)
    if (this.#isSilent) return
    const { key, object } = entry
    const version = this.#version
    const { origin } = this
    const previous = current?.object as T
    if (!isOther && current !== undefined)
      this.#record({ type: 'update', key, object, previous, version, origin }, at, membership)
    else {
      let values = membership
      if (isOther) {
        const removed = { type: 'delete', key, object: previous, previous, version, origin } as const
        this.#record({ ...removed, finalState: 'unknown' }, at, membership)
        values = this.#membershipOf(undefined)
      }
      this.#record({ type: 'add', key, object, previous: undefined, version, origin }, at, values)
    }
  }

  /** `last`: the state that the source has sent. `gone`: why it is absent, if it was not deleted at the source. */
  remove(key: string, finalState: 'known' | 'unknown' = this.#finalState, last?: T, gone?: Deleted<T>['gone']): void {
    const { store, ownership } = this.writer
    const ordinal = store.ordinalOf(key)
    const membership = this.#membershipOf(ordinal)
    const entry = store.delete(key)
    this.writer.written(key)
    if (ordinal !== undefined && ownership.isShared) {
      ownership.assign(undefined, ordinal)
      this.#released.push(key)
    }
    if (ordinal === undefined || entry === undefined || this.#isSilent) return
    const previous = entry.object
    const object = last === undefined ? previous : last
    const version = this.#version
    const change = { type: 'delete', key, object, previous, version, origin: this.origin, finalState } as const
    this.#record(gone === undefined ? change : { ...change, gone }, ordinal, membership)
  }

  /** Returns the values of an object before a change, with room for those after it; undefined if none is tracked. */
  #membershipOf(ordinal: Ordinal | undefined): unknown[] | undefined {
    const { length } = this.tracked
    if (length === 0) return undefined
    const membership = length === 1 ? [undefined, undefined] : new Array<unknown>(2 * length).fill(undefined)
    if (ordinal !== undefined) this.#copyValues(ordinal, membership, 0)
    return membership
  }

  #copyValues(ordinal: Ordinal, membership: unknown[], from: number): void {
    const tracked = this.tracked
    for (let i = 0; i < tracked.length; i++) membership[from + i] = tracked[i]?.index.valueAt(ordinal)
  }

  #record(change: Change<T>, ordinal: Ordinal, membership: unknown[] | undefined): void {
    this.changes.push(change)
    this.ordinals.push(ordinal)
    if (membership === undefined) return
    if (change.type !== 'delete') this.#copyValues(ordinal, membership, this.tracked.length)
    this.memberships.push(membership)
  }
}
