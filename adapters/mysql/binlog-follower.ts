import type { Clock } from '../../src/contract/clock.js'
import { forked } from '../common/source-errors.js'
import { WakeableTimer } from '../common/wakeable-timer.js'
import type { BinlogItem, LoggedTransaction, TouchedRows } from './binlog/binlog-types.js'
import {
  afterMove,
  afterTransaction,
  covers,
  includes,
  type Place,
  type Position,
  placeOf,
  stampOf,
} from './position.js'

/** A transaction that has touched tables, and after which readers have not seen all of them. */
export interface PendingTransaction {
  readonly place: Place
  readonly committedAt: number
  readonly tables: ReadonlyMap<string, TouchedRows>
  /** The position before the next pending one. */
  readonly point: Position
}

export interface FollowedTable {
  /** If more keys than this are pending, the table is listed. */
  readonly maxKeys: number
  /** Its versions: the transactions that all of them include are ignored. */
  readonly versions: readonly Position[]
}

export interface FollowerOptions {
  readonly from: Position
  readonly server: string
  readonly clock: Clock
  /** By the ids of tables. */
  readonly tables: ReadonlyMap<string, FollowedTable>
}

/** Receives the stream of the binlog, and holds the touched keys until the rows have been read. */
export class BinlogFollower {
  readonly #options: FollowerOptions
  readonly #timer: WakeableTimer
  #pending: PendingTransaction[] = []
  /** The number of pending keys of each table; Infinity if it has to be listed. */
  readonly #keys = new Map<string, number>()
  /** The last transaction of which nothing is kept, of each table that has to be listed. */
  readonly #dropped = new Map<string, Place>()
  /** Everything up to here has been received. */
  received: Position
  /** Whether the history of the server has been compared with that of the first position. */
  isVerified = false
  #failure: { readonly error: unknown } | undefined

  constructor(options: FollowerOptions) {
    this.#options = options
    this.received = options.from
    this.#timer = new WakeableTimer(options.clock)
  }

  get hasPending(): boolean {
    return this.#pending.length > 0
  }

  async run(stream: AsyncIterable<readonly BinlogItem[]>): Promise<void> {
    for await (const items of stream) {
      for (const item of items) this.#add(item)
      this.#timer.wake()
    }
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#timer.wake()
  }

  /** Resolves after `ms` milliseconds, or when something has been received. Rejects if the stream has ended. */
  async wait(ms: number): Promise<void> {
    if (this.#failure === undefined) await this.#timer.sleep(ms)
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async receiveUpTo(position: Position, timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options
    const until = clock.now() + timeoutMs
    while (!covers(this.received, position)) {
      const leftMs = until - clock.now()
      if (leftMs <= 0) return false
      await this.wait(leftMs)
    }
    return true
  }

  wake(): void {
    this.#timer.wake()
  }

  upTo(upper: Position): readonly PendingTransaction[] {
    return this.#pending.filter(({ place }) => includes(upper, place))
  }

  /** Returns which rows of a table these transactions have touched, or why it has to be listed. `from`: its version. */
  touched(table: string, from: Position, transactions: readonly PendingTransaction[]): TouchedRows {
    const dropped = this.#dropped.get(table)
    if (dropped !== undefined && !includes(from, dropped)) return { list: 'other changes led to a list' }
    const keys = new Set<string>()
    for (const { place, tables } of transactions) {
      const rows = tables.get(table)
      if (rows === undefined || includes(from, place)) continue
      if ('list' in rows) return rows
      for (const key of rows.keys) keys.add(key)
    }
    return { keys }
  }

  /** Forgets what `lower` includes. Returns the position before the rest, or `from` if nothing was forgotten. */
  advance(lower: Position, from: Position): Position {
    const first = this.#pending.findIndex(({ place }) => !includes(lower, place))
    const done = this.#pending.splice(0, first < 0 ? this.#pending.length : first)
    if (done.length > 0) this.#recount()
    return this.#pending.length === 0 ? this.received : (done.at(-1)?.point ?? from)
  }

  #add(item: BinlogItem): void {
    this.#verify(item)
    if (item.type === 'heartbeat') return
    if (item.type !== 'transaction') {
      this.received = afterMove(this.received, item, this.#options.server)
      this.#extend()
      return
    }
    const place = placeOf(item, this.received, this.#options.server)
    if (includes(this.received, place)) return
    this.received = afterTransaction(this.received, item, place)
    const tables = this.#limited(item, place)
    if (tables.size === 0) this.#extend()
    else this.#pending.push({ place, committedAt: item.committedAt, tables, point: this.received })
  }

  /** What touches no table is not pending by itself. */
  #extend(): void {
    const last = this.#pending.at(-1)
    if (last !== undefined) this.#pending[this.#pending.length - 1] = { ...last, point: this.received }
  }

  /** Without the tables that have to be listed anyway, of which nothing more is kept. */
  #limited({ tables }: LoggedTransaction, place: Place): ReadonlyMap<string, TouchedRows> {
    const limited = new Map<string, TouchedRows>()
    for (const [table, rows] of tables) {
      const { maxKeys = 0, versions = [] } = this.#options.tables.get(table) ?? {}
      if (versions.every((version) => includes(version, place))) continue
      const known = this.#keys.get(table) ?? 0
      if (known === Infinity) {
        this.#dropped.set(table, place)
        continue
      }
      const count = known + sizeOf(rows)
      const isTooMuch = count > maxKeys
      this.#keys.set(table, isTooMuch ? Infinity : count)
      limited.set(table, isTooMuch && 'keys' in rows ? { list: MANY } : rows)
    }
    return limited
  }

  #recount(): void {
    this.#keys.clear()
    for (const { tables } of this.#pending)
      for (const [table, rows] of tables) this.#keys.set(table, (this.#keys.get(table) ?? 0) + sizeOf(rows))
    for (const table of this.#dropped.keys()) if (this.#keys.get(table) !== Infinity) this.#dropped.delete(table)
  }

  #verify(item: BinlogItem): void {
    if (this.isVerified || item.type === 'heartbeat') return
    const { from, server } = this.#options
    if (item.type === 'format') {
      const isSame = from.flavor === 'mariadb' && from.server === server
      if (isSame && from.format !== undefined && from.file === item.file && from.format !== stampOf(item))
        throw forked(`the server has created its binlog ${from.file} again`)
      this.isVerified = from.flavor === 'mariadb' ? !isSame || from.last === undefined : from.last?.gtid === undefined
      return
    }
    if (item.type !== 'transaction' || from.last === undefined) return
    if (from.flavor === 'mariadb') {
      if (item.start !== from.last.start || item.crc !== from.last.crc)
        throw forked(`the binlog ${from.file} of the server has another event at ${from.last.start}`)
    } else {
      if (item.gtid !== from.last.gtid) return
      if (item.committedMicros !== from.last.micros)
        throw forked(`the server has another transaction ${from.last.gtid}`)
    }
    this.isVerified = true
  }
}

const MANY = 'so many rows were changed that a list is cheaper'

function sizeOf(rows: TouchedRows): number {
  return 'keys' in rows ? rows.keys.size : Infinity
}
