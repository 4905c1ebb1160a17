import type { Version } from '../../../src/contract/version.js'
import { integer, otherHistory, textField, versionFormat } from '../../common/version-format.js'

export interface Position {
  /** When this history began, in milliseconds by the server's clock. It exceeds all earlier epochs. */
  readonly epoch: number
  /** The number of the entry. The numbers have no gaps. */
  readonly sequence: number
  /** The hash of all entries up to this one. It differs between forks. */
  readonly chain: string
}

/** The collection did not exist at this time of the server's clock, in milliseconds. */
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

export function formatVersion(at: Position | Absent): Version {
  return 'absentAt' in at ? absences.format(at) : positions.format(at)
}

export function parseVersion(version: Version): Position | Absent {
  return version.startsWith('redis1.absent.') ? absences.parse(version) : positions.parse(version)
}

export function idOf({ epoch, sequence }: Position): string {
  return `${epoch}-${sequence}`
}

/**
 * Whether a mirror at `at` includes `mark`. Throws `EPOCH_CHANGED` for another history, and `PROTOCOL` for any other
 * text. A history that began before a time at which the collection did not exist is gone. A history that began after
 * that time comes later.
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
  if (here.epoch !== there.epoch) throw otherHistory('the collection was recreated')
  if (here.sequence === there.sequence && here.chain !== there.chain) throw otherHistory('the history was forked')
  return here.sequence >= there.sequence
}
