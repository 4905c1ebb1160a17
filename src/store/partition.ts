import { SourceError } from '../contract/errors.js'
import type { Entry, ListEvent, ListTransaction, Sink, WatchBatch, WatchEvent } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import { type Delta, type DeltaBatch, namedInvalid } from '../queue/change.js'
import { assertRoom } from './capacity.js'
import { OMITTED, SAME } from './ingest.js'
import type { Part } from './key-ownership.js'
import { fill, Relist } from './list-writer.js'
import type { Step, StoreWriter, WriteRecord } from './transaction.js'

/** What one source has in a store: all of it, or over several sources a part. Its reflector writes to it. */
export class StorePart<T> implements Sink<T> {
  readonly #writer: StoreWriter<T>
  readonly #part: Part

  constructor(writer: StoreWriter<T>, part: Part) {
    this.#writer = writer
    this.#part = part
  }

  get version(): Version | undefined {
    return this.#part.version
  }

  entryOf(key: string): Entry<T> | undefined {
    const { store, ownership } = this.#writer
    const ordinal = store.ordinalOf(key)
    return ordinal !== undefined && ownership.owns(this.#part, ordinal) ? store.entryAt(ordinal) : undefined
  }

  /** Of what it holds, and of what is invalid. */
  *keys(): Generator<string> {
    const { store, ownership } = this.#writer
    for (let ordinal = 0; ordinal < store.ordinalLimit; ordinal++) {
      const entry = store.entryAt(ordinal)
      if (entry !== undefined && ownership.owns(this.#part, ordinal)) yield entry.key
    }
    for (const key of this.#part.invalid.keys()) if (store.ordinalOf(key) === undefined) yield key
  }

  /** Whether another source of the set has a key. */
  isOthers(key: string): boolean {
    const { store, ownership } = this.#writer
    return ownership.isOthers(this.#part, key, store.ordinalOf(key))
  }

  isInvalid(key: string): boolean {
    return this.#part.invalid.has(key)
  }

  /** What is known of an object that is invalid, or was left out. */
  passedOver(key: string): { readonly version: Version | undefined } | undefined {
    const { invalid, omitted } = this.#part
    if (invalid.has(key)) return { version: invalid.get(key) }
    return omitted.has(key) ? { version: omitted.get(key) } : undefined
  }

  /** Whether the store holds what it would make of an object that arrives. */
  isHeld(arrived: Entry<unknown>): boolean {
    const current = this.entryOf(arrived.key)
    const taken = this.#writer.intake.take(arrived, current, true)
    const isInvalid = this.isInvalid(arrived.key)
    if (isInvalid || taken instanceof SourceError) return isInvalid && taken instanceof SourceError
    if (taken === SAME) return true
    return taken === OMITTED ? current === undefined : taken.object === current?.object
  }

  /** Keeps the keys that are written from now on, also by others, until it is stopped. */
  record(): WriteRecord {
    return this.#writer.record(this.#part)
  }

  apply(batch: WatchBatch<T> | DeltaBatch<T>): void {
    this.#writer.inOneStep('apply', () => this.#apply(batch))
  }

  #apply(batch: WatchBatch<T> | DeltaBatch<T>): void {
    const writer = this.#writer
    const part = this.#part
    const step = writer.begin(part, 'watch', batch.version)
    const isOfDeltas = 'deltas' in batch
    const events: readonly WatchEvent<T>[] = isOfDeltas ? batch.deltas.map(eventOf) : batch.events
    assertRoom(events, writer.roomOf(part))
    for (const event of events) {
      if (event.type === 'replace') this.#replaceBy(event.entries, namedInvalid(events), step)
      else writer.event(event, step)
    }
    writer.end(step, batch.version ?? part.version, isOfDeltas ? undefined : batch.committedAt)
  }

  /** A polled source's whole collection, inside a batch. `keep` counts as listed; without it nothing is known to be gone. */
  #replaceBy(entries: readonly Entry<T>[], keep: ReadonlySet<string> | undefined, step: Step<T>): void {
    this.#writer.recordReplaced(this.#part)
    if (keep !== undefined) {
      const keys = new Set(keep)
      for (const { key } of entries) keys.add(key)
      this.#removeAll((key) => !keys.has(key), step)
    }
    for (const entry of entries) this.#writer.put(entry, step)
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): ListTransaction<T> {
    const [writer, part] = [this.#writer, this.#part]
    const isFirst = writer.commits === 0 && writer.store.size === 0 && !writer.ownership.isShared
    const list = isFirst ? fill(writer, part) : new Relist(writer, part, ignoreVersions)
    return {
      page: (events) => writer.inOneStep('page', () => list.page(events)),
      commit: (version) => writer.inOneStep('commit', () => list.commit(version)),
      abandon: () => writer.inOneStep('abandon', () => list.abandon()),
    }
  }

  /** Takes all of it out of the store. */
  drop(): void {
    const [writer, part] = [this.#writer, this.#part]
    writer.inOneStep('drop', () => {
      const step = writer.begin(part, 'relist', undefined)
      this.#removeAll(() => true, step)
      writer.ownership.remove(part)
      writer.end(step, undefined)
    })
  }

  /** Deletes all objects of this source, which may not be read any more. The store has no version until the next list. */
  clear(): void {
    const [writer, part] = [this.#writer, this.#part]
    writer.inOneStep('clear', () => {
      const step = writer.begin(part, 'access-lost', undefined)
      writer.recordReplaced(part)
      this.#removeAll(() => true, step)
      writer.end(step, undefined)
    })
  }

  /** Takes out what this source gave, where `isGone`, and forgets what was left out. */
  #removeAll(isGone: (key: string) => boolean, step: Step<T>): void {
    const [writer, part] = [this.#writer, this.#part]
    for (const key of part.invalid.keys()) if (isGone(key)) writer.markValid(key, step)
    part.omitted.clear()
    for (const key of writer.store.keys()) {
      const ordinal = writer.store.ordinalOf(key)
      const isOwn = ordinal !== undefined && writer.ownership.owns(part, ordinal)
      if (isOwn && isGone(key)) writer.remove(key, undefined, { ...step, finalState: 'unknown' })
    }
  }
}

/** A delta as an event. Its version is that of its batch, not the object's own, so that it says nothing of equality. */
function eventOf<T>({ type, key, object }: Delta<T>): ListEvent<T> {
  return { type: type === 'deleted' ? 'delete' : 'put', key, object }
}
