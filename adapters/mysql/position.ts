import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'
import { expired, forked } from '../common/source-errors.js'
import { notAVersion } from '../common/version-format.js'
import type { BinlogStart } from './binlog/binlog-stream.js'
import type { LoggedFormat, LoggedTransaction, MovedPosition } from './binlog/binlog-types.js'
import {
  containsGtid,
  containsSet,
  type DomainGtid,
  formatGtidPosition,
  formatGtidSet,
  type Gtid,
  type GtidPosition,
  type GtidSet,
  hasReachedGtid,
  parseDomainGtid,
  parseGtid,
  parseGtidPosition,
  parseGtidSet,
  withDomainGtid,
  withGtid,
  withoutGtid,
} from './gtid.js'

const OF = 'a MariaDB or MySQL source'

export interface MariaDbPosition {
  readonly flavor: 'mariadb'
  /** Identifies the server: files and positions are its own. */
  readonly server: string
  readonly file: string
  readonly position: number
  readonly gtids: GtidPosition
  /** When the file was created, and a checksum; undefined if the stream has not read it yet. */
  readonly format: string | undefined
  /** The start and the checksum of the last event before the position, if they are known. */
  readonly last: { readonly start: number; readonly crc: number } | undefined
}

export interface MySqlPosition {
  readonly flavor: 'mysql'
  readonly gtids: GtidSet
  /** One of them, and its commit time in microseconds; without transactions, the time at which the binlog was created. */
  readonly last: { readonly gtid: string | undefined; readonly micros: number } | undefined
}

export type Position = MariaDbPosition | MySqlPosition

/**
 * `mar1.<server>.<file>.<position>.<gtids>.<format>.<start>-<crc>`, `mys1.<gtids>.<gtid>.<microseconds>`. An unknown
 * field is `-`.
 */
export function formatVersion(position: Position): Version {
  if (position.flavor === 'mysql') {
    const { gtids, last } = position
    return ['mys1', formatGtidSet(gtids) || '-', last?.gtid ?? '-', last?.micros ?? '-'].join('.')
  }
  const { server, file, position: at, gtids, format = '-', last } = position
  const stamp = last === undefined ? '-' : `${last.start}-${last.crc}`
  return ['mar1', escaped(server), escaped(file), at, formatGtidPosition(gtids) || '-', format, stamp].join('.')
}

export function parseVersion(version: Version): Position {
  const [kind, ...fields] = version.split('.')
  const found = kind === 'mar1' ? parseMariaDb(fields) : kind === 'mys1' ? parseMySql(fields) : undefined
  if (found === undefined) throw notAVersion(version, OF)
  return found
}

function parseMariaDb(fields: readonly string[]): MariaDbPosition | undefined {
  const [server, file, at, gtidText, format, stamp, ...rest] = fields
  const gtids = parseGtidPosition(gtidText === '-' ? '' : (gtidText ?? '?'))
  const [, start, crc] = /^(\d+)-(\d+)$/.exec(stamp ?? '') ?? []
  const isComplete = server && file && /^\d{1,16}$/.test(at ?? '') && format && (stamp === '-' || crc !== undefined)
  if (!isComplete || gtids === undefined || rest.length > 0) return undefined
  return {
    flavor: 'mariadb',
    server: unescaped(server),
    file: unescaped(file),
    position: Number(at),
    gtids,
    format: format === '-' ? undefined : format,
    last: stamp === '-' ? undefined : { start: Number(start), crc: Number(crc) },
  }
}

function parseMySql([gtidText, gtid, micros, ...rest]: readonly string[]): MySqlPosition | undefined {
  const gtids = parseGtidSet(gtidText === '-' ? '' : (gtidText ?? '?'))
  if (gtids === undefined || gtid === undefined || micros === undefined || rest.length > 0) return undefined
  if (micros === '-') return { flavor: 'mysql', gtids, last: undefined }
  if ((gtid !== '-' && parseGtid(gtid) === undefined) || !/^\d{1,16}$/.test(micros)) return undefined
  return { flavor: 'mysql', gtids, last: { gtid: gtid === '-' ? undefined : gtid, micros: Number(micros) } }
}

/** Names of files contain ".", which separates the fields. */
function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E')
}

function unescaped(text: string): string {
  return decodeURIComponent(text)
}

/** `mym1.<gtids>`: a mark or a head. Both servers write their GTIDs in a format of their own. */
export function formatMark(gtids: string): Version {
  return `mym1.${gtids.replaceAll(/\s/g, '')}`
}

export function includesMark(at: Version, mark: Version): boolean {
  const ours = parseVersion(at)
  if (!mark.startsWith('mym1.')) {
    const theirs = parseVersion(mark)
    assertOneHistory(ours, theirs)
    return covers(ours, theirs)
  }
  const text = mark.slice('mym1.'.length)
  const isIncluded = includesGtids(ours, text)
  if (isIncluded === undefined) throw notAVersion(mark, OF)
  return isIncluded
}

/** Whether a position includes the GTIDs in a text of its server; undefined if the text is not one. */
export function includesGtids(position: Position, text: string): boolean | undefined {
  if (position.flavor === 'mysql') {
    const set = parseGtidSet(text)
    return set && containsSet(position.gtids, set)
  }
  const gtids = parseGtidPosition(text)
  return gtids && [...gtids.values()].every((gtid) => hasReachedGtid(position.gtids, gtid))
}

/** Whether the GTIDs in a text of the server include those of a position. */
export function isInGtids(position: Position, text: string): boolean {
  return position.flavor === 'mysql'
    ? containsSet(parseGtidSet(text) ?? new Map(), position.gtids)
    : [...position.gtids.values()].every((gtid) => hasReachedGtid(parseGtidPosition(text) ?? new Map(), gtid))
}

/** Throws if the position that is earlier in the binlog is later by the clock of the server. */
function assertOneHistory(a: Position, b: Position): void {
  if (a.flavor !== b.flavor) throw forked(`one server is ${a.flavor}, the other ${b.flavor}`)
  if (a.flavor === 'mariadb' && b.flavor === 'mariadb' && a.server !== b.server) return
  const [isAfter, isBefore] = [isBeyond(a, b), isBeyond(b, a)]
  const order = timeOf(a) - timeOf(b)
  if ((isAfter && order < 0) || (isBefore && order > 0)) throw forked('the server has created its binlog again')
  if (
    a.flavor === 'mariadb' &&
    b.flavor === 'mariadb' &&
    a.file === b.file &&
    a.format !== b.format &&
    a.format &&
    b.format
  )
    throw forked(`the server has created its binlog ${a.file} again`)
}

/** Whether one position is in a later file, or has more transactions. */
function isBeyond(a: Position, b: Position): boolean {
  return a.flavor === 'mariadb' && b.flavor === 'mariadb' ? numberOf(a.file) > numberOf(b.file) : !covers(b, a)
}

/** When the file was created, or the transaction committed, by the clock of the server; NaN if that is not known. */
function timeOf(position: Position): number {
  return position.flavor === 'mariadb'
    ? Number.parseInt(position.format ?? '', 10)
    : (position.last?.micros ?? Number.NaN)
}

export function covers(position: Position, other: Position): boolean {
  if (position.flavor === 'mysql') return other.flavor === 'mysql' && containsSet(position.gtids, other.gtids)
  if (other.flavor !== 'mariadb') return false
  return position.server === other.server
    ? compareFiles(position, other) >= 0
    : [...other.gtids.values()].every((gtid) => hasReachedGtid(position.gtids, gtid))
}

/** The place of a transaction in the history, parsed once. */
export interface Place {
  readonly server: string
  readonly file: string
  readonly position: number
  readonly gtid: Gtid | undefined
  readonly domainGtid: DomainGtid | undefined
}

export function placeOf({ gtid, file, end }: LoggedTransaction, { flavor }: Position, server: string): Place {
  const isMySql = flavor === 'mysql'
  return {
    server,
    file,
    position: end,
    gtid: isMySql && gtid !== undefined ? parseGtid(gtid) : undefined,
    domainGtid: !isMySql && gtid !== undefined ? parseDomainGtid(gtid) : undefined,
  }
}

export function includes(position: Position, place: Place): boolean {
  if (position.flavor === 'mysql') return place.gtid !== undefined && containsGtid(position.gtids, place.gtid)
  if (position.server === place.server) return compareFiles(position, place) >= 0
  return place.domainGtid !== undefined && hasReachedGtid(position.gtids, place.domainGtid)
}

export function afterTransaction(position: Position, item: LoggedTransaction, place: Place): Position {
  if (position.flavor === 'mysql') {
    const { gtid, committedMicros } = item
    if (gtid === undefined || place.gtid === undefined)
      throw new SourceError('the binlog has a transaction without GTID; set gtid_mode = ON', { code: 'PROTOCOL' })
    const last = committedMicros === undefined ? undefined : { gtid, micros: committedMicros }
    return { flavor: 'mysql', gtids: withGtid(position.gtids, place.gtid), last }
  }
  const { start, crc } = item
  const { domainGtid, server, file, position: end } = place
  return {
    ...position,
    server,
    file,
    position: end,
    gtids: domainGtid === undefined ? position.gtids : withDomainGtid(position.gtids, domainGtid),
    last: crc === undefined ? undefined : { start, crc },
  }
}

export function afterMove(position: Position, item: MovedPosition | LoggedFormat, server: string): Position {
  if (position.flavor === 'mysql') return position
  const { file, position: at } = item
  const moved = { ...position, server, file, position: at }
  const isSame = position.server === server && position.file === file && position.position === at
  return {
    ...moved,
    format: item.type === 'format' ? stampOf(item) : file === position.file ? position.format : undefined,
    last: isSame ? position.last : undefined,
  }
}

/** Identifies a file, also if another file has its name later. */
export function stampOf({ createdAt, crc }: LoggedFormat): string {
  return `${createdAt}-${crc}`
}

/** The position at which all of these positions are complete, and no transaction after it is missing in any. */
export function earliest(positions: readonly Position[]): Position | undefined {
  return positions.reduce<Position | undefined>((first, each) => {
    if (first === undefined || covers(first, each)) return each
    if (covers(each, first)) return first
    throw new SourceError('two tables have versions of different servers', { code: 'EPOCH_CHANGED' })
  }, undefined)
}

/** The place at which the stream begins, so that its first item proves that the history is that of the position. */
export function startOf(position: Position, server: string): BinlogStart {
  if (position.flavor === 'mysql') {
    const gtid = position.last?.gtid
    const last = gtid === undefined ? undefined : parseGtid(gtid)
    return { after: last === undefined ? position.gtids : withoutGtid(position.gtids, last) }
  }
  if (position.server !== server) return { afterPosition: position.gtids }
  const start = position.last?.start ?? position.position
  // A large transaction makes a file longer than the servers can be asked for. The next one is in another file.
  if (start > 0xffff_ffff) throw expired(`position ${start} of ${position.file} is beyond 4 GiB`)
  return { file: position.file, position: start }
}

interface FilePosition {
  readonly file: string
  readonly position: number
}

/** Files are numbered: `binlog.000017`. The number has more digits after 999 999. */
function compareFiles(a: FilePosition, b: FilePosition): number {
  return (a.file === b.file ? 0 : numberOf(a.file) - numberOf(b.file)) || a.position - b.position
}

export function numberOf(file: string): number {
  return Number(/(\d+)$/.exec(file)?.[1] ?? 0)
}
