import { SourceError } from '../contract/errors.js'
import type { Entry, ListEvent, ListTransaction } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import { assertRoomForList } from './capacity.js'
import { OMITTED, SAME } from './ingest.js'
import type { Part } from './key-ownership.js'
import type { StoreWriter } from './transaction.js'

/** The first list: it fills the store directly, which nobody can see until it is whole. */
export function fill<T>(writer: StoreWriter<T>, part: Part): ListTransaction<T> {
  const { store } = writer
  store.isVisible = false
  const step = writer.begin(part, 'initial', undefined)
  return {
    page: (events) => {
      for (const event of events) writer.event(event, step)
    },
    commit: (version) => {
      store.isVisible = true
      writer.end(step, version)
    },
    abandon: () => {
      store.clear()
      writer.invalid.clear()
      part.invalid.clear()
      part.omitted.clear()
      store.isVisible = true
    },
  }
}

/** A later list: compared with the store as it comes, written in one step at its end. */
export class Relist<T> implements ListTransaction<T> {
  readonly #writer: StoreWriter<T>
  readonly part: Part
  /** Keys that another source has given already. */
  readonly claimed: string[] = []
  readonly #ignoreVersions: boolean
  /** By ordinal, of what the store held when it began: 1 where the list has it. */
  readonly #listed: Uint8Array
  /** What is new, or not wanted. */
  readonly #pending = new Map<string, Entry<T> | typeof OMITTED>()
  readonly #bad = new Map<string, SourceError>()
  /** Of what is bad, or left out. */
  readonly #versions = new Map<string, Version | undefined>()
  /** Whether it is known of every object which one it is. */
  #isComplete = true

  constructor(writer: StoreWriter<T>, part: Part, ignoreVersions: boolean) {
    this.#writer = writer
    this.part = part
    this.#ignoreVersions = ignoreVersions
    this.#listed = new Uint8Array(writer.store.ordinalLimit)
  }

  page(events: readonly ListEvent<T>[]): void {
    for (const event of events) this.#take(event)
  }

  #take(event: ListEvent<T>): void {
    const { key } = event
    if (key === undefined) {
      this.#isComplete = false
      if (event.type === 'invalid') this.#writer.refuseUnnamed(event.error, this.part)
      return
    }
    const { store, intake, ownership } = this.#writer
    const ordinal = store.ordinalOf(key)
    if (ownership.isForeign(key, event.type, ordinal, this)) return
    const current = ordinal === undefined ? undefined : store.entryAt(ordinal)
    if (this.#pending.size > 0) this.#pending.delete(key)
    if (this.#bad.size > 0) this.#bad.delete(key)
    if (ordinal !== undefined) this.#listed[ordinal] = event.type === 'delete' ? 0 : 1
    if (event.type === 'delete') return
    const taken =
      event.type === 'invalid'
        ? intake.invalid(key, event.error, this.part.name)
        : intake.take(event, current, this.#ignoreVersions, this.part.name)
    if (taken instanceof SourceError || taken === OMITTED) this.#versions.set(key, event.version)
    if (taken instanceof SourceError) this.#bad.set(key, taken)
    else if (taken !== SAME) this.#pending.set(key, taken)
    else if (current !== undefined && this.part.invalid.has(key)) this.#pending.set(key, current) // It is good again.
  }

  commit(version: Version): void {
    const { part, claimed } = this
    const [writer, pending, bad] = [this.#writer, this.#pending, this.#bad]
    const { store, ownership } = writer
    // Another source may have given a key meanwhile.
    for (const keys of ownership.isShared ? [pending, bad] : [])
      for (const key of keys.keys()) if (ownership.isForeign(key, 'put', store.ordinalOf(key), this)) keys.delete(key)
    if (pending.size > store.room) assertRoomForList(this.#listed, pending, this.#isComplete, writer.roomOf(part))
    const step = { ...writer.begin(part, 'relist', version, this.#ignoreVersions), claimed }
    writer.recordReplaced(part)
    for (const [key, error] of bad) writer.markInvalid(key, error, this.#versions.get(key), step)
    if (this.#isComplete) {
      for (const key of part.invalid.keys()) if (!bad.has(key)) writer.markValid(key, step)
      part.omitted.clear()
      this.#eachUnlisted((key) => writer.remove(key, undefined, step))
    }
    if (this.#ignoreVersions) {
      for (const key of bad.keys()) this.#forgetVersion(key)
      if (!this.#isComplete) this.#eachUnlisted((key) => this.#forgetVersion(key))
    }
    for (const [key, taken] of pending) {
      writer.markValid(key, step)
      if (taken === OMITTED) writer.omit(key, this.#versions.get(key), step)
      else writer.write(taken, store.ordinalOf(key), step)
    }
    writer.end(step, version)
  }

  /** What was not told yet is news again. */
  abandon(): void {
    for (const key of this.claimed) this.#writer.ownership.disclaim(this.part, key)
  }

  /**
   * What a list of another history kept without having seen it: its version is of the old history, and one of the new may
   * read the same.
   */
  #forgetVersion(key: string): void {
    const { store } = this.#writer
    const ordinal = store.ordinalOf(key)
    const entry = ordinal === undefined ? undefined : store.entryAt(ordinal)
    if (ordinal === undefined || entry?.version === undefined) return
    const { version: _version, ...rest } = entry
    store.touch(ordinal, rest)
  }

  /** What the store has of this source, and the list does not. */
  #eachUnlisted(act: (key: string) => void): void {
    const { store, ownership } = this.#writer
    for (let ordinal = 0; ordinal < this.#listed.length; ordinal++) {
      const entry = this.#listed[ordinal] === 1 ? undefined : store.entryAt(ordinal)
      if (entry !== undefined && ownership.owns(this.part, ordinal)) act(entry.key)
    }
  }
}
