import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'

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

/** `redis1.<epoch>.<sequence>.<chain>`, or `redis1.absent.<ms>` */
export function formatVersion(at: Position | Absent): Version {
  return 'absentAt' in at ? `redis1.absent.${at.absentAt}` : ['redis1', at.epoch, at.sequence, at.chain].join('.')
}

export function parseVersion(version: Version): Position | Absent {
  const match = /^redis1\.(?:absent\.(\d{1,16})|(\d{1,16})\.(\d{1,16})\.([0-9a-f]{16}))$/.exec(version)
  if (match === null) throw notOurs(version)
  const [, absentAt, epoch, sequence, chain = ''] = match
  return absentAt === undefined
    ? { epoch: Number(epoch), sequence: Number(sequence), chain }
    : { absentAt: Number(absentAt) }
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
    if (there.epoch < here.absentAt) throw another('the collection was deleted since')
    return false
  }
  if ('absentAt' in there) {
    if (here.epoch < there.absentAt) throw another('the collection was deleted since')
    return true
  }
  if (here.epoch !== there.epoch) throw another('the collection was made anew')
  if (here.sequence === there.sequence && here.chain !== there.chain) throw another('the history was forked')
  return here.sequence >= there.sequence
}

function another(detail: string): SourceError {
  return new SourceError(`the version is of another history: ${detail}`, { code: 'EPOCH_CHANGED' })
}

function notOurs(version: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is no version of a Redis collection`, { code: 'PROTOCOL' })
}
