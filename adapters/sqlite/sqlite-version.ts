import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'
import { expired, forked } from '../common/source-errors.js'
import { integer, otherHistory, textField, versionFormat } from '../common/version-format.js'

/** A position in the history of a file: a row of the change log. */
export interface Position {
  readonly epoch: string
  /** The number of the row. It grows with each commit. */
  readonly n: number
  /** The random number of the row. If two files have the same one at a number, they have the same history up to it. */
  readonly stamp: number
}

/** The version of a mirrored table. */
export interface SqliteVersion extends Position {
  /** SQLite's `schema_version`, which every DDL changes. A change of the schema may change rows without a log. */
  readonly schema: number
}

/** The kind of source in messages. */
const OF = 'a SQLite source'

const epoch = textField(/^[0-9a-f]{16}$/)
const versions = versionFormat<SqliteVersion>('sl1', OF, { epoch, schema: integer, n: integer, stamp: integer })
/** The text of the view `listwatch_mark`. */
const marks = versionFormat<Position>('slm1', OF, { epoch, n: integer, stamp: integer })

export const formatVersion = (version: SqliteVersion): Version => versions.format(version)
export const parseVersion = (version: Version): SqliteVersion => versions.parse(version)

function parsePosition(version: Version): Position {
  return version.startsWith('slm1.') ? marks.parse(version) : versions.parse(version)
}

/** Returns whether `at` includes `mark`. Both are versions or marks. */
export function includesMark(at: Version, mark: Version): boolean {
  const [ours, theirs] = [parsePosition(at), parsePosition(mark)]
  if (ours.epoch !== theirs.epoch) throw otherHistory('it is of another epoch')
  // The transaction of such a mark was rolled back, or lost by a restore. Another one has its number.
  if (ours.n === theirs.n && ours.stamp !== theirs.stamp) throw otherHistory('its transaction was undone')
  return ours.n >= theirs.n
}

/** The end of the log, and what it has at a version, in one snapshot. */
export interface LogState {
  readonly at: SqliteVersion
  /** The stamp of the row that the version names; undefined if there is no such row. */
  readonly known: number | undefined
}

/** Throws if the log does not continue the history of the version. */
export function assertContinues({ at, known }: LogState, from: SqliteVersion): void {
  assertSameHistory({ at, known }, from)
  if (known === undefined) throw expired('its row of the change log was removed')
  if (at.schema !== from.schema) throw expired('the schema of the file was changed')
}

/** Throws `EPOCH_CHANGED` if the version is certainly of another history. */
export function assertSameHistory({ at, known }: LogState, from: SqliteVersion): void {
  if (at.epoch !== from.epoch) throw forked('the file has another epoch')
  if (at.n < from.n) throw forked('the file is an older copy')
  if (known !== undefined && known !== from.stamp) throw forked('an older copy of the file was written to')
}

export function isForked(thrown: unknown): boolean {
  return thrown instanceof SourceError && thrown.code === 'EPOCH_CHANGED'
}
