import type { Version } from '../../../src/contract/version.js'
import {
  integer,
  optional,
  otherHistory,
  textField,
  type VersionFormat,
  versionFormat,
} from '../../common/version-format.js'

export const BEGIN = '0-0'

/** A position in a stream, with a proof of the history before it. */
export interface StreamPosition {
  /** All entries up to this id were read. */
  readonly id: string
  /** The number of entries that were ever added up to this one; undefined if unknown. */
  readonly added: number | undefined
  /** The hash of the entry with this id; undefined if it does not exist or is unknown. */
  readonly digest: string | undefined
  /** The id of the first entry of the history; undefined if unknown. */
  readonly origin: string | undefined
}

export function positionAt(id: string): StreamPosition {
  return { id, added: undefined, digest: undefined, origin: undefined }
}

const id = textField(/^\d{1,20}-\d{1,20}$/)

/** `redisx1.<id>.<added>.<digest>.<origin>`; `-` for an unknown field. */
export const positions: VersionFormat<StreamPosition> = versionFormat<StreamPosition>('redisx1', 'a Redis stream', {
  id,
  added: optional(integer),
  digest: optional(textField(/^[0-9a-f]{16}$/)),
  origin: optional(id),
})

/** Below 0 if `a` is before `b`, 0 if they are equal, above 0 if `a` is after `b`. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0
  const [[aMs = '0', aSequence = '0'], [bMs = '0', bSequence = '0']] = [a.split('-'), b.split('-')]
  return compareDigits(aMs, bMs) || compareDigits(aSequence, bSequence)
}

/**
 * Whether a mirror at `at` includes `mark`: a version, or an id that XADD returned. A stream has no epoch. If the known
 * fields of both contradict each other, they are of two histories: throws `EPOCH_CHANGED`.
 */
export function includesMark(at: Version, mark: Version): boolean {
  const here = positions.parse(at)
  const isId = /^\d{1,20}(-\d{1,20})?$/.test(mark)
  const there = isId ? positionAt(mark) : positions.parse(mark)
  const order = compareIds(here.id, there.id)
  if (here.origin !== undefined && there.origin !== undefined && here.origin !== there.origin)
    throw otherHistory(`one began with ${here.origin}, the other with ${there.origin}`)
  if (here.added !== undefined && there.added !== undefined && Math.sign(here.added - there.added) !== Math.sign(order))
    throw otherHistory(`${here.added} entries up to ${here.id}, ${there.added} up to ${there.id}`)
  if (order === 0 && here.digest !== undefined && there.digest !== undefined && here.digest !== there.digest)
    throw otherHistory(`there are two entries ${here.id}`)
  return order >= 0
}

function compareDigits(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}
