import { ABORTED, type SourceError } from '../../src/contract/errors.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from '../../src/contract/shared-history.js'
import type { ListContext, ListPage, SourceContext, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { uniqueName } from '../../src/util/unique-name.js'
import { keyOf } from '../common/columns.js'
import { withKeepAliveBatches } from '../common/keep-alive-batches.js'
import { OwnSignal } from '../common/own-signal.js'
import { ReadPace } from '../common/poll-timer.js'
import { elementsOf, hasMethods, propertiesOf } from '../common/properties.js'
import { isExpired, unavailable } from '../common/source-errors.js'
import { openBinlog } from './binlog/binlog-stream.js'
import type { BinlogItem } from './binlog/binlog-types.js'
import { TransactionReader } from './binlog/transaction-reader.js'
import { BinlogFollower, type FollowedTable } from './binlog-follower.js'
import type { MysqlClient } from './connection/mysql-client.js'
import { isOfDdl, isOfTable, mysqlError } from './connection/mysql-errors.js'
import { connectCore, Session } from './connection/session.js'
import {
  checkDatabaseOptions,
  checkSourceOptions,
  checkTableOptions,
  type MysqlDatabaseOptions,
  type MysqlSource,
  type MysqlSourceOptions,
  type MysqlTable,
  type MysqlTableOptions,
} from './mysql-options.js'
import {
  earliest,
  formatMark,
  formatVersion,
  includesMark,
  type MySqlPosition,
  type Position,
  parseVersion,
  stampOf,
  startOf,
} from './position.js'
import {
  beginSnapshot,
  FLAVOR_SQL,
  flavorOf,
  identify,
  type Query,
  readGtids,
  type Server,
  withServerGtids,
} from './server.js'
import { RowReader } from './table/row-reader.js'
import { findTable } from './table/table.js'
import { TableWatch, type WatchedTable } from './table-watch.js'

/**
 * Tables of one server of MariaDB or MySQL. All informers over them show one version, and change in one step. One
 * connection reads the binlog, and another one the rows of all tables.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 * import { mysqlDatabase } from 'listwatch/mysql'
 *
 * const shop = mysqlDatabase({ connect: () => mysql.createConnection(url) })
 * const orders = createInformer({ source: shop.table<Order>({ table: 'orders' }) })
 * const limits = createInformer({ source: shop.table<Limit>({ table: 'limits' }) })
 * await groupInformers([orders, limits]).start().synced()
 * ```
 */
export interface MysqlDatabase {
  /**
   * Returns a table as a source. Each can have one informer at a time.
   * @throws OptionError that names a wrong option.
   */
  table<T = unknown>(options: MysqlTableOptions): MysqlTable<T>
  /** Returns a mark of everything that was committed before, as `mark` of `mysqlSource`. All tables take it. */
  mark(connection: Pick<MysqlClient, 'query'>): Promise<Version>
}

/**
 * Returns the tables of a server of MariaDB or MySQL with one history: its binlog.
 * @returns The database, whose tables are sources.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 * import { mysqlDatabase } from 'listwatch/mysql'
 *
 * const shop = mysqlDatabase({ connect: () => mysql.createConnection(url) })
 * const orders = createInformer({ source: shop.table<Order>({ table: 'orders' }) })
 * ```
 */
export function mysqlDatabase(options: MysqlDatabaseOptions): MysqlDatabase {
  checkDatabaseOptions(options)
  return new BinlogHistory(options)
}

/**
 * Returns a source that mirrors a table of MariaDB or MySQL. The binlog names the changed rows, which are read again in
 * a consistent snapshot. Nothing is installed in the server.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 *
 * const source = mysqlSource<Order>({ connect: () => mysql.createConnection(url), table: 'shop.orders' })
 * const orders = createInformer({ source })
 * ```
 */
export function mysqlSource<T = unknown>(options: MysqlSourceOptions): MysqlSource<T> {
  checkSourceOptions(options)
  const { connect: _, timeoutMs: __, serverId: ___, ...table } = options
  const database = new BinlogHistory(options)
  // A source of its own, without the bookkeeping of collections that change together.
  const { history, collection, ...source } = database.table<T>(table)
  return { ...source, mark: (connection) => database.mark(connection) }
}

/** Random server ids are above those that administrators choose. */
const MIN_SERVER_ID = 2 ** 31
const SERVER_IDS = 2 ** 31 - 1
const IN_TRANSACTION = 1
/** The shortest and the longest delay before another snapshot, if the server has not finished a commit. */
const MIN_DELAY_MS = 1
const MAX_DELAY_MS = 50

type TableSource<T> = CollectionSource<T> & MysqlTable<T>

class BinlogHistory implements SharedHistory, MysqlDatabase {
  readonly name = 'mysql'
  readonly holdMs: number | undefined
  readonly #options: MysqlDatabaseOptions
  readonly #timeoutMs: number
  readonly #tables = new Map<string, MysqlTableOptions>()
  #watching: { readonly session: Session; readonly server: Server } | undefined

  constructor(options: MysqlDatabaseOptions) {
    this.#options = { ...options }
    this.#timeoutMs = options.timeoutMs ?? 5_000
    this.holdMs = options.holdMs
  }

  table<T>(options: MysqlTableOptions): TableSource<T> {
    checkTableOptions(options)
    const collection = uniqueName(options.table, this.#tables)
    this.#tables.set(collection, { ...options })
    const { table, columns, sql, integers, maxObjectBytes } = options
    return {
      name: `mysql:${table}`,
      heartbeatMs: this.#timeoutMs,
      selection: JSON.stringify({ table, columns, sql, integers, maxObjectBytes }),
      history: this,
      collection,
      list: (context) => this.#list<T>(options, context),
      watch: (context: WatchContext) => watchCollection<T>(this, collection, context),
      head: (context) => this.#head(context),
      hasReached: includesMark,
      key: keyOf,
    }
  }

  async mark(connection: Pick<MysqlClient, 'query'>): Promise<Version> {
    if (!hasMethods(connection, 'query'))
      throw new TypeError('mark: the argument must be a connection or a pool of mysql2/promise')
    const run = async (sql: string): Promise<unknown> => {
      const [result] = await connection.query(sql).catch((error: unknown) => {
        throw mysqlError(error)
      })
      return result
    }
    // Each query of a pool may use another connection, which has no transaction.
    if ((Number(propertiesOf(await run('DO 0'))['serverStatus']) & IN_TRANSACTION) !== 0)
      throw new TypeError('mark: a transaction is open on this connection, and has no mark; call it after the commit')
    return await readMark(async (sql) => elementsOf(await run(sql)).map(propertiesOf))
  }

  async #head(context: SourceContext): Promise<Version> {
    const read = (session: Session, server?: Server): Promise<Version> =>
      readMark((sql) => session.query(sql), server?.flavor)
    if (this.#watching !== undefined) {
      try {
        return await read(this.#watching.session, this.#watching.server)
      } catch (error) {
        if (context.signal.aborted) throw error // Otherwise only the watch ended, which owned this connection.
      }
    }
    const session = await this.#open(context)
    try {
      return await read(session)
    } finally {
      session.close()
    }
  }

  async *#list<T>(options: MysqlTableOptions, context: ListContext): AsyncGenerator<ListPage<T>> {
    const session = await this.#open(context)
    const stopReporting = session.reportActivity(() => context.alive?.())
    try {
      const server = await identify(session)
      // In this order a change of the columns is either seen here, or after the version of the list.
      const { lower } = await beginSnapshot(session, server)
      const table = await findTable(session, server, options.table)
      const reader = new RowReader<T>(table, options)
      await reader.check(session)
      const version = formatVersion(await this.#stamped(session, lower, server, context))
      try {
        for await (const events of reader.all(session, context.pageSize)) yield { events }
      } catch (error) {
        if (!isOfDdl(error)) throw error
        await session.endSnapshot() // It shows the old columns.
        const { columns } = await findTable(session, server, options.table)
        throw columns.join() === table.columns.join() ? error : unavailable(`${table.sql} was changed`, error)
      }
      yield { events: [], version }
    } finally {
      stopReporting()
      session.close()
    }
  }

  /** Adds to the version of a list by which a watch recognises the history. */
  async #stamped(session: Session, at: Position, server: Server, context: ListContext): Promise<Position> {
    const gtid = at.flavor === 'mysql' ? newest(at, server.id) : undefined
    const position: Position =
      at.flavor === 'mariadb' ? await withServerGtids(session, at) : { ...at, last: { gtid, micros: 0 } }
    const own = new OwnSignal(context.signal)
    try {
      const stream = await this.#stream(position, server, { ...context, signal: own.signal }, new TransactionReader())
      for await (const items of stream) {
        context.alive?.()
        for (const item of items) {
          if (item.type === 'format') {
            if (position.flavor === 'mariadb') return { ...position, format: stampOf(item) }
            if (gtid === undefined) return { ...position, last: { gtid, micros: item.createdAt * 1_000 } }
          } else if (
            item.type === 'transaction' &&
            item.gtid === gtid &&
            item.committedMicros !== undefined &&
            position.flavor === 'mysql'
          )
            return { ...position, last: { gtid, micros: item.committedMicros } }
        }
      }
    } catch (error) {
      if (!isExpired(error)) throw error
    } finally {
      own.end()
    }
    return at // The server has removed the transaction. Only the transactions after it can be compared.
  }

  async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const { clock, positions } = context
    if (positions.size === 0) return
    const session = await this.#open(context)
    yield* withKeepAliveBatches(this.#watch(session, context), {
      session,
      clock,
      everyMs: this.#timeoutMs / 2,
      keepAlive: (last) => {
        // Before the first batch the tables may have different versions.
        if (last === undefined) context.alive?.()
        return last && { ...last, parts: new Map(), lost: new Map() }
      },
    })
  }

  async *#watch(session: Session, context: HistoryWatchContext): AsyncGenerator<CollectionBatch> {
    const { clock, signal, positions, onProgressRequest, hasWaiters } = context
    const server = await identify(session)
    const lost = new Map<string, SourceError>()
    const tables = await this.#findTables(session, server, positions, lost)
    const from = earliest(tables.map((each) => each.from))
    if (from === undefined) {
      yield { version: [...positions.values()][0] ?? '', parts: new Map(), lost }
      return
    }
    const followed = this.#followed(tables)
    const maxKeys = Math.max(...[...followed.values()].map((each) => each.maxKeys))
    const follower = new BinlogFollower({ from, server: server.id, clock, tables: followed })
    const watch = new TableWatch(session, server, follower, { from, tables, lost, timeoutMs: this.#timeoutMs, clock })
    const reader = new TransactionReader(maxKeys)
    for (const table of tables) reader.watch(table.reader.table)
    const own = new OwnSignal(signal)
    const running = this.#stream(from, server, { ...context, signal: own.signal }, reader)
      .then((stream) => follower.run(stream))
      .catch(async (error: unknown) => follower.fail(await watch.explained(error).catch(() => error)))
    let isRequested = true
    let yieldedAt = clock.now()
    let checkAt = yieldedAt // A server that lacks transactions does not say so.
    let delayMs = MIN_DELAY_MS
    onProgressRequest(() => {
      isRequested = true
      follower.wake()
    })
    const pace = new ReadPace(clock)
    const watching = { session, server }
    this.#watching = watching
    try {
      while (!signal.aborted) {
        if (clock.now() >= checkAt) {
          checkAt = clock.now() + this.#timeoutMs / 3
          await watch.assertComplete()
        }
        const isPending = watch.isReady && follower.hasPending
        const isDue = isRequested || clock.now() - yieldedAt >= this.#timeoutMs / 3
        const isWanted = isDue || (!isPending && watch.isBehind && hasWaiters?.() === true)
        const batch = (isPending ? await watch.advance() : undefined) ?? (isWanted ? watch.bookmark() : undefined)
        if (batch === undefined) {
          await follower.wait(isPending ? delayMs : this.#timeoutMs / 3)
          delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
          continue
        }
        isRequested = false
        yieldedAt = clock.now()
        delayMs = MIN_DELAY_MS
        yield batch
        const restMs = pace.restMs(batch.parts.values().reduce((count, { length }) => count + length, 0))
        if (restMs > 0) await clock.sleep(restMs, signal)
      }
      throw ABORTED
    } finally {
      if (this.#watching === watching) this.#watching = undefined
      own.end()
      await running
    }
  }

  /** Looks the tables up. Those that cannot be mirrored are lost. */
  async #findTables(
    session: Session,
    server: Server,
    positions: ReadonlyMap<string, Version>,
    lost: Map<string, SourceError>,
  ): Promise<readonly WatchedTable[]> {
    const tables: WatchedTable[] = []
    for (const [collection, position] of positions) {
      const options = this.#tables.get(collection)
      if (options === undefined) throw new Error(`there is no table ${collection}`)
      const from = parseVersion(position)
      try {
        const reader = new RowReader<unknown>(await findTable(session, server, options.table), options)
        tables.push({ collection, reader, from })
      } catch (error) {
        if (!isOfTable(error)) throw error
        lost.set(collection, error)
      }
    }
    return tables
  }

  /** Two collections may be of one table. */
  #followed(tables: readonly WatchedTable[]): ReadonlyMap<string, FollowedTable> {
    const followed = new Map<string, FollowedTable>()
    for (const { collection, reader, from } of tables) {
      const { maxDeltaRows = 250_000 } = this.#tables.get(collection) ?? {}
      const { maxKeys = maxDeltaRows, versions = [] } = followed.get(reader.table.id) ?? {}
      followed.set(reader.table.id, { maxKeys: Math.min(maxKeys, maxDeltaRows), versions: [...versions, from] })
    }
    return followed
  }

  /** Opens a stream of the binlog over a connection of its own. Its first items prove that the history continues. */
  async #stream(
    from: Position,
    server: Server,
    { signal, clock, random }: SourceContext,
    reader: TransactionReader,
  ): Promise<AsyncIterable<readonly BinlogItem[]>> {
    const { connect, serverId = MIN_SERVER_ID + Math.floor(random.next() * SERVER_IDS) } = this.#options
    const timeoutMs = this.#timeoutMs
    const start = startOf(from, server.id)
    const core = await connectCore(connect, { signal, clock, timeoutMs })
    return openBinlog(core, { from: start, reader, serverId, heartbeatTimeoutMs: timeoutMs, signal, clock })
  }

  #open({ signal, clock }: SourceContext): Promise<Session> {
    return Session.open(this.#options.connect, { signal, clock, timeoutMs: this.#timeoutMs })
  }
}

async function readMark(query: Query, known?: Server['flavor']): Promise<Version> {
  const flavor = known ?? flavorOf((await query(FLAVOR_SQL))[0]?.['version'])
  return formatMark((await readGtids(query, flavor)).executed)
}

/** The newest transaction of a set: of the server itself, if there is one. */
function newest({ gtids }: MySqlPosition, server: string): string | undefined {
  const [first] = gtids.keys()
  const origin = gtids.has(server) ? server : first
  const last = origin === undefined ? undefined : gtids.get(origin)?.at(-1)?.last
  return last === undefined ? undefined : `${origin}:${last}`
}
