import { SourceError } from '../../contract/errors.js'
import type { Version } from '../../contract/version.js'
import type { Change, Origin } from '../../queue/change.js'
import { RunToCompletion } from '../../util/run-to-completion.js'
import { SerialQueue } from '../../util/serial-queue.js'
import type { Steps } from '../../util/steps.js'
import type { DeclaredIndex } from '../indexes/index-builder.js'
import type { Ordinal } from '../ordinals.js'

/** All values before a change, then all after it. One array: a busy source has one for each change. */
export type Membership = readonly unknown[]

/** A resync delivers stored objects again, and writes nothing. */
export type CommitOrigin = Exclude<Origin, 'resync'>

/** The result of one transaction of the store, reported after it is complete. */
export interface Commit<T> {
  /** With `initial`, the first list is complete, and `changes` is empty: subscribers start from the store itself. */
  readonly origin: CommitOrigin
  readonly changes: readonly Change<T>[]
  /** One for each change if indexes are tracked, else empty. */
  readonly memberships: readonly Membership[]
  /** The indexes that were tracked at the start of the transaction. */
  readonly tracked: readonly DeclaredIndex<T>[]
  readonly version: Version | undefined
  /** The position of the store: its version, or for several sources the number of its commits. */
  readonly position: Version | undefined
  /** The name of the partition; undefined if one source has the whole store. */
  readonly source: string | undefined
  readonly committedAt: number | undefined
}

/** The transaction of one store in a commit of its domain: it is complete, cannot fail any more, and is not visible. */
export interface DomainPart extends Omit<Commit<unknown>, 'position' | 'source' | 'tracked'> {
  readonly tracked: readonly unknown[]
  /** By change: the ordinal of the object after it; of a deleted one before it. */
  readonly ordinals: readonly Ordinal[]
  readonly writer: object
  publish(): void
  report(): Steps | undefined
}

/** A store whose content follows from other stores of its domain. */
export interface Dependent {
  /** Greater than the numbers of the dependents below it. */
  readonly number: number
  /** Writes what follows from these parts. Returns its own part, if it takes part in the commit. Never throws. */
  advance(parts: readonly DomainPart[]): Generator<void, DomainPart | undefined>
}

/**
 * The commit of a written store becomes visible in one step with those of all stores that follow from it. Each store is
 * in a domain, of one by default. One write runs at a time.
 */
export class CommitDomain {
  readonly queue: SerialQueue = new SerialQueue()
  /** Delays actions that may not run inside a transaction, or inside a scan of a whole store. */
  readonly reentrancy: RunToCompletion = new RunToCompletion()
  /** Whether the user's functions are called for a write: they cannot write. */
  isWriting = false
  #dependents: readonly Dependent[] = []
  #successor: CommitDomain | undefined

  get current(): CommitDomain {
    return this.#successor?.current ?? this
  }

  get isMerged(): boolean {
    return this.#successor !== undefined
  }

  get hasDependents(): boolean {
    return this.#dependents.length > 0
  }

  /** From now on the stores of another domain are in this one. Nothing may run or wait in either of them. */
  merge(other: CommitDomain): void {
    if (other === this) return
    other.#successor = this
    this.#set([...this.#dependents, ...other.#dependents])
  }

  has(dependent: Dependent): boolean {
    return this.#dependents.includes(dependent)
  }

  add(dependent: Dependent): void {
    this.#set([...this.#dependents, dependent])
  }

  remove(dependent: Dependent): void {
    this.#set(this.#dependents.filter((each) => each !== dependent))
  }

  #set(dependents: readonly Dependent[]): void {
    this.#dependents = dependents.toSorted((a, b) => a.number - b.number)
  }

  /** Performs the commit of stores, and of all that follow from them: all are advanced, then published, then reported. */
  *commit(...written: readonly DomainPart[]): Steps {
    const parts = [...written]
    for (const dependent of this.#dependents) {
      const part = yield* dependent.advance(parts)
      if (part !== undefined) parts.push(part)
    }
    for (const part of parts) part.publish()
    const reports = parts.map((part) => part.report())
    for (const steps of reports) if (steps !== undefined) yield* steps
  }
}

/** A transaction that is written, and can still be undone. */
interface WrittenPart extends DomainPart {
  end(version: Version | undefined, committedAt: number | undefined): void
}

/** The writer of a store, whatever its objects are: a StoreWriter. */
interface GroupedWriter {
  readonly domain: CommitDomain
  readonly isBusy: boolean
  readonly isAbandoned: boolean
  readonly largeWrite: number
  readonly store: { hold(): void; release(): void; readonly indexes: { prepare(): Steps } }
  idle(): Promise<void>
  assertNotEnded(call: string): void
  undo(): void
  write(call: string, size: number, begin: () => Steps): void | Promise<void>
  committed(version: Version | undefined): void
}

interface GroupedWrite {
  readonly writer: GroupedWriter
  readonly size: number
  /** Writes it. Returns the transaction, which is still to be ended. */
  begin(): Generator<void, WrittenPart>
  readonly version: Version | undefined
  readonly committedAt: number | undefined
}

interface PendingWrite extends GroupedWrite {
  readonly settled: PromiseWithResolvers<void>
}

/**
 * The next batches or lists of several stores, visible in one step when each store has added its own or left the group.
 * A store that cannot be written leaves it too: its write rejects, and the others are committed.
 */
export class CommitGroup {
  /** The writer of an empty store, which is never ended. The group is a write of that store, too. */
  readonly #writer: GroupedWriter
  readonly #missing: Set<object>
  readonly #writes = new Map<object, PendingWrite>()
  /** The partitions that show the version already, so that they add nothing. */
  readonly #unchanged = new Set<object>()
  readonly #onCommit: (written: ReadonlySet<object>) => void
  #withdrawn: SourceError | undefined

  /** `onCommit` is called with the partitions that show the version, before the commit is reported. */
  constructor(writer: GroupedWriter, partitions: Iterable<object>, onCommit: (written: ReadonlySet<object>) => void) {
    this.#writer = writer
    this.#missing = new Set(partitions)
    this.#onCommit = onCommit
  }

  /** Resolves when the write is visible. Rejects if it cannot be performed. */
  add(partition: object, write: GroupedWrite): Promise<void> {
    if (this.#withdrawn !== undefined) return Promise.reject(this.#withdrawn)
    const settled = Promise.withResolvers<void>()
    this.#writes.set(partition, { ...write, settled })
    if (this.#missing.delete(partition) && this.#missing.size === 0) void this.#perform()
    return settled.promise
  }

  /** The partition adds nothing any more. A write that it has added is performed. */
  leave(partition: object, isUnchanged = false): void {
    if (!this.#missing.delete(partition)) return
    if (isUnchanged) this.#unchanged.add(partition)
    if (this.#missing.size > 0) return
    // Not now: one of the user's functions may have stopped its informer.
    void Promise.resolve().then(() => this.#perform())
  }

  /** If the partition has not added its write, no store is written: each write rejects. */
  withdraw(partition: object): void {
    if (!this.#missing.has(partition)) return
    this.#missing.clear()
    this.#withdrawn = new SourceError('another collection of the history is listed again', { code: 'UNAVAILABLE' })
    for (const { settled } of this.#writes.values()) settled.reject(this.#withdrawn)
  }

  async #perform(): Promise<void> {
    const writes = [...this.#writes.values()]
    if (writes.length === 0) {
      if (this.#unchanged.size > 0) this.#onCommit(this.#unchanged)
      return
    }
    try {
      const size = writes.reduce((sum, each) => sum + each.size, 0)
      const isApart = ({ writer }: PendingWrite): boolean => writer.domain !== this.#writer.domain
      if (writes.some(isApart)) await this.#join(writes)
      const { domain, largeWrite } = this.#writer
      const isHeld = size > largeWrite || domain.hasDependents || domain.queue.isBusy
      await this.#writer.write('apply', size, () => this.#steps(isHeld))
      for (const { settled } of writes) settled.resolve()
    } catch (error) {
      for (const { settled } of writes) settled.reject(error)
    }
  }

  async #join(writes: readonly PendingWrite[]): Promise<void> {
    const writers: readonly GroupedWriter[] = [this.#writer, ...writes.map(({ writer }) => writer)]
    for (let busy = writers.find(isBusy); busy !== undefined; busy = writers.find(isBusy)) await busy.idle()
    for (const { domain } of writers) this.#writer.domain.merge(domain)
  }

  *#steps(isHeld: boolean): Steps {
    const parts = new Map<object, WrittenPart>()
    for (const [partition, write] of this.#writes) {
      const part = yield* written(write, isHeld)
      if (part !== undefined) parts.set(partition, part)
    }
    for (const [partition, write] of this.#writes) {
      // It may have been stopped while others were written.
      if (parts.has(partition) && isRefused(write)) parts.delete(partition)
    }
    if (parts.size === 0) return
    for (const [partition, part] of parts) {
      const write = this.#writes.get(partition)
      part.end(write?.version, write?.committedAt)
    }
    const shown = new Set([...parts.keys(), ...this.#unchanged])
    yield* this.#writer.domain.commit(this.#own(shown), ...parts.values())
  }

  /** The part of the empty store. It is the first to be published and reported. */
  #own(partitions: ReadonlySet<object>): DomainPart {
    const nothing = { changes: [], memberships: [], tracked: [], ordinals: [] }
    const publish = (): void => this.#writer.committed(undefined)
    const report = (): undefined => void this.#onCommit(partitions)
    const [version, committedAt] = [undefined, undefined]
    return { ...nothing, version, committedAt, origin: 'watch', writer: this.#writer, publish, report }
  }
}

function isBusy({ isBusy }: { readonly isBusy: boolean }): boolean {
  return isBusy
}

/** Performs a write. Returns undefined if that fails, or if the store is stopped meanwhile. */
function* written(write: PendingWrite, isHeld: boolean): Generator<void, WrittenPart | undefined> {
  const { store } = write.writer
  if (isRefused(write)) return undefined
  try {
    if (isHeld) store.hold()
    const steps = write.begin()
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        if (isHeld) yield* store.indexes.prepare()
        return step.value
      }
      yield
      if (isRefused(write)) return undefined
    }
  } catch (error) {
    giveUp(write, error)
    return undefined
  }
}

/** Whether the store is stopped, so that its write is given up. */
function isRefused(write: PendingWrite): boolean {
  try {
    write.writer.assertNotEnded('apply')
    return false
  } catch (error) {
    giveUp(write, error)
    return true
  }
}

/** Readers never see the write. Those of a store that was stopped see the state before from now on. */
function giveUp({ writer, settled }: PendingWrite, error: unknown): void {
  settled.reject(error)
  if (writer.isAbandoned) return
  writer.undo()
  writer.store.release()
}
