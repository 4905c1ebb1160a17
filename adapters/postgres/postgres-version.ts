import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'
import { notAVersion, textField, type VersionField, versionFormat } from '../common/version-format.js'

/** A `pg_snapshot`. A transaction had ended when it was taken if it is below `xmax` and not among `running`. */
export interface TransactionSnapshot {
  readonly xmax: bigint
  readonly running: ReadonlySet<bigint>
}

/** The incarnation of a database. Transaction ids of two incarnations cannot be compared. */
export interface Incarnation {
  readonly system: string
  readonly database: string
  readonly epoch: string
}

/** The version of a mirrored table. `snapshot` is Postgres's own text. */
export interface PostgresVersion extends Incarnation {
  readonly generation: string
  readonly shape: string
  /** A hash of the access that row security grants the role; empty if it does not apply. */
  readonly access: string
  readonly snapshot: string
}

/** A mark: a transaction, or everything that a snapshot shows. */
type Mark = Incarnation &
  ({ readonly transaction: bigint } | { readonly snapshot: string }) & {
    /** Whether it may be of an epoch after the mirror's: a wait continues, because the mirror lists soon. */
    readonly mayBeAhead: boolean
  }

const OF = 'a Postgres source'
/** The epoch of a head that was read before an epoch was seeded. */
const UNSEEDED = '-'

const SNAPSHOT = /^\d{1,20}:(\d{1,20}):((?:\d{1,20},)*\d{1,20})?$/
const word = textField(/./)
const incarnation = { system: word, database: word, epoch: word }
const snapshot = textField(SNAPSHOT)
const id: VersionField<bigint> = { allows: (text) => /^\d{1,20}$/.test(text), parse: BigInt, format: String }

const versions = versionFormat<PostgresVersion>('pg1', OF, {
  ...incarnation,
  generation: word,
  shape: word,
  access: textField(/^/),
  snapshot,
})
/** The current version of the database, for any table. */
const heads = versionFormat<Incarnation & { snapshot: string }>('pgs1', OF, { ...incarnation, snapshot })
/** A result of `listwatch.mark()`. */
const marks = versionFormat<Incarnation & { transaction: bigint }>('pgm1', OF, { ...incarnation, transaction: id })

export const formatVersion: (version: PostgresVersion) => Version = versions.format
export const parseVersion: (version: Version) => PostgresVersion = versions.parse

export function formatHead(
  { epoch, ...database }: Omit<Incarnation, 'epoch'> & { readonly epoch: string | undefined },
  shown: string,
): Version {
  return heads.format({ ...database, epoch: epoch ?? UNSEEDED, snapshot: shown })
}

function parseMark(mark: Version): Mark {
  if (mark.startsWith('pg1.')) return { ...versions.parse(mark), mayBeAhead: false }
  if (mark.startsWith('pgm1.')) return { ...marks.parse(mark), mayBeAhead: true }
  const head = heads.parse(mark)
  return { ...head, epoch: head.epoch === UNSEEDED ? head.snapshot : head.epoch, mayBeAhead: true }
}

/** `at`: a version or a head. Throws `EPOCH_CHANGED` for another incarnation of the database. */
export function includesMark(at: Version, mark: Version): boolean {
  const ours = parseMark(at)
  if ('transaction' in ours) throw notAVersion(at, OF)
  const theirs = parseMark(mark)
  const order = epochOrder(ours, theirs, mark)
  if (order === 'later' && theirs.mayBeAhead) return false
  const change = order === 'same' ? undefined : incarnationChange(ours, theirs)
  if (change !== undefined) throw new SourceError(`the version is of ${change}`, { code: 'EPOCH_CHANGED' })
  const snapshot = parseSnapshot(ours.snapshot, at)
  return 'transaction' in theirs
    ? hasEnded(theirs.transaction, snapshot)
    : covers(snapshot, parseSnapshot(theirs.snapshot, mark))
}

/** Returns whether a mark is certainly of an epoch that began after that of `at`. */
export function isLaterEpoch(at: Version, mark: Version): boolean {
  const theirs = parseMark(mark)
  return theirs.mayBeAhead && epochOrder(parseVersion(at), theirs, mark) === 'later'
}

/**
 * Throws `EPOCH_CHANGED` for a snapshot that is older than the version, in the same epoch. A server keeps its epoch if
 * it is stopped and its files are replaced by an older copy.
 */
export function assertNotBehind(snapshot: string, { snapshot: known }: PostgresVersion): void {
  if (parseSnapshot(snapshot, snapshot).xmax >= parseSnapshot(known, known).xmax) return
  const message = 'the server is older than the version: its files were replaced by an older copy'
  throw new SourceError(message, { code: 'EPOCH_CHANGED' })
}

export function incarnationChange(a: Incarnation, b: Incarnation): string | undefined {
  if (a.system !== b.system) return 'another server'
  if (a.database !== b.database) return 'another database'
  if (a.epoch !== b.epoch) return 'another epoch: the server has recovered from a crash, or was restored or promoted'
  return undefined
}

/**
 * Returns whether a mark is of the mirror's epoch or of a later one; `other` if neither is certain. An epoch contains
 * the id of the transaction that seeded it, and the time. A mark that was taken while no epoch was seeded contains a
 * snapshot instead. If that snapshot includes the seed of the mirror's epoch, a crash has removed that epoch since.
 */
function epochOrder(here: Incarnation, there: Incarnation, mark: Version): 'same' | 'later' | 'other' {
  if (here.system !== there.system || here.database !== there.database) return 'other'
  if (here.epoch === there.epoch) return 'same'
  const ours = seedOf(here.epoch)
  if (ours === undefined) return 'other'
  if (there.epoch.includes(':')) return hasEnded(ours.transaction, parseSnapshot(there.epoch, mark)) ? 'later' : 'same'
  const theirs = seedOf(there.epoch)
  return theirs !== undefined && theirs.transaction > ours.transaction && theirs.at > ours.at ? 'later' : 'other'
}

/** Parses an epoch of listwatch.state: `<random>-<transaction>-<milliseconds>`. */
function seedOf(epoch: string): { readonly transaction: bigint; readonly at: bigint } | undefined {
  const [, transaction, at] = /^\w+-(\d{1,20})-(\d{1,20})$/.exec(epoch) ?? []
  return transaction === undefined || at === undefined
    ? undefined
    : { transaction: BigInt(transaction), at: BigInt(at) }
}

function covers(later: TransactionSnapshot, earlier: TransactionSnapshot): boolean {
  if (later.xmax < earlier.xmax) return false
  for (const transaction of later.running) if (hasEnded(transaction, earlier)) return false
  return true
}

function hasEnded(transaction: bigint, snapshot: TransactionSnapshot): boolean {
  return transaction < snapshot.xmax && !snapshot.running.has(transaction)
}

/** Parses `xmin:xmax:xip,xip,…`. Names `of` in the error. */
export function parseSnapshot(text: string, of: string): TransactionSnapshot {
  const match = SNAPSHOT.exec(text)
  if (match?.[1] === undefined) throw notAVersion(of, OF)
  const running = match[2] === undefined ? [] : match[2].split(',')
  return { xmax: BigInt(match[1]), running: new Set(running.map(BigInt)) }
}
