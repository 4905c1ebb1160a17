import { SourceError } from '../contract/errors.js'
import { emitWarning } from '../contract/runtime.js'
import type { Delete, Entry, Invalid, ListEvent } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { Change } from '../queue/change.js'
import { RunToCompletion } from '../util/run-to-completion.js'
import type { Room } from './capacity.js'
import type { Commit, Membership } from './commit.js'
import { isDevelopment } from './deep-freeze.js'
import type { DeclaredIndex } from './indexes/index-builder.js'
import { Intake, type IntakeOptions, isOtherIdentity, OMITTED, SAME } from './ingest.js'
import { newPart, Ownership, type Part } from './key-ownership.js'
import { type Ordinal, Store } from './store.js'
import { structuralEqual } from './structural-equal.js'
import { type Undoable, UndoableMap } from './undo-journal.js'

/** What was written while it was kept. */
export interface WriteRecord {
  readonly keys: ReadonlySet<string>
  /** Whether this part went on by a whole collection, which does not tell what came and went in between. */
  readonly isReplaced: boolean
  stop(): void
}

/** What an informer adds to its indexer. */
export interface WriterHooks<T> extends Partial<IntakeOptions<T>> {
  /** `source`: over several sources, the one that it is about, where it is about one. */
  readonly report?: (error: SourceError, source?: string) => void
  readonly onInvalid?: 'omit' | 'keep-previous' | undefined
  readonly onCommit?: (commit: Commit<T>) => void
  /** A key that this source gave, and that was another's, is nobody's now. */
  readonly onReleased?: (source: string) => void
  readonly maxObjects?: number | undefined
  /** Whether to know what `prepare` left out. */
  readonly remembersOmitted?: boolean | undefined
}

/** A commit on its way. */
export interface Step<T> {
  readonly part: Part
  readonly origin: keyof typeof COMMIT_TYPES
  readonly version: Version | undefined
  readonly finalState: 'known' | 'unknown'
  readonly ignoreVersions: boolean
  /** Whether nobody wants to know. */
  readonly isSilent: boolean
  readonly changes: Change<T>[]
  readonly memberships: Membership[]
  readonly tracked: readonly DeclaredIndex<T>[]
  /** Keys that another source has given already. */
  readonly claimed: string[]
  /** Keys that the source gave, and that may be nobody's now. */
  readonly released: string[]
}

const NOTHING: readonly never[] = []
const COMMIT_TYPES = { initial: 'filled', relist: 'listed', watch: 'changed', 'access-lost': 'changed' } as const

/**
 * The one writer of a store: what an event does to it, and the commits that tell of that. Everything between `begin` and
 * `end` is one step; who takes one does so inside `inOneStep`.
 */
export class StoreWriter<T> {
  readonly store: Store<T>
  readonly intake: Intake<T>
  readonly ownership: Ownership
  /** What is invalid, of all sources. */
  readonly invalid: UndoableMap<string, SourceError> = new UndoableMap()
  /** What a single source has: everything. */
  readonly whole: Part = newPart()
  /** What may not come in the middle of a step of the store, or of what looks at all of it. */
  readonly reentrancy: RunToCompletion = new RunToCompletion()
  /** Told of functions of the user's that failed. */
  readonly warn: (error: SourceError) => void
  readonly #hooks: WriterHooks<T>
  /** Indexes whose values commits carry, because somebody's scope asks for them. */
  readonly #tracked = new Map<DeclaredIndex<T>, number>()
  /** Those who want to know which keys are written. */
  readonly #recorders = new Set<{ readonly keys: Set<string>; readonly part: Part; isReplaced: boolean }>()
  #commits = 0
  /** What the step that is under way can take back. */
  #undoables: readonly Undoable[] = NOTHING
  /** Whether the user's functions may be called between two parts of one step. */
  #isWriting = false

  constructor(hooks: WriterHooks<T>) {
    this.#hooks = hooks
    this.warn = hooks.report ?? (({ message, code }) => emitWarning(message, { code }))
    this.store = new Store(hooks.maxObjects, hooks.freeze ?? isDevelopment())
    this.intake = new Intake({
      prepare: hooks.prepare,
      equals: hooks.equals ?? structuralEqual,
      freeze: hooks.freeze ?? false,
      sourceOf: hooks.sourceOf,
      report: this.warn,
    })
    this.ownership = new Ownership(this.store, this.invalid)
  }

  /** How many steps the store has taken. */
  get commits(): number {
    return this.#commits
  }

  /** Where the store is: its version; over several sources a count of its own. */
  get position(): Version | undefined {
    return this.ownership.isShared ? String(this.#commits) : this.whole.version
  }

  /** Makes commits carry the values of an index, until the result is called. */
  track(index: DeclaredIndex<T>): () => void {
    this.#tracked.set(index, (this.#tracked.get(index) ?? 0) + 1)
    return () => {
      const users = (this.#tracked.get(index) ?? 1) - 1
      if (users === 0) this.#tracked.delete(index)
      else this.#tracked.set(index, users)
    }
  }

  get tracked(): Iterable<DeclaredIndex<T>> {
    return this.#tracked.keys()
  }

  /** Keeps the keys that are written from now on, until it is stopped. */
  record(part: Part): WriteRecord {
    const record = { keys: new Set<string>(), part, isReplaced: false, stop: () => this.#recorders.delete(record) }
    this.#recorders.add(record)
    return record
  }

  recordReplaced(part: Part): void {
    for (const record of this.#recorders) if (record.part === part) record.isReplaced = true
  }

  /** Refuses a call out of a function that the store calls while it is written. */
  assertNotWriting(call: string): void {
    if (!this.#isWriting) return
    throw new TypeError(
      `${call}: the store is being written; schema, transform, equals and index functions may only read the object that they are given`,
    )
  }

  /**
   * One thing at a time: `act` calls the user's functions, which may not write what is being written. A step that throws
   * before its commit is undone, and nothing of it is shown or told.
   */
  inOneStep<V>(call: string, act: () => V): V {
    this.assertNotWriting(call)
    return this.reentrancy.run(() => {
      this.#isWriting = true
      try {
        return act()
      } catch (error) {
        for (const each of this.#undoables) each.undo()
        this.#undoables = NOTHING
        throw error
      } finally {
        this.#isWriting = false
      }
    })
  }

  roomOf(part: Part): Room {
    const { store, ownership } = this
    return { store, owns: (ordinal) => ownership.owns(part, ordinal), owned: () => ownership.sizeOf(part) }
  }

  begin(part: Part, origin: keyof typeof COMMIT_TYPES, version: Version | undefined, ignoreVersions = false): Step<T> {
    this.store.assertIndexed()
    // The first list is not undone, but abandoned as a whole.
    if (origin !== 'initial') {
      this.#undoables = [this.store, this.ownership, this.invalid, part.invalid, part.omitted]
      for (const each of this.#undoables) each.begin()
    }
    return {
      part,
      origin,
      version,
      finalState: origin === 'watch' ? 'known' : 'unknown',
      ignoreVersions,
      isSilent: origin === 'initial' || this.#hooks.onCommit === undefined,
      changes: [],
      memberships: [],
      tracked: this.#tracked.size === 0 ? NOTHING : [...this.#tracked.keys()],
      claimed: [],
      released: [],
    }
  }

  end(step: Step<T>, version: Version | undefined, committedAt?: number): void {
    const { part, changes, memberships, tracked } = step
    part.version = version
    this.#commits++
    for (const each of this.#undoables) each.end()
    this.#undoables = NOTHING
    this.#isWriting = false // The store is whole.
    const { position } = this
    const type = COMMIT_TYPES[step.origin]
    this.#hooks.onCommit?.({ type, changes, memberships, tracked, version, position, source: part.name, committedAt })
    if (this.ownership.isShared) this.#settleClaims(step)
  }

  /** Tells of keys that two sources give, and gives those that are nobody's any more to the next. */
  #settleClaims({ part, claimed, released }: Step<T>): void {
    const [first] = claimed
    if (first !== undefined) {
      const others = claimed.length === 1 ? '' : ` and ${claimed.length - 1} more`
      const message = `another source of the set has the key "${first}"${others} already; what "${part.name}" says of it is left out`
      this.#hooks.report?.(new SourceError(message, { code: 'PROTOCOL', phase: 'apply', key: first }), part.name)
    }
    const next = new Set<string>()
    for (const key of released) {
      if (this.store.ordinalOf(key) !== undefined || this.invalid.has(key)) continue
      for (const { name } of this.ownership.release(key) ?? []) if (name !== undefined) next.add(name)
    }
    for (const name of next) this.#hooks.onReleased?.(name)
  }

  event(event: ListEvent<T>, step: Step<T>): void {
    switch (event.type) {
      case 'put':
        this.put(event, step)
        break
      case 'delete':
        this.#delete(event, step)
        break
      case 'invalid':
        this.#refuse(event, step)
        break
    }
  }

  put(arrived: Entry<unknown>, step: Step<T>): void {
    const ordinal = this.store.ordinalOf(arrived.key)
    if (this.ownership.isForeign(arrived.key, 'put', ordinal, step)) return
    const current = ordinal === undefined ? undefined : this.store.entryAt(ordinal)
    const taken = this.intake.take(arrived, current, step.ignoreVersions, step.part.name)
    if (taken instanceof SourceError) {
      this.markInvalid(arrived.key, taken, arrived.version, step)
      return
    }
    if (this.invalid.size > 0) this.markValid(arrived.key, step)
    if (taken === OMITTED) this.omit(arrived.key, arrived.version, step)
    else if (taken !== SAME) this.write(taken, ordinal, step)
  }

  #delete({ key, object }: Delete<unknown>, step: Step<T>): void {
    if (this.ownership.isForeign(key, 'delete', this.store.ordinalOf(key), step)) return
    this.markValid(key, step)
    step.part.omitted.delete(key)
    this.remove(key, this.intake.lastState(key, object), step)
  }

  #refuse({ key, error, version }: Invalid, step: Step<T>): void {
    if (key === undefined) this.refuseUnnamed(error, step.part)
    else if (!this.ownership.isForeign(key, 'invalid', this.store.ordinalOf(key), step))
      this.markInvalid(key, this.intake.invalid(key, error, step.part.name), version, step)
  }

  /** Nobody knows what it was. */
  refuseUnnamed(error: unknown, part: Part): void {
    this.#hooks.report?.(this.intake.invalid(undefined, error, part.name), part.name)
  }

  markValid(key: string, { part, released }: Step<T>): void {
    if (!part.invalid.delete(key)) return
    this.invalid.delete(key)
    this.#record(key)
    released.push(key)
  }

  markInvalid(key: string, error: SourceError, version: Version | undefined, step: Step<T>): void {
    const known = this.invalid.get(key)
    this.invalid.set(key, error)
    step.part.invalid.set(key, version)
    this.#record(key)
    if (known?.message !== error.message) this.#hooks.report?.(error, step.part.name)
    if (this.#hooks.onInvalid === 'omit') this.remove(key, undefined, { ...step, finalState: 'unknown' })
  }

  /** What `prepare` does not want. */
  omit(key: string, version: Version | undefined, step: Step<T>): void {
    this.remove(key, undefined, step)
    if (this.#hooks.remembersOmitted === true) step.part.omitted.set(key, version)
  }

  write(entry: Entry<T>, ordinal: Ordinal | undefined, step: Step<T>): void {
    const current = ordinal === undefined ? undefined : this.store.entryAt(ordinal)
    const isOther = current !== undefined && isOtherIdentity(current, entry)
    if (this.#recorders.size > 0) this.#record(entry.key)
    if (ordinal !== undefined && current?.object === entry.object && !isOther) {
      this.store.touch(ordinal, entry)
      return
    }
    if (step.part.omitted.size > 0) step.part.omitted.delete(entry.key)
    const was = step.isSilent ? NOTHING : valuesAt(ordinal, step)
    const at = this.store.set(entry, ordinal)
    this.ownership.set(step.part, at)
    if (step.isSilent) return
    const is = valuesAt(at, step)
    const { key, object } = entry
    const { version, origin } = step
    if (current === undefined) {
      this.#tell({ type: 'add', key, object, previous: undefined, version, origin }, was, is, step)
      return
    }
    const previous = current.object
    if (!isOther) {
      this.#tell({ type: 'update', key, object, previous, version, origin }, was, is, step)
      return
    }
    const gone: Change<T> = { type: 'delete', key, object: previous, previous, version, origin, finalState: 'unknown' }
    this.#tell(gone, was, [], step)
    this.#tell({ type: 'add', key, object, previous: undefined, version, origin }, [], is, step)
  }

  remove(key: string, last: T | undefined, step: Step<T>): void {
    const ordinal = this.store.ordinalOf(key)
    const was = valuesAt(ordinal, step)
    const entry = this.store.delete(key)
    if (this.#recorders.size > 0) this.#record(key)
    if (ordinal !== undefined && this.ownership.isShared) {
      this.ownership.set(undefined, ordinal)
      step.released.push(key)
    }
    if (entry === undefined || step.isSilent) return
    const { version, origin, finalState } = step
    const previous = entry.object
    const object = last === undefined ? previous : last
    this.#tell({ type: 'delete', key, object, previous, version, origin, finalState }, was, [], step)
  }

  #tell(change: Change<T>, was: readonly unknown[], is: readonly unknown[], step: Step<T>): void {
    step.changes.push(change)
    if (step.tracked.length > 0) step.memberships.push({ was, is })
  }

  #record(key: string): void {
    for (const { keys } of this.#recorders) keys.add(key)
  }
}

function valuesAt<T>(ordinal: Ordinal | undefined, { tracked }: Step<T>): readonly unknown[] {
  return ordinal === undefined || tracked.length === 0 ? NOTHING : tracked.map(({ index }) => index.valueAt(ordinal))
}
