import { OptionError, SourceError } from '../../src/contract/errors.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from '../../src/contract/shared-history.js'
import type { ListerWatcher, SourceContext, WatchEvent } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { uniqueName } from '../../src/util/unique-name.js'
import { withKeepAliveBatches } from '../common/keep-alive-batches.js'
import { PollTimer } from '../common/poll-timer.js'
import { refused } from '../common/source-errors.js'
import type { PgTransaction } from './connection/pg-client.js'
import { isLockTimeout } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { listenForWakeUps } from './connection/wake-up-listener.js'
import { changedTables, deltaSql, probesSql, readDelta } from './delta-query.js'
import { assertSameDatabase } from './head-query.js'
import {
  checkDatabaseOptions,
  type PostgresDatabaseOptions,
  type PostgresSource,
  type PostgresSourceOptions,
} from './postgres-options.js'
import { postgresSource, readMark, trimmer } from './postgres-source.js'
import { formatVersion, incarnationChange, type PostgresVersion, parseVersion } from './postgres-version.js'
import type { RowCodec } from './table/row-codec.js'
import { TableAccess } from './table/table-access.js'
import type { Table } from './table/table-catalog.js'

/** One poll reads the logs of all tables in one snapshot. */
const MAX_TABLES = 200

/**
 * Options of a table of `postgresDatabase`.
 *
 * @example
 * ```ts
 * import type { PostgresTableOptions } from 'listwatch/postgres'
 *
 * const open: PostgresTableOptions = { table: 'shop.orders', sql: `status <> 'archived'` }
 * ```
 */
export type PostgresTableOptions = Pick<
  PostgresSourceOptions,
  'table' | 'columns' | 'sql' | 'maxDeltaRows' | 'maxObjectBytes'
>

/**
 * A table of `postgresDatabase`, as a source.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresDatabase, type PostgresTable } from 'listwatch/postgres'
 *
 * const shop = postgresDatabase({ connect: () => new pg.Client(url) })
 * const limits: PostgresTable<Limit> = shop.table<Limit>({ table: 'limits' })
 * console.log(limits.key('acme', 7)) // The key columns are a tenant and a number.
 * ```
 */
export type PostgresTable<T> = ListerWatcher<T> & Pick<PostgresSource<T>, 'heartbeatMs' | 'key' | 'head' | 'hasReached'>

/**
 * Tables of one database. All informers over them show one version, and change in one step. One connection polls the
 * changes of all tables.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresDatabase } from 'listwatch/postgres'
 *
 * const shop = postgresDatabase({ connect: () => new pg.Client(url) })
 * const orders = createInformer({ source: shop.table<Order>({ table: 'orders' }) })
 * const limits = createInformer({ source: shop.table<Limit>({ table: 'limits' }) })
 * await groupInformers([orders, limits]).start().synced()
 * const mark = await shop.mark(tx) // One mark for all tables.
 * await orders.waitFor(mark)
 * console.log(limits.get('acme')) // It shows the transaction, too.
 * ```
 */
export interface PostgresDatabase {
  /**
   * Returns a table as a source. Each can have one informer at a time.
   * @throws OptionError that names a wrong option; for more than 200 tables.
   */
  table<T = unknown>(options: PostgresTableOptions): PostgresTable<T>
  /** Returns the mark of a transaction, as `mark` of `postgresSource`. All tables take it. */
  mark(tx: PgTransaction): Promise<Version>
}

/**
 * Returns the tables of a database that `listwatch pg install` has prepared, with one history.
 * @returns The database, whose tables are sources.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresDatabase } from 'listwatch/postgres'
 *
 * const shop = postgresDatabase({ connect: () => new pg.Client(url) })
 * const orders = createInformer({ source: shop.table<Order>({ table: 'orders' }) })
 * ```
 */
export function postgresDatabase(options: PostgresDatabaseOptions): PostgresDatabase {
  checkDatabaseOptions(options)
  const { holdMs, ...ofTables } = options
  return new TableHistory(ofTables, holdMs)
}

/** A table that is polled. */
interface PolledTable {
  readonly collection: string
  readonly table: Table
  readonly sql: string
  readonly codec: RowCodec<unknown>
  /** Its version, and the fingerprint that its last delta has reported on this session. */
  from: PostgresVersion
  fingerprint: string | undefined
}

/** The changes of tables in one snapshot. */
type Parts = CollectionBatch['parts']

class TableHistory implements SharedHistory, PostgresDatabase {
  readonly name = 'postgres'
  readonly holdMs: number | undefined
  readonly #options: Omit<PostgresDatabaseOptions, 'holdMs'>
  readonly #tables = new Map<string, TableAccess<unknown>>()

  constructor(options: Omit<PostgresDatabaseOptions, 'holdMs'>, holdMs: number | undefined) {
    this.#options = options
    this.holdMs = holdMs
  }

  table<T>(options: PostgresTableOptions): PostgresTable<T> {
    const all = { ...this.#options, ...options }
    const source = postgresSource<T>(all)
    if (this.#tables.size >= MAX_TABLES)
      throw new OptionError(`table: a database has at most ${MAX_TABLES} tables`, { option: 'table' })
    const collection = uniqueName(options.table, this.#tables)
    this.#tables.set(collection, new TableAccess<unknown>(all))
    const { name, heartbeatMs, selection = '' } = source
    const table: CollectionSource<T> & PostgresTable<T> = {
      name,
      heartbeatMs,
      selection,
      history: this,
      collection,
      list: (context) => source.list(context),
      watch: (context) => watchCollection<T>(this, collection, context),
      head: (context: SourceContext) => source.head(context),
      hasReached: (at, mark) => source.hasReached(at, mark),
      isLaterEpoch: (at, mark) => source.isLaterEpoch?.(at, mark) === true,
      key: (...columns) => source.key(...columns),
    }
    return table
  }

  mark(tx: PgTransaction): Promise<Version> {
    return readMark(tx)
  }

  async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const { clock, positions } = context
    const [first] = positions.keys()
    const access = this.#tables.get(first ?? '')
    if (access === undefined) return
    const session = await access.connect(context)
    yield* withKeepAliveBatches(this.#watch(session, context), {
      session,
      clock,
      everyMs: access.timeoutMs / 2,
      keepAlive: (last) => {
        // Before the first batch the tables may have different versions.
        if (last === undefined) context.alive?.()
        return last && { ...last, parts: new Map(), lost: new Map() }
      },
    })
  }

  async *#watch(session: Session, context: HistoryWatchContext): AsyncGenerator<CollectionBatch> {
    const { signal, clock, positions, onProgressRequest } = context
    const { pollIntervalMs = 1_000, wake } = this.#options
    const lost = new Map<string, SourceError>()
    let tables = await this.#open(session, positions, lost)
    const timer = new PollTimer(clock, pollIntervalMs)
    onProgressRequest(() => timer.wake())
    if (wake !== 'poll' && !session.isPooled) await listenForWakeUps(session, context, { onWakeUp: () => timer.wake() })
    const poller = new Poller(session)
    const trim = trimmer(session, clock, this.#options)
    let expectsChanges = true
    for (;;) {
      const read = await poller.poll(tables, expectsChanges, lost)
      if (lost.size > 0) tables = tables.filter(({ collection }) => !lost.has(collection))
      if (read !== undefined || lost.size > 0) {
        const parts: Parts = read ?? new Map()
        if (parts.size > 0) timer.changed(parts.values().reduce((sum, { length }) => sum + length, 0))
        yield batchOf(tables, parts, lost, positions)
        lost.clear()
      }
      await trim()
      expectsChanges = await timer.next(signal)
    }
  }

  /** Looks the tables up. Those that cannot be mirrored are lost. */
  async #open(
    session: Session,
    positions: ReadonlyMap<string, Version>,
    lost: Map<string, SourceError>,
  ): Promise<readonly PolledTable[]> {
    const versions = Array.from(positions.values(), parseVersion)
    const [first] = versions
    if (first === undefined) return []
    await session.isolated(() => assertSameDatabase(session, first))
    for (const each of versions) {
      const change = incarnationChange(each, first)
      if (change !== undefined) throw new SourceError(`a table has a version of ${change}`, { code: 'EPOCH_CHANGED' })
    }
    const tables: PolledTable[] = []
    for (const [collection, position] of positions) {
      const access = this.#tables.get(collection)
      if (access === undefined) throw new Error(`there is no table ${collection}`)
      try {
        const found = await access.findTable(session)
        const { sql, maxDeltaRows } = access.options
        tables.push({
          collection,
          table: found,
          sql: deltaSql(found, sql, maxDeltaRows),
          codec: access.codec(session, found),
          from: parseVersion(position),
          fingerprint: undefined,
        })
      } catch (error) {
        lost.set(collection, ofOneTable(error))
      }
    }
    await session.preparePolls()
    return tables
  }
}

/** Reads the changes of several tables in one snapshot, over one session. */
class Poller {
  readonly #session: Session
  #probe: { readonly sql: string; readonly name: string } | undefined
  #probes = 0

  constructor(session: Session) {
    this.#session = session
  }

  /**
   * Brings the tables to the version of one snapshot. Those whose changes cannot be read are added to `lost`. Returns
   * undefined if a table is locked: then no table was changed.
   */
  async poll(
    tables: readonly PolledTable[],
    expectsChanges: boolean,
    lost: Map<string, SourceError>,
  ): Promise<Parts | undefined> {
    if (!expectsChanges && (await this.#isUnchanged(tables))) return new Map()
    for (;;) {
      const left = tables.filter(({ collection }) => !lost.has(collection))
      const { size } = lost
      try {
        return await this.#session.inSnapshot(() => this.#read(left, lost), lockSql(left))
      } catch (error) {
        if (isLockTimeout(error)) return undefined
        if (lost.size === size) await this.#findFailing(left, lost)
        // A table that fails ends the transaction. The others are read again in another one.
        if (lost.size === size) throw error
      }
    }
  }

  /** Adds the tables to `lost` that cannot be locked, because they were dropped or their rights were revoked. */
  async #findFailing(tables: readonly PolledTable[], lost: Map<string, SourceError>): Promise<void> {
    for (const each of tables) {
      try {
        await this.#session.inSnapshot(async () => {}, lockSql([each]))
      } catch (error) {
        if (!isLockTimeout(error)) lost.set(each.collection, ofOneTable(error))
      }
    }
  }

  /** Whether no transaction has ended since the common version of all tables. */
  async #isUnchanged(tables: readonly PolledTable[]): Promise<boolean> {
    const [first] = tables
    if (first === undefined || tables.some(({ from }) => from.snapshot !== first.from.snapshot)) return false
    const [row] = await this.#session.isolated(() =>
      this.#session.query(
        'SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text AS snapshot, epoch FROM listwatch.state',
      ),
    )
    return row?.['snapshot'] === first.from.snapshot && row['epoch'] === first.from.epoch
  }

  async #read(tables: readonly PolledTable[], lost: Map<string, SourceError>): Promise<Parts> {
    const parts = new Map<string, readonly WatchEvent<unknown>[]>()
    const read = new Map<PolledTable, { readonly from: PostgresVersion; readonly fingerprint: string }>()
    const [current] = await this.#session.query('SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text AS snapshot')
    const snapshot = String(current?.['snapshot'])
    for (const each of await this.#changed(tables)) {
      const { collection, table, sql, codec, from, fingerprint } = each
      const name = `listwatch_delta_${collection}`
      try {
        const delta = await readDelta(this.#session, table, sql, codec, from, fingerprint, name)
        if (delta.version.snapshot !== snapshot) throw refused('the tables were read in two snapshots')
        read.set(each, { from: delta.version, fingerprint: delta.fingerprint })
        if (delta.events !== undefined && delta.events.length > 0) parts.set(collection, delta.events)
      } catch (error) {
        if (!isLockTimeout(error)) lost.set(collection, ofOneTable(error))
        throw error
      }
    }
    for (const table of tables) Object.assign(table, read.get(table) ?? { from: { ...table.from, snapshot } })
    return parts
  }

  /** The tables that may have changed since their version: all whose fingerprint is not known, or is another one. */
  async #changed(tables: readonly PolledTable[]): Promise<readonly PolledTable[]> {
    const [first] = tables
    const known = tables.flatMap((each) =>
      each.fingerprint === undefined ? [] : [{ ...each, fingerprint: each.fingerprint, polled: each }],
    )
    const isCommon = known.every(({ from }) => from.snapshot === first?.from.snapshot)
    if (known.length < tables.length || !isCommon) return tables
    const sql = probesSql(known)
    if (this.#probe?.sql !== sql) this.#probe = { sql, name: `listwatch_probe_${++this.#probes}` }
    const changed = await changedTables(this.#session, sql, known, this.#probe.name)
    return changed.map(({ polled }) => polled)
  }
}

/** A snapshot that is older than a truncation, or a rewrite, finds the table empty. So the locks come before it. */
function lockSql(tables: readonly PolledTable[]): string {
  const names = tables.map(({ table }) => table.name)
  return names.length === 0 ? '' : `LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`
}

/** Returns the error if it concerns one table; throws any other one. */
function ofOneTable(error: unknown): SourceError {
  const isOfTable =
    error instanceof SourceError &&
    ['VERSION_EXPIRED', 'NOT_FOUND', 'UNAUTHORIZED', 'PROTOCOL', 'DECODE'].includes(error.code)
  if (isOfTable) return error
  throw error
}

function batchOf(
  tables: readonly PolledTable[],
  parts: Parts,
  lost: ReadonlyMap<string, SourceError>,
  positions: ReadonlyMap<string, Version>,
): CollectionBatch {
  const versions = new Map(tables.map(({ collection, from }) => [collection, formatVersion(from)]))
  const [version = [...positions.values()][0] ?? ''] = versions.values()
  return { version, versions, parts, lost: new Map(lost) }
}
