import { crc32 } from 'node:zlib'
import { SourceError } from '../../../src/contract/errors.js'
import { type BinlogItem, idOf, type LoggedTable, type TouchedRows } from './binlog-types.js'
import { ByteReader, malformed } from './byte-reader.js'
import { decompressedPayload, inflated } from './decompress.js'
import { EventType, mayChangeRows, type RowsForm, rowsFormOf } from './event-types.js'
import { mariadbGtid, type TransactionStart, taggedGtid, untaggedGtid } from './gtid-events.js'
import { changesReferences, readRowKeys, readRowsHeader } from './row-keys.js'
import { effectOf, statementKind, xaDecisionOf, xidText } from './statement-text.js'
import { type MappedTable, readTableMap } from './table-map.js'

const HEADER_BYTES = 19
const CHECKSUM_BYTES = 4
/** An event that the server made for this stream; the log does not have it. */
const ARTIFICIAL_FLAG = 0x20
const MOST_KEYS = 250_000
const MOST_PREPARED = 1_000
/** How much of a statement is read: it may be longer than a string can be, but DDL is not. */
const MOST_TEXT_BYTES = 2 ** 24
/** The numbers of a table in events that only end a statement. */
const NO_TABLE = new Set([0xffffff, 0xffffffffffff])
/** The format event has a version, the server's version, a time, and a length for each type of event. */
const FORMAT_BYTES = 57
const FORMAT_TIME_AT = 52

interface Header {
  readonly timestamp: number
  readonly type: number
  readonly server: number
  /** The lowest 32 bits of the position after the event; 0 if it has none. */
  readonly end: number
  readonly flags: number
}

/** The rows that a transaction has touched, by the ids of tables. */
class Touched {
  readonly #tables = new Map<string, { readonly keys: Set<string> } | { readonly list: string }>()

  get tables(): ReadonlyMap<string, TouchedRows> {
    return this.#tables
  }

  /** The set for further keys of a table; undefined if the table has to be listed anyway. */
  keysOf(id: string): Set<string> | undefined {
    let rows = this.#tables.get(id)
    if (rows === undefined) {
      rows = { keys: new Set() }
      this.#tables.set(id, rows)
    }
    return 'keys' in rows ? rows.keys : undefined
  }

  /** Only the first reason counts. */
  list(id: string, reason: string): void {
    const rows = this.#tables.get(id)
    if (rows === undefined || 'keys' in rows) this.#tables.set(id, { list: reason })
  }

  addAll(other: Touched): void {
    for (const [id, rows] of other.#tables) {
      if ('list' in rows) this.list(id, rows.list)
      else for (const key of rows.keys) this.keysOf(id)?.add(key)
    }
  }
}

class Group {
  readonly touched = new Touched()
  /** By the numbers that events with rows use. */
  readonly maps = new Map<number, MappedTable>()
  /** The described tables of the current statement that another table's change may change without row events. */
  readonly children = new Set<string>()
  /** The tables that the current statement updates or deletes from. */
  readonly changed = new Set<string>()
  /** Those of them of which it changes columns that foreign keys reference. */
  readonly rekeyed = new Set<string>()
  isOpen: boolean
  readonly start: TransactionStart

  constructor(start: TransactionStart) {
    this.start = start
    this.isOpen = start.isOpen
  }
}

const WITHOUT_GTID: TransactionStart = { gtid: undefined, committedMicros: undefined, isOpen: false }

/**
 * Reads the events of a binary log, and returns which keys each transaction has touched. It performs no input or output.
 * It begins at a transaction, or at the last event of one: then the item of this transaction has no GTID, and only the
 * last event counts.
 */
export class TransactionReader {
  readonly #maxKeys: number
  readonly #tables = new Map<string, LoggedTable>()
  /** The referenced columns of the tables' parents, by the parents' ids. */
  readonly #referenced = new Map<string, Set<number>>()
  /** The transactions of XA that are prepared and not decided, by the text of their id. */
  readonly #prepared = new Map<string, Touched>()
  #group: Group | undefined
  #file = ''
  #position = 0
  /** What the format event of the file announces. Before it, the session of the stream has asked for checksums. */
  #hasChecksums = true
  /** Whether the log has the first event at the position at which the stream begins. */
  #isAtFirst = false

  /** `maxKeys`: a transaction that touches more keys of a table is one that lists the table. */
  constructor(maxKeys: number = MOST_KEYS) {
    this.#maxKeys = maxKeys
  }

  /** Collects the keys of a table from now on, or replaces the description of its columns. */
  watch(table: LoggedTable): void {
    const id = idOf(table)
    this.#tables.set(id, table)
    this.#collectReferenced()
    // The first part of these transactions may have touched it.
    for (const touched of this.#prepared.values()) touched.list(id, 'it was added during an XA transaction')
    this.#group?.touched.list(id, 'it was added during a transaction')
  }

  #collectReferenced(): void {
    this.#referenced.clear()
    for (const { cascadesFrom = [] } of this.#tables.values())
      for (const parent of cascadesFrom === 'any' ? [] : cascadesFrom) {
        const known = this.#referenced.get(idOf(parent)) ?? new Set()
        this.#referenced.set(idOf(parent), known)
        if (parent.referenced !== 'any') for (const ordinal of parent.referenced) known.add(ordinal)
      }
  }

  /**
   * Reads the next event. Returns what it completes, or undefined. Throws a SourceError for bytes that are not an event:
   * with code `EPOCH_CHANGED` at the position at which the stream begins, which is of another log, and `PROTOCOL` later.
   */
  read(event: Buffer): BinlogItem | undefined {
    try {
      return this.#read(event)
    } catch (error) {
      const { message } = error instanceof SourceError ? error : malformed('an event is malformed')
      const place = `event type ${event[4] ?? 'unknown'} after ${this.#file}:${this.#position}`
      throw new SourceError(`${message} (${place})`, {
        code: this.#isAtFirst ? 'EPOCH_CHANGED' : 'PROTOCOL',
        cause: error,
      })
    }
  }

  #read(event: Buffer): BinlogItem | undefined {
    const header = headerOf(event)
    if (header.type === EventType.formatDescription) return this.#readFormat(event, header)
    const crc = this.#hasChecksums ? verifiedChecksum(event) : undefined
    const body = event.subarray(HEADER_BYTES, event.length - (this.#hasChecksums ? CHECKSUM_BYTES : 0))
    if (header.type === EventType.rotate) return this.#readRotate(body, header)
    if (header.type === EventType.heartbeat || header.type === EventType.heartbeatV2)
      return this.#readHeartbeat(body, header)
    const isLast = this.#apply(header, body)
    this.#isAtFirst = false
    const isMoved = this.#moveTo(header)
    const place = { file: this.#file, start: this.#position - event.length, crc }
    if (!isLast) {
      const isBetween = isMoved && this.#group === undefined
      return isBetween ? { type: 'position', ...place, position: this.#position } : undefined
    }
    const { start, touched } = this.#group ?? new Group(WITHOUT_GTID)
    this.#group = undefined
    return {
      type: 'transaction',
      ...place,
      gtid: start.gtid,
      end: this.#position,
      committedAt: header.timestamp * 1_000,
      committedMicros: start.committedMicros,
      tables: touched.tables,
    }
  }

  /** Each file begins with a format event. The server repeats it at the start of a stream. */
  #readFormat(event: Buffer, header: Header): BinlogItem {
    if (event.length < HEADER_BYTES + FORMAT_BYTES + CHECKSUM_BYTES || event.readUInt16LE(HEADER_BYTES) !== 4)
      throw malformed('an unknown version of the format')
    const algorithm = event[event.length - CHECKSUM_BYTES - 1] ?? 0
    if (algorithm > 1) throw malformed('an unknown algorithm of checksums')
    this.#hasChecksums = algorithm === 1
    if (this.#hasChecksums) verifiedChecksum(event)
    // A server that was killed leaves a part of a transaction, which it has rolled back, at the end of a file.
    this.#group = undefined
    this.#isAtFirst = header.end === 0 // The server repeats it for a position behind it.
    this.#moveTo(header)
    const place = { file: this.#file, position: this.#position }
    return { type: 'format', ...place, createdAt: header.timestamp * 1_000, crc: stableChecksum(event) }
  }

  #readRotate(body: Buffer, header: Header): BinlogItem | undefined {
    const reader = new ByteReader(body)
    this.#position = Number(reader.uint64())
    this.#file = reader.text(reader.left)
    this.#group = undefined
    if (isArtificial(header)) return undefined
    return { type: 'position', file: this.#file, start: this.#position, position: this.#position, crc: undefined }
  }

  #readHeartbeat(body: Buffer, header: Header): BinlogItem {
    // A server that skips transactions, because the stream has them, sends its position.
    const isOfFile = header.type === EventType.heartbeat && body.toString('utf8') === this.#file
    if (!isOfFile || this.#group !== undefined || header.end <= this.#position) return { type: 'heartbeat' }
    this.#position = header.end
    return { type: 'position', file: this.#file, start: this.#position, position: this.#position, crc: undefined }
  }

  #moveTo(header: Header): boolean {
    if (header.end === 0 || isArtificial(header)) return false
    // A large transaction makes a file longer than 4 GiB, but events only have 32 bits of its length.
    const end = Math.floor(this.#position / 2 ** 32) * 2 ** 32 + header.end
    this.#position = end < this.#position ? end + 2 ** 32 : end
    return true
  }

  #apply(header: Header, body: Buffer): boolean {
    const form = rowsFormOf(header.type)
    if (form !== undefined) return this.#applyRows(new ByteReader(body), form)
    switch (header.type) {
      case EventType.gtid:
      case EventType.anonymousGtid:
        return this.#begin(untaggedGtid(body, header.type === EventType.gtid))
      case EventType.taggedGtid:
        return this.#begin(taggedGtid(body))
      case EventType.mariadbGtid:
        return this.#begin(mariadbGtid(body, header.server))
      case EventType.query:
      case EventType.compressedQuery:
        return this.#applyQuery(new ByteReader(body), header.type === EventType.compressedQuery)
      case EventType.tableMap:
        return this.#applyMap(body)
      case EventType.xid:
        return true
      case EventType.xaPrepare:
        return this.#applyPrepare(new ByteReader(body))
      case EventType.transactionPayload:
        return this.#applyPayload(body)
      case EventType.executeLoadQuery:
        return this.#listAll('LOAD, logged as a statement')
      case EventType.incident:
        return this.#listAll('the server has lost events')
      default:
        return mayChangeRows(header.type, header.flags) && this.#listAll(`an event of the unknown type ${header.type}`)
    }
  }

  #begin(start: TransactionStart): boolean {
    if (this.#group !== undefined) throw malformed('a transaction has no end')
    this.#group = new Group(start)
    return false
  }

  #applyQuery(reader: ByteReader, isCompressed: boolean): boolean {
    reader.skip(8)
    const databaseBytes = reader.uint(1)
    reader.skip(2)
    reader.skip(reader.uint(2))
    const database = reader.text(databaseBytes)
    reader.skip(1)
    const bytes = isCompressed ? inflated(reader.rest()) : reader.rest()
    const text = bytes.toString('latin1', 0, Math.min(bytes.length, MOST_TEXT_BYTES))
    const kind = statementKind(text)
    if (kind === 'end') return true
    if (kind === 'part') return false
    this.#group ??= new Group(WITHOUT_GTID)
    if (kind === 'begin') this.#group.isOpen = true
    else this.#applyStatement(this.#group, text, database)
    return !this.#group.isOpen
  }

  #applyStatement({ touched }: Group, text: string, database: string): void {
    const decision = xaDecisionOf(text)
    if (decision !== undefined) {
      const prepared = this.#prepared.get(decision.xid)
      this.#prepared.delete(decision.xid)
      if (!decision.isCommit) return
      if (prepared === undefined) this.#listAll('XA COMMIT of a transaction that was prepared before')
      else touched.addAll(prepared)
      return
    }
    const effect = effectOf(text, database)
    for (const [id, table] of this.#tables) {
      const reason = effect(table)
      if (reason !== undefined) touched.list(id, reason)
    }
  }

  #listAll(reason: string): boolean {
    this.#group ??= new Group(WITHOUT_GTID)
    for (const id of this.#tables.keys()) this.#group.touched.list(id, reason)
    return !this.#group.isOpen
  }

  /** The end of the first phase of XA, or of its only one. */
  #applyPrepare(reader: ByteReader): boolean {
    const isOnePhase = reader.uint(1) !== 0
    const format = reader.uint(4)
    const globalBytes = reader.uint(4)
    const branchBytes = reader.uint(4)
    const xid = xidText(format, reader.take(globalBytes), reader.take(branchBytes))
    const group = this.#group
    if (isOnePhase || group === undefined) return true
    this.#group = new Group(group.start)
    this.#prepared.set(xid, group.touched)
    const [oldest] = this.#prepared.keys()
    if (this.#prepared.size > MOST_PREPARED && oldest !== undefined) this.#prepared.delete(oldest)
    return true
  }

  #applyPayload(body: Buffer): boolean {
    const events = decompressedPayload(body)
    if (typeof events === 'string') {
      this.#listAll(events)
      return true
    }
    for (let at = 0; at < events.length; ) {
      const size = at + HEADER_BYTES <= events.length ? events.readUInt32LE(at + 9) : 0
      const event = events.subarray(at, at + size)
      const header = headerOf(event)
      if (header.type !== EventType.transactionPayload) this.#apply(header, event.subarray(HEADER_BYTES))
      at += size
    }
    return true
  }

  #applyMap(body: Buffer): boolean {
    const group = this.#group
    if (group === undefined) throw malformed('a table is described outside of a transaction')
    const { number, mapped } = readTableMap(body, (each) => ({
      table: this.#tables.get(each),
      referenced: this.#referenced.get(each),
    }))
    group.maps.set(number, mapped)
    if (this.#tables.get(mapped.id)?.cascadesFrom !== undefined) group.children.add(mapped.id)
    return false
  }

  #applyRows(reader: ByteReader, form: RowsForm): boolean {
    const group = this.#group
    if (group === undefined) throw malformed('rows outside of a transaction')
    const { table, endsStatement } = readRowsHeader(reader, form)
    const mapped = group.maps.get(table)
    if (mapped !== undefined) {
      if (form.action !== 'write' && group.children.size > 0) this.#noteChanged(group, mapped, reader, form)
      this.#collect(group.touched, mapped, reader, form)
    } else if (!NO_TABLE.has(table)) throw malformed('rows of a table that is not described')
    if (endsStatement) this.#endStatement(group)
    return false
  }

  #noteChanged({ changed, rekeyed }: Group, mapped: MappedTable, reader: ByteReader, form: RowsForm): void {
    const { id, references } = mapped
    changed.add(id)
    const isDelete = form.action === 'delete' || references === undefined
    if (isDelete || changesReferences(new ByteReader(reader.bytes, reader.at), form, references)) rekeyed.add(id)
  }

  #collect(touched: Touched, { id, keys: layout, flaw }: MappedTable, reader: ByteReader, form: RowsForm): void {
    if (!this.#tables.has(id)) return
    if (flaw !== undefined) touched.list(id, flaw)
    const keys = touched.keysOf(id)
    if (layout === undefined || keys === undefined) return
    const reason = readRowKeys(reader, form, layout, (key) => keys.add(key))
    if (reason !== undefined) touched.list(id, reason)
    else if (keys.size > this.#maxKeys) touched.list(id, `a transaction with more than ${this.#maxKeys} rows`)
  }

  /** MariaDB does not log what its foreign keys change, but describes the tables that they may change. */
  #endStatement({ touched, children, changed, rekeyed }: Group): void {
    for (const id of children) {
      const parents = this.#tables.get(id)?.cascadesFrom ?? []
      const isCause =
        parents === 'any'
          ? [...changed].some((each) => each !== id)
          : parents.some((parent) => (parent.referenced === 'any' ? changed : rekeyed).has(idOf(parent)))
      if (isCause) touched.list(id, 'a foreign key may have changed its rows')
    }
    children.clear()
    changed.clear()
    rekeyed.clear()
  }
}

function headerOf(event: Buffer): Header {
  if (event.length < HEADER_BYTES || event.readUInt32LE(9) !== event.length) throw malformed('an event is truncated')
  return {
    timestamp: event.readUInt32LE(0),
    type: event.readUInt8(4),
    server: event.readUInt32LE(5),
    end: event.readUInt32LE(13),
    flags: event.readUInt16LE(17),
  }
}

function isArtificial({ flags }: Header): boolean {
  return (flags & ARTIFICIAL_FLAG) !== 0
}

function verifiedChecksum(event: Buffer): number {
  if (event.length < HEADER_BYTES + CHECKSUM_BYTES) throw malformed('an event is truncated')
  const end = event.length - CHECKSUM_BYTES
  const crc = event.readUInt32LE(end)
  if (crc32(event.subarray(0, end)) !== crc) throw malformed('the checksum of an event is wrong')
  return crc
}

/** The server changes some fields of a format event if a stream begins behind it. */
function stableChecksum(event: Buffer): number {
  const bytes = Buffer.from(event.subarray(0, event.length - CHECKSUM_BYTES))
  bytes.fill(0, 13, HEADER_BYTES) // the position and the flags
  bytes.fill(0, HEADER_BYTES + FORMAT_TIME_AT, HEADER_BYTES + FORMAT_TIME_AT + 4)
  return crc32(bytes)
}
