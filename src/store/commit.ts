import type { Version } from '../contract/version.js'
import type { Change, Origin } from '../queue/change.js'
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
