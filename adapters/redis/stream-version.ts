import { SourceError } from '../../src/errors.js'
import type { Version } from '../../src/version.js'

/** The place before all entries. */
export const BEGIN = '0-0'

/** A place in a stream that others write, and by what the history before it can be recognised. */
export interface StreamPlace {
  /** Everything up to this id was read. */
  readonly id: string
  /** How many entries were ever added up to there; undefined where it is not known. */
  readonly added: number | undefined
  /** Of the entry with this id; undefined where there is none, or where it is not known. */
  readonly digest: string | undefined
}

/** `redisx1.<id>.<added>.<digest>`; `-` for what is not known. */
export function formatPlace({ id, added, digest }: StreamPlace): Version {
  return ['redisx1', id, added ?? '-', digest ?? '-'].join('.')
}

export function parsePlace(version: Version): StreamPlace {
  const match = /^redisx1\.(\d{1,20}-\d{1,20})\.(\d{1,16}|-)\.([0-9a-f]{16}|-)$/.exec(version)
  if (match === null) throw notOurs(version)
  const [, id = '', added, digest] = match
  return { id, added: added === '-' ? undefined : Number(added), digest: digest === '-' ? undefined : digest }
}

/** Below 0 where `a` is before `b`, 0 where they are the same, above 0 where it comes after. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0
  const [[aMs = '0', aSequence = '0'], [bMs = '0', bSequence = '0']] = [a.split('-'), b.split('-')]
  return compareDigits(aMs, bMs) || compareDigits(aSequence, bSequence)
}

/**
 * Whether a mirror at `at` includes `mark`: a version, or the id that XADD gave. A stream has no epoch: where both are
 * versions and one has the later id but fewer entries before it, they are of two histories, `EPOCH_CHANGED`.
 */
export function includesMark(at: Version, mark: Version): boolean {
  const here = parsePlace(at)
  const isId = /^\d{1,20}(-\d{1,20})?$/.test(mark)
  const there: StreamPlace = isId ? { id: mark, added: undefined, digest: undefined } : parsePlace(mark)
  const order = compareIds(here.id, there.id)
  if (here.added !== undefined && there.added !== undefined) {
    const isContrary =
      order === 0 ? here.added !== there.added : Math.sign(here.added - there.added) === -Math.sign(order)
    if (isContrary) throw another(`${here.added} entries up to ${here.id}, ${there.added} up to ${there.id}`)
  }
  if (order === 0 && here.digest !== undefined && there.digest !== undefined && here.digest !== there.digest)
    throw another(`there are two entries ${here.id}`)
  return order >= 0
}

/** Decimal numbers of any length, without leading zeros. */
function compareDigits(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

function another(detail: string): SourceError {
  return new SourceError(`the version is of another history: ${detail}`, { code: 'EPOCH_CHANGED' })
}

function notOurs(version: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is no version of a Redis stream`, { code: 'PROTOCOL' })
}
