import type { Version } from '../contract/version.js'
import type { Change, Origin } from '../queue/change.js'
import { RunToCompletion } from '../util/run-to-completion.js'
import { SerialQueue } from '../util/serial-queue.js'
import type { Steps } from '../util/steps.js'
import type { DeclaredIndex } from './indexes/index-builder.js'

/**
 * The values of one object in the tracked indexes, in the order of `Commit.tracked`: all values before a change, then all
 * values after it. One array, because a busy source has one for each change.
 */
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
  /** The writer of the store. */
  readonly writer: object
  /** Makes it visible. */
  publish(): void
  /** Reports it. Returns the steps that are left. */
  report(): Steps | undefined
}

/** A store whose content follows from other stores of its domain. */
export interface Dependent {
  /** Greater than the numbers of the dependents below it. */
  readonly number: number
  /**
   * Writes what follows from these parts, in steps. Returns its own part, if the store takes part in the commit. Never
   * throws.
   */
  advance(parts: readonly DomainPart[]): Generator<void, DomainPart | undefined>
}

/**
 * Stores whose commits become visible in one step: that of the store which was written, and those of all stores that
 * follow from it. Each store is in a domain, of one by default. One write runs at a time.
 */
export class CommitDomain {
  readonly queue: SerialQueue = new SerialQueue()
  /** Delays actions that may not run inside a transaction, or inside a scan of a whole store. */
  readonly reentrancy: RunToCompletion = new RunToCompletion()
  /** Whether the user's functions are called for a write: they cannot write. */
  isWriting = false
  #dependents: readonly Dependent[] = []
  #successor: CommitDomain | undefined

  /** The domain into which this one was merged; without it, this one. */
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
