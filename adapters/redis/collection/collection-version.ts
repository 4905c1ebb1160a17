import type { Version } from '../../../src/contract/version.js'
import { integer, otherHistory, textField, versionFormat } from '../../shared/version-format.js'

/** A place in the history of a collection. `chain` is the hash of everything up to there, so that forks differ. */
export interface Position {
  /** When this history began, in milliseconds since 1970 by the server's clock; above every earlier one. */
  readonly epoch: number
  /** Dense: the next entry has the next one. */
  readonly sequence: number
  readonly chain: string
}

/** There was no collection when the server's clock showed this, in milliseconds. */
export interface Absent {
  readonly absentAt: number
}

const OF = 'a Redis collection'

const positions = versionFormat<Position>('redis1', OF, {
  epoch: integer,
  sequence: integer,
  chain: textField(/^[0-9a-f]{16}$/),
})
const absences = versionFormat<Absent>('redis1.absent', OF, { absentAt: integer })

/** `redis1.<epoch>.<sequence>.<chain>`, or `redis1.absent.<ms>` */
export function formatVersion(at: Position | Absent): Version {
  return 'absentAt' in at ? absences.format(at) : positions.format(at)
}

export function parseVersion(version: Version): Position | Absent {
  return version.startsWith('redis1.absent.') ? absences.parse(version) : positions.parse(version)
}

/** The id of an entry in the stream. */
export function idOf({ epoch, sequence }: Position): string {
  return `${epoch}-${sequence}`
}

/**
 * Whether a mirror at `at` includes `mark`. Throws `EPOCH_CHANGED` for another history, `PROTOCOL` for nonsense. A history
 * that began before a moment at which there was none is gone; one that began after it is still to come.
 */
export function includesMark(at: Version, mark: Version): boolean {
  const [here, there] = [parseVersion(at), parseVersion(mark)]
  if ('absentAt' in here) {
    if ('absentAt' in there) return true
    if (there.epoch < here.absentAt) throw otherHistory('the collection was deleted since')
    return false
  }
  if ('absentAt' in there) {
    if (here.epoch < there.absentAt) throw otherHistory('the collection was deleted since')
    return true
  }
  if (here.epoch !== there.epoch) throw otherHistory('the collection was made anew')
  if (here.sequence === there.sequence && here.chain !== there.chain) throw otherHistory('the history was forked')
  return here.sequence >= there.sequence
}
