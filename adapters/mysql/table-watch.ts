import type { Clock } from '../../src/contract/clock.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { CollectionBatch } from '../../src/contract/shared-history.js'
import type { WatchEvent } from '../../src/contract/source.js'
import { expired, forked, isExpired, unavailable } from '../common/source-errors.js'
import type { BinlogFollower, PendingTransaction } from './binlog-follower.js'
import { isLockTimeout, isOfDdl, isOfTable, isTableChanged } from './connection/mysql-errors.js'
import type { Row, Session } from './connection/session.js'
import { covers, formatVersion, includesGtids, isInGtids, type Position } from './position.js'
import { beginSnapshot, isBehind, readGtids, type Server } from './server.js'
import type { KeyRead, RowReader } from './table/row-reader.js'

export interface WatchedTable {
  readonly collection: string
  readonly reader: RowReader<unknown>
  from: Position
}

export interface TableWatchOptions {
  readonly from: Position
  readonly tables: readonly WatchedTable[]
  /** The tables that could not be found, or have to be listed. Each batch takes them. */
  readonly lost: Map<string, SourceError>
  readonly timeoutMs: number
  readonly clock: Clock
}

/** A statement that is sent with the begin of a snapshot, for keys that were known before. */
interface EarlyRead extends KeyRead {
  readonly table: WatchedTable
}

/** The greatest number of these statements, whose rows are decoded at once, and their greatest length together. */
const EARLY_READS = 10
const EARLY_CHARACTERS = 250_000

/** A snapshot of an idle watch ends after this time, in milliseconds. The statement would delay the next begin. */
const IDLE_MS = 10

/** How many snapshots in succession may find that a table was changed, before the binlog names the change. */
const MAX_CHANGED = 5

/** After this many checks without an event the position is of another history. */
const MAX_UNVERIFIED = 3

export class TableWatch {
  readonly #session: Session
  readonly #server: Server
  readonly #follower: BinlogFollower
  readonly #options: TableWatchOptions
  #tables: readonly WatchedTable[]
  /** The version of all tables; undefined before the first batch. */
  #at: Position | undefined
  #snapshots = 0
  #changed = 0
  /** The GTIDs that the server had at the last check, and what had been received. */
  #gtids: string | undefined
  #checked: Position | undefined
  /** How many checks in succession have found that nothing proves the history. */
  #unverified = 0

  constructor(session: Session, server: Server, follower: BinlogFollower, options: TableWatchOptions) {
    this.#session = session
    this.#server = server
    this.#follower = follower
    this.#options = options
    this.#tables = options.tables
    const isOne = options.tables.every(({ from }) => formatVersion(from) === formatVersion(options.from))
    this.#at = isOne ? options.from : undefined
  }

  /** Whether all tables can have one version now. */
  get isReady(): boolean {
    const { received, isVerified } = this.#follower
    return isVerified && (this.#at !== undefined || this.#tables.every(({ from }) => covers(received, from)))
  }

  get isBehind(): boolean {
    return this.#at !== this.#follower.received
  }

  /** Throws if the server lacks a received transaction, or the stream one that the server had at the last call. */
  async assertComplete(): Promise<void> {
    const { received } = this.#follower
    const [last, isUnchanged] = [this.#gtids, received === this.#checked]
    const { executed, all } = await readGtids((sql) => this.#session.query(sql), this.#server.flavor)
    this.#gtids = executed
    this.#checked = received
    if (!isInGtids(received, all)) throw forked('the server has not all transactions any more')
    this.#unverified = this.#follower.isVerified ? 0 : this.#unverified + 1
    // A stream that begins inside of an event may stay silent, and MySQL searches its files first.
    if (isUnchanged && this.#unverified > MAX_UNVERIFIED && this.#server.flavor === 'mariadb')
      throw forked('the binlog of the server has no event at the position')
    if (isUnchanged && last !== undefined && includesGtids(received, last) === false)
      throw unavailable('the binlog does not arrive, although the server has newer transactions')
  }

  /** Returns the error of a stream. A purged binlog and one that was created again look alike to MariaDB. */
  async explained(error: unknown): Promise<unknown> {
    const { from } = this.#options
    const isAnew =
      isExpired(error) &&
      from.flavor === 'mariadb' &&
      from.server === this.#server.id &&
      (await isBehind(this.#session, this.#server, from))
    return isAnew ? forked(`the binlog of the server was created again before ${from.file}`) : error
  }

  bookmark(): CollectionBatch | undefined {
    const { hasPending, received } = this.#follower
    const at = this.isReady && !hasPending ? received : this.#at
    return at && this.#follower.isVerified ? this.#batch(at, new Map(), undefined) : undefined
  }

  /**
   * Reads the changed rows. Returns undefined if the server has not finished the commit, or if a table is locked: then
   * a later snapshot is needed. `isApart`: each table is read by a statement of its own, whose error concerns it alone.
   */
  async advance(isApart: boolean = this.#session.hasTypeCast): Promise<CollectionBatch | undefined> {
    const reads = isApart ? [] : this.#earlyReads()
    this.#snapshots++
    try {
      const sql = reads.map((read) => read.sql)
      const { lower, upper, rows } = await beginSnapshot(this.#session, this.#server, sql)
      const early = reads.map((read, n) => ({ ...read, rows: rows[n] ?? [] }))
      const { timeoutMs, from: start, lost } = this.#options
      if (!(await this.#follower.receiveUpTo(upper, timeoutMs))) {
        // The rest is of transactions that have a GTID since their begin.
        if (covers(this.#follower.received, lower)) return undefined
        throw unavailable(`the binlog was not received up to the snapshot for ${Math.round(timeoutMs)} ms`)
      }
      const transactions = this.#follower.upTo(upper)
      const committedAt = transactions.at(-1)?.committedAt
      const parts = new Map<string, readonly WatchEvent<unknown>[]>()
      for (const table of this.#tables) {
        const own = early.filter((read) => read.table === table)
        const events = await this.#read(table, transactions, own)
        if (events.length > 0) parts.set(table.collection, events)
      }
      const from = this.#at ?? start
      const at = this.#follower.advance(lower, from)
      if (at === from && parts.size === 0 && lost.size === 0) return undefined
      this.#changed = 0
      return this.#batch(at, parts, committedAt)
    } catch (error) {
      if (isLockTimeout(error)) return undefined
      // The binlog names a change of a table soon, unless the session that made it does not log.
      if (isTableChanged(error) && ++this.#changed <= MAX_CHANGED) return undefined
      if (isApart || !(isTableChanged(error) || isOfTable(error))) throw error
      return await this.advance(true)
    } finally {
      void this.#endSnapshot(this.#snapshots)
    }
  }

  /** Ends a snapshot, unless the begin of the next one has ended it. */
  async #endSnapshot(snapshot: number): Promise<void> {
    await this.#options.clock.sleep(IDLE_MS)
    // A failed connection ends the next step.
    if (snapshot === this.#snapshots) await this.#session.endSnapshot().catch(() => {})
  }

  /** Reads of all keys that are known. A snapshot that shows later transactions needs further ones. */
  #earlyReads(): readonly EarlyRead[] {
    const transactions = this.#follower.upTo(this.#follower.received)
    const reads: EarlyRead[] = []
    let characters = 0
    for (const table of this.#tables) {
      const rows = this.#follower.touched(table.reader.table.id, table.from, transactions)
      if ('list' in rows) continue
      for (const read of table.reader.reads(rows.keys)) {
        characters += read.sql.length
        if (reads.length === EARLY_READS || characters > EARLY_CHARACTERS) return reads
        reads.push({ ...read, table })
      }
    }
    return reads
  }

  /** Reads the changes of one table. A table that has to be listed is added to `lost`. */
  async #read(
    { collection, reader, from }: WatchedTable,
    transactions: readonly PendingTransaction[],
    early: readonly (KeyRead & { readonly rows: readonly Row[] })[],
  ): Promise<readonly WatchEvent<unknown>[]> {
    const { lost } = this.#options
    if (lost.has(collection)) return []
    const rows = this.#follower.touched(reader.table.id, from, transactions)
    try {
      if ('list' in rows) throw expired(`${reader.table.sql}: ${rows.list}`)
      if (rows.keys.size === 0) return []
      // All are in one snapshot.
      const known = new Set(early.flatMap(({ keys }) => keys))
      const others = [...rows.keys].filter((key) => !known.has(key))
      return [
        ...early.flatMap((read) => reader.changes(read, read.rows)),
        ...(await reader.keys(this.#session, others)),
      ]
    } catch (error) {
      if (isOfTable(error)) lost.set(collection, isOfDdl(error) ? expired(error.message) : error)
      else if (isTableChanged(error) && this.#changed >= MAX_CHANGED)
        lost.set(collection, expired(`${reader.table.sql} was changed, and the binlog does not say so`))
      else throw error
      return []
    }
  }

  #batch(at: Position, parts: CollectionBatch['parts'], committedAt: number | undefined): CollectionBatch {
    const lost = new Map(this.#options.lost)
    this.#options.lost.clear()
    this.#tables = this.#tables.filter(({ collection }) => !lost.has(collection))
    for (const table of this.#tables) table.from = at
    this.#at = at
    return { version: formatVersion(at), parts, lost, ...(committedAt === undefined ? {} : { committedAt }) }
  }
}
