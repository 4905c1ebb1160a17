import type { Clock } from '../../src/contract/clock.js'
import { OptionError, SourceError } from '../../src/contract/errors.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from '../../src/contract/shared-history.js'
import {
  type Entry,
  type ListEvent,
  type ListerWatcher,
  PAGE_SIZE,
  type SourceContext,
  type WatchBatch,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { uniqueName } from '../../src/util/unique-name.js'
import { keyWithoutBytes } from '../common/columns.js'
import { withKeepAliveBatches } from '../common/keep-alive-batches.js'
import { PollTimer } from '../common/poll-timer.js'
import { hasMethods, type Properties, propertiesOf } from '../common/properties.js'
import { isPool } from './connection/client-factory.js'
import type { PgTransaction } from './connection/pg-client.js'
import { codeOf, postgresError } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { listenForWakeUps } from './connection/wake-up-listener.js'
import { deltaSql } from './delta-query.js'
import { assertSameDatabase, readHead } from './head-query.js'
import {
  checkDatabaseOptions,
  checkPostgresOptions,
  type PostgresDatabaseOptions,
  type PostgresSource,
  type PostgresSourceOptions,
} from './postgres-options.js'
import { formatVersion, incarnationChange, includesMark, isLaterEpoch, parseVersion } from './postgres-version.js'
import { assertTrusted, UNTRUSTED_SQL } from './schema/trusted-owner.js'
import { TableAccess } from './table/table-access.js'
import { listTable } from './table-list.js'
import { ofOneTable, type PolledTable, Poller } from './table-poller.js'

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
  return new TableHistory(options)
}

/**
 * Returns a source that mirrors a table by the change log that `listwatch pg install` creates. It opens connections
 * only for lists, watches and `head`.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const source = postgresSource<Order>({ connect: () => new pg.Client(url), table: 'public.orders' })
 * const orders = createInformer({ source })
 * ```
 */
export function postgresSource<T = unknown>(options: PostgresSourceOptions): PostgresSource<T> {
  checkPostgresOptions(options)
  const database = new TableHistory(options)
  // A source of its own, without the bookkeeping of tables that change together.
  const { history, collection, ...source } = database.table<T>(options)
  return {
    ...source,
    mark: (tx) => readMark(tx, options.table),
    get waking() {
      return database.waking
    },
  }
}

class TableHistory implements SharedHistory, PostgresDatabase {
  readonly name = 'postgres'
  readonly holdMs: number | undefined
  readonly #options: PostgresDatabaseOptions
  readonly #tables = new Map<string, TableAccess<unknown>>()
  /** The session of the watch of one table that is open. */
  #watching: Session | undefined
  waking: PostgresSource<unknown>['waking']

  constructor({ holdMs, ...options }: PostgresDatabaseOptions) {
    this.#options = options
    this.holdMs = holdMs
  }

  table<T>(options: PostgresTableOptions): CollectionSource<T> & PostgresTable<T> {
    const all: PostgresSourceOptions = { ...this.#options, ...options }
    checkPostgresOptions(all)
    if (this.#tables.size >= MAX_TABLES)
      throw new OptionError(`table: a database has at most ${MAX_TABLES} tables`, { option: 'table' })
    const collection = uniqueName(options.table, this.#tables)
    const access = new TableAccess<T>(all)
    this.#tables.set(collection, access)
    const { table, columns, sql: where, rls, maxObjectBytes } = all
    return {
      name: `postgres:${table}`,
      heartbeatMs: access.pollIntervalMs + access.timeoutMs,
      selection: JSON.stringify({ columns, where, rls, maxObjectBytes }),
      history: this,
      collection,
      list: (context) => listTable(access, context),
      watch: (context) => watchCollection<T>(this, collection, context),
      head: (context) => this.#head(access, context),
      hasReached: includesMark,
      isLaterEpoch,
      key: (...columns) => keyWithoutBytes(columns),
    }
  }

  mark(tx: PgTransaction): Promise<Version> {
    return readMark(tx)
  }

  async #head(access: TableAccess<unknown>, context: SourceContext): Promise<Version> {
    const open = this.#watching
    if (open !== undefined) {
      try {
        return await open.isolated(() => readHead(open))
      } catch (error) {
        if (context.signal.aborted) throw error // Otherwise only the watch ended, which owned this connection.
      }
    }
    const session = await access.connect(context)
    try {
      return await session.isolated(() => readHead(session))
    } finally {
      await session.close()
    }
  }

  async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const { clock, positions, isUnconfirmed } = context
    for (const position of positions.values()) parseVersion(position) // Before a connection is opened.
    const [[first, version] = []] = positions
    const access = this.#tables.get(first ?? '')
    if (access === undefined || version === undefined) return
    const session = await access.connect(context)
    // The server also proves that it works by rows of a list, over another connection.
    let listedAt = -Infinity
    const onListed = (): void => {
      listedAt = clock.now()
    }
    yield* withKeepAliveBatches(this.#watch(session, context, onListed), {
      session: {
        get receivedAt() {
          return Math.max(session.receivedAt, listedAt)
        },
        close: () => session.close(),
      },
      clock,
      everyMs: access.timeoutMs / 2,
      keepAlive: (last) => {
        if (last !== undefined) return { ...last, parts: new Map(), lost: new Map() }
        // Before the first batch several tables may have different versions.
        context.alive?.()
        return positions.size > 1 || isUnconfirmed === true ? undefined : { version, parts: new Map() }
      },
    })
  }

  async *#watch(session: Session, context: HistoryWatchContext, onListed: () => void): AsyncGenerator<CollectionBatch> {
    const { signal, clock, positions, onProgressRequest, isUnconfirmed } = context
    const { pollIntervalMs = 1_000, wake } = this.#options
    const lost = new Map<string, SourceError>()
    let tables = await this.#open(session, context, lost, onListed)
    const timer = new PollTimer(clock, pollIntervalMs)
    onProgressRequest(() => timer.wake())
    const isAlone = positions.size === 1
    if (isAlone) this.#watching = session
    this.waking = 'poll'
    try {
      if (wake !== 'poll' && !session.isPooled) {
        await listenForWakeUps(session, context, {
          onWakeUp: () => timer.wake(),
          onWorking: () => {
            this.waking = 'notify'
          },
        })
      }
      const poller = new Poller(session)
      const trim = trimmer(session, clock, this.#options)
      let expectsChanges = true
      /** Whether all tables have one version, which the server has confirmed. */
      let isVerified = isAlone && isUnconfirmed !== true
      for (;;) {
        const parts = await poller.poll(tables, expectsChanges, lost)
        if (lost.size > 0) tables = tables.filter(({ collection }) => !lost.has(collection))
        isVerified ||= parts !== undefined
        if (isVerified || lost.size > 0) {
          const changes = parts?.values().reduce((sum, { length }) => sum + length, 0) ?? 0
          if (changes > 0) timer.changed(changes)
          yield batchOf(tables, parts ?? new Map(), lost, positions)
          lost.clear()
        }
        await trim()
        expectsChanges = await timer.next(signal)
      }
    } finally {
      if (this.#watching === session) this.#watching = this.waking = undefined
    }
  }

  /** Looks the tables up. Those that cannot be mirrored are lost. */
  async #open(
    session: Session,
    context: HistoryWatchContext,
    lost: Map<string, SourceError>,
    onListed: () => void,
  ): Promise<readonly PolledTable[]> {
    const tables: PolledTable[] = []
    for (const [collection, position] of context.positions) {
      const access = this.#tables.get(collection)
      if (access === undefined) throw new Error(`there is no table ${collection}`)
      const from = parseVersion(position)
      try {
        const found = await access.findTable(session)
        const { sql, maxDeltaRows } = access.options
        tables.push({
          collection,
          statement: `listwatch_delta_${tables.length}`,
          table: found,
          sql: deltaSql(found, sql, maxDeltaRows),
          codec: access.codec(session, found),
          list: (floor) => listAgain(access, floor, context, onListed),
          from,
          fingerprint: undefined,
        })
      } catch (error) {
        lost.set(collection, ofOneTable(error))
      }
    }
    const [first] = tables
    if (first !== undefined) await session.isolated(() => assertSameDatabase(session, first.from))
    for (const { from } of tables) {
      const change = first && incarnationChange(from, first.from)
      if (change !== undefined) throw new SourceError(`a table has a version of ${change}`, { code: 'EPOCH_CHANGED' })
    }
    await session.preparePolls()
    return tables
  }
}

/**
 * Lists the rows that row security shows to the reader, as one batch. The log does not show their keys, because it has
 * those of hidden rows too.
 */
async function listAgain(
  access: TableAccess<unknown>,
  floor: Version,
  { signal, clock, random }: SourceContext,
  alive: () => void,
): Promise<WatchBatch<unknown>> {
  const entries: Entry<unknown>[] = []
  const others: ListEvent<unknown>[] = []
  let version = floor
  for await (const page of listTable(access, { signal, clock, random, floor, alive, pageSize: PAGE_SIZE })) {
    alive()
    for (const event of page.events) {
      if (event.type === 'put') entries.push(event)
      else others.push(event)
    }
    version = page.version ?? version
  }
  return { events: [{ type: 'replace', entries }, ...others], version }
}

function batchOf(
  tables: readonly PolledTable[],
  parts: CollectionBatch['parts'],
  lost: ReadonlyMap<string, SourceError>,
  positions: ReadonlyMap<string, Version>,
): CollectionBatch {
  const versions = new Map(tables.map(({ collection, from }) => [collection, formatVersion(from)]))
  const [version = [...positions.values()][0] ?? ''] = versions.values()
  return { version, versions, parts, lost: new Map(lost) }
}

const NO_TRANSACTION = 'mark: the argument must be the client on which the transaction is open'

/** A statement of its own transaction has not written yet. */
const WRITING_SQL = `SELECT ${UNTRUSTED_SQL} AS untrusted, pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL AS is_writing`
/** The server refuses this outside of a transaction. The mark reads the same table. */
const OPEN_SQL = 'LOCK TABLE listwatch.state IN ACCESS SHARE MODE'

/** `table`: for errors. */
async function readMark(tx: PgTransaction, table?: string): Promise<Version> {
  // Each query of a pool may be in another transaction.
  if (!hasMethods(tx, 'query') || isPool(tx)) throw new TypeError(`${NO_TRANSACTION}, not a pool`)
  const run = async (sql: string): Promise<Properties> => {
    const { rows } = await tx.query(sql).catch((error: unknown) => {
      if (codeOf(error) === '25P01')
        throw new TypeError(`${NO_TRANSACTION}, and no transaction is open: call it after BEGIN`)
      throw postgresError(error, tx, table)
    })
    return propertiesOf(rows[0])
  }
  // A statement of its own: the planner of the last one may already call the function.
  const { untrusted, is_writing } = await run(WRITING_SQL)
  assertTrusted(untrusted)
  // The mark of another transaction would say nothing about the caller's writes.
  if (is_writing !== true) await run(OPEN_SQL)
  return String((await run('SELECT listwatch.mark() AS mark'))['mark'])
}

function trimmer(
  session: Session,
  clock: Clock,
  { trimEveryMs = 30_000 }: Pick<PostgresSourceOptions, 'trimEveryMs'>,
): () => Promise<void> {
  const everyMs = trimEveryMs === false ? Infinity : trimEveryMs
  let dueAt = clock.now() + everyMs
  return async () => {
    if (clock.now() < dueAt) return
    dueAt = clock.now() + everyMs
    await session.write('SELECT listwatch.tend()').catch((error: unknown) => {
      // An error of the server is ignored: other readers and writers trim too.
      if (!(error instanceof SourceError) || codeOf(error.cause) === undefined) throw error
    })
  }
}
