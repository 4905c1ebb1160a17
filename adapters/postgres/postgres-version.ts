import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'

/** A `pg_snapshot`: a transaction had ended when it was taken, if it is below `xmax` and not among `running`. */
export interface TransactionSnapshot {
  readonly xmax: bigint
  readonly running: ReadonlySet<bigint>
}

/** Which incarnation of which database: transaction ids mean nothing across two of them. */
export interface Incarnation {
  readonly system: string
  readonly database: string
  readonly epoch: string
}

/** Where a mirror of a table is. `snapshot` is Postgres's own text. */
export interface PostgresVersion extends Incarnation {
  readonly generation: string
  readonly shape: string
  /** Which rows row security leaves to the role; empty if it does not apply. */
  readonly access: string
  readonly snapshot: string
}

/** What can be waited for: a transaction, or everything that a snapshot shows. */
type Mark = Incarnation &
  ({ readonly transaction: bigint } | { readonly snapshot: string }) & {
    /** A mark or a head of an epoch that is later than the mirror's is waited for: the mirror lists soon. */
    readonly mayBeAhead: boolean
  }

/** The epoch of a head that was taken before anybody seeded one. */
const UNSEEDED = '-'

/** `pg1.<system>.<database>.<epoch>.<generation>.<shape>.<access>.<snapshot>` */
export function formatVersion(version: PostgresVersion): Version {
  const { system, database, epoch, generation, shape, access, snapshot } = version
  return ['pg1', system, database, epoch, generation, shape, access, snapshot].join('.')
}

/** `pgs1.<system>.<database>.<epoch>.<snapshot>`: where the database is, whatever the table. */
export function formatHead(
  { system, database, epoch }: Omit<Incarnation, 'epoch'> & { readonly epoch: string | undefined },
  snapshot: string,
): Version {
  return ['pgs1', system, database, epoch ?? UNSEEDED, snapshot].join('.')
}

export function parseVersion(version: Version): PostgresVersion {
  const [kind, system, database, epoch, generation, shape, access, snapshot, ...rest] = version.split('.')
  const isComplete = system && database && epoch && generation && shape && access !== undefined && snapshot
  if (kind !== 'pg1' || !isComplete || rest.length > 0) throw notOurs(version)
  parseSnapshot(snapshot, version)
  return { system, database, epoch, generation, shape, access, snapshot }
}

/** A version, a head, or what `listwatch.mark()` gave a writer. */
function parseMark(mark: Version): Mark {
  if (mark.startsWith('pg1.')) return { ...parseVersion(mark), mayBeAhead: false }
  const [kind, system, database, epoch, at, ...rest] = mark.split('.')
  if (!system || !database || !epoch || !at || rest.length > 0) throw notOurs(mark)
  if (kind === 'pgs1') {
    parseSnapshot(at, mark)
    return { system, database, epoch: epoch === UNSEEDED ? at : epoch, snapshot: at, mayBeAhead: true }
  }
  if (kind !== 'pgm1' || !/^\d{1,20}$/.test(at)) throw notOurs(mark)
  return { system, database, epoch, transaction: BigInt(at), mayBeAhead: true }
}

/** Whether a mirror at `at` includes `mark`. Throws `EPOCH_CHANGED` for another incarnation, `PROTOCOL` for nonsense. */
export function includesMark(at: Version, mark: Version): boolean {
  const here = parseVersion(at)
  const there = parseMark(mark)
  const order = epochOrder(here, there, mark)
  if (order === 'later' && there.mayBeAhead) return false
  const change = order === 'same' ? undefined : incarnationChange(here, there)
  if (change !== undefined) throw new SourceError(`the version is of ${change}`, { code: 'EPOCH_CHANGED' })
  const shown = parseSnapshot(here.snapshot, at)
  return 'transaction' in there
    ? hasEnded(there.transaction, shown)
    : covers(shown, parseSnapshot(there.snapshot, mark))
}

/** Whether a mark is certainly of an epoch that began after that of `at`. */
export function isLaterEpoch(at: Version, mark: Version): boolean {
  const there = parseMark(mark)
  return there.mayBeAhead && epochOrder(parseVersion(at), there, mark) === 'later'
}

/**
 * Refuses a snapshot from before the version, in the same epoch: stopped in order and replaced by an older copy of its
 * files, a server keeps its epoch.
 */
export function assertNotBehind(snapshot: string, { snapshot: known }: PostgresVersion): void {
  if (parseSnapshot(snapshot, snapshot).xmax >= parseSnapshot(known, known).xmax) return
  const message = 'the server has not come as far as the version: it was replaced by an older copy of itself'
  throw new SourceError(message, { code: 'EPOCH_CHANGED' })
}

/** What tells two incarnations apart, in words; undefined where they are one. */
export function incarnationChange(a: Incarnation, b: Incarnation): string | undefined {
  if (a.system !== b.system) return 'another server'
  if (a.database !== b.database) return 'another database'
  if (a.epoch !== b.epoch) return 'another epoch: the server has recovered from a crash, or was restored or promoted'
  return undefined
}

/**
 * Whether a mark is of the mirror's epoch, or of a later one; `other` if neither is certain. An epoch has the id of the
 * transaction that seeded it, and the time. A mark that was taken while no epoch was seeded has a snapshot instead:
 * if this shows that the mirror's epoch had been seeded, a crash has removed that epoch since.
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

/** `<random>-<transaction>-<milliseconds>`, as listwatch.state has it. */
function seedOf(epoch: string): { readonly transaction: bigint; readonly at: bigint } | undefined {
  const [, transaction, at] = /^\w+-(\d{1,20})-(\d{1,20})$/.exec(epoch) ?? []
  return transaction === undefined || at === undefined
    ? undefined
    : { transaction: BigInt(transaction), at: BigInt(at) }
}

/** Whether everything that `earlier` shows is shown by `later` too. */
function covers(later: TransactionSnapshot, earlier: TransactionSnapshot): boolean {
  if (later.xmax < earlier.xmax) return false
  for (const transaction of later.running) if (hasEnded(transaction, earlier)) return false
  return true
}

function hasEnded(transaction: bigint, snapshot: TransactionSnapshot): boolean {
  return transaction < snapshot.xmax && !snapshot.running.has(transaction)
}

/** `xmin:xmax:xip,xip,…` */
export function parseSnapshot(text: string, of: string): TransactionSnapshot {
  const match = /^\d{1,20}:(\d{1,20}):((?:\d{1,20},)*\d{1,20})?$/.exec(text)
  if (match?.[1] === undefined) throw notOurs(of)
  const running = match[2] === undefined ? [] : match[2].split(',')
  return { xmax: BigInt(match[1]), running: new Set(running.map(BigInt)) }
}

function notOurs(version: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is no version of a Postgres source`, { code: 'PROTOCOL' })
}
