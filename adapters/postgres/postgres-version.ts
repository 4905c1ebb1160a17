import { SourceError } from '../../src/errors.js'
import type { Version } from '../../src/version.js'

/** A `pg_snapshot`: a transaction had ended when it was taken, if it is below `xmax` and not among `running`. */
export interface Snapshot {
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
  readonly snapshot: string
}

/** What can be waited for: a transaction, or everything that a snapshot shows. */
type Mark = Incarnation & ({ readonly transaction: bigint } | { readonly snapshot: string })

/** `pg1.<system>.<database>.<epoch>.<generation>.<shape>.<snapshot>` */
export function formatVersion({ system, database, epoch, generation, shape, snapshot }: PostgresVersion): Version {
  return ['pg1', system, database, epoch, generation, shape, snapshot].join('.')
}

/** `pgs1.<system>.<database>.<epoch>.<snapshot>`: where the database is, whatever the table. */
export function formatHead({ system, database, epoch }: Incarnation, snapshot: string): Version {
  return ['pgs1', system, database, epoch, snapshot].join('.')
}

export function parseVersion(version: Version): PostgresVersion {
  const [kind, system, database, epoch, generation, shape, snapshot, ...rest] = version.split('.')
  if (kind !== 'pg1' || !system || !database || !epoch || !generation || !shape || !snapshot || rest.length > 0) {
    throw notOurs(version)
  }
  parseSnapshot(snapshot, version)
  return { system, database, epoch, generation, shape, snapshot }
}

/** A version, a head, or what `listwatch.mark()` gave a writer. */
function parseMark(mark: Version): Mark {
  if (mark.startsWith('pg1.')) return parseVersion(mark)
  const [kind, system, database, epoch, at, ...rest] = mark.split('.')
  if (!system || !database || !epoch || !at || rest.length > 0) throw notOurs(mark)
  if (kind === 'pgs1') {
    parseSnapshot(at, mark)
    return { system, database, epoch, snapshot: at }
  }
  if (kind !== 'pgm1' || !/^\d{1,20}$/.test(at)) throw notOurs(mark)
  return { system, database, epoch, transaction: BigInt(at) }
}

/** Whether a mirror at `at` includes `mark`. Throws `EPOCH_CHANGED` for another incarnation, `PROTOCOL` for nonsense. */
export function includesMark(at: Version, mark: Version): boolean {
  const here = parseVersion(at)
  const there = parseMark(mark)
  const change = incarnationChange(here, there)
  if (change !== undefined) throw new SourceError(`the version is of ${change}`, { code: 'EPOCH_CHANGED' })
  const shown = parseSnapshot(here.snapshot, at)
  return 'transaction' in there
    ? hasEnded(there.transaction, shown)
    : covers(shown, parseSnapshot(there.snapshot, mark))
}

/** What tells two incarnations apart, in words; undefined where they are one. */
export function incarnationChange(a: Incarnation, b: Incarnation): string | undefined {
  if (a.system !== b.system) return 'another server'
  if (a.database !== b.database) return 'another database'
  if (a.epoch !== b.epoch) return 'another epoch: the server has recovered from a crash, or was restored or promoted'
  return undefined
}

/** Whether everything that `earlier` shows is shown by `later` too. */
function covers(later: Snapshot, earlier: Snapshot): boolean {
  if (later.xmax < earlier.xmax) return false
  for (const transaction of later.running) if (hasEnded(transaction, earlier)) return false
  return true
}

function hasEnded(transaction: bigint, snapshot: Snapshot): boolean {
  return transaction < snapshot.xmax && !snapshot.running.has(transaction)
}

/** `xmin:xmax:xip,xip,…` */
export function parseSnapshot(text: string, of: string): Snapshot {
  const match = /^\d{1,20}:(\d{1,20}):((?:\d{1,20},)*\d{1,20})?$/.exec(text)
  if (match?.[1] === undefined) throw notOurs(of)
  const running = match[2] === undefined ? [] : match[2].split(',')
  return { xmax: BigInt(match[1]), running: new Set(running.map(BigInt)) }
}

function notOurs(version: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is no version of a Postgres source`, { code: 'PROTOCOL' })
}
