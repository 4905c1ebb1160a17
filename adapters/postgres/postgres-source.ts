import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import {
  type Entry,
  type ListContext,
  type ListEvent,
  type ListPage,
  PAGE_SIZE,
  type SourceContext,
  type WatchBatch,
  type WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { joinKey } from '../../src/util/join-key.js'
import { withKeepAliveBatches } from '../common/keep-alive-batches.js'
import { PollTimer } from '../common/poll-timer.js'
import { hasMethods, type Properties, propertiesOf } from '../common/properties.js'
import { isPool } from './connection/client-factory.js'
import type { PgTransaction } from './connection/pg-client.js'
import { codeOf, isLockTimeout, postgresError } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { listenForWakeUps } from './connection/wake-up-listener.js'
import { type Delta, deltaSql, probeSql, readDelta, readProbe } from './delta-query.js'
import { assertSameDatabase, readHead } from './head-query.js'
import { checkPostgresOptions, type PostgresSource, type PostgresSourceOptions } from './postgres-options.js'
import { formatVersion, includesMark, isLaterEpoch, type PostgresVersion, parseVersion } from './postgres-version.js'
import { assertTrusted, UNTRUSTED_SQL } from './schema/trusted-owner.js'
import { TableAccess } from './table/table-access.js'
import { listTable } from './table-list.js'

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
  return new ChangeLogSource<T>(options)
}

const NO_TRANSACTION = 'mark: the argument must be the client on which the transaction is open'

/** A statement of its own transaction has not written yet. */
const WRITING_SQL = `SELECT ${UNTRUSTED_SQL} AS untrusted, pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL AS is_writing`
/** The server refuses this outside of a transaction. The mark reads the same table. */
const OPEN_SQL = 'LOCK TABLE listwatch.state IN ACCESS SHARE MODE'

class ChangeLogSource<T> implements PostgresSource<T> {
  readonly name: string
  readonly selection: string
  readonly heartbeatMs: number
  readonly hasReached: PostgresSource<T>['hasReached'] = includesMark
  readonly isLaterEpoch: (at: Version, mark: Version) => boolean = isLaterEpoch
  readonly #access: TableAccess<T>
  /** The session of the watch that is open. */
  #watching: Session | undefined
  waking: PostgresSource<T>['waking']

  constructor(options: PostgresSourceOptions) {
    const { table, columns, sql: where, rls, maxObjectBytes } = options
    this.#access = new TableAccess<T>(options)
    this.name = `postgres:${table}`
    this.selection = JSON.stringify({ columns, where, rls, maxObjectBytes })
    this.heartbeatMs = this.#access.pollIntervalMs + this.#access.timeoutMs
  }

  list(context: ListContext): AsyncIterable<ListPage<T>> {
    return listTable(this.#access, context)
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    const { after, clock, isUnconfirmed } = context
    const version = parseVersion(after)
    const session = await this.#access.connect(context)
    // The server also proves that it works by rows of a list, over another connection.
    let listedAt = -Infinity
    const onListed = (): void => {
      listedAt = clock.now()
    }
    yield* withKeepAliveBatches(this.#watch(session, version, context, onListed), {
      session: {
        get receivedAt() {
          return Math.max(session.receivedAt, listedAt)
        },
        close: () => session.close(),
      },
      clock,
      everyMs: this.#access.timeoutMs / 2,
      keepAlive: (last) =>
        last === undefined && isUnconfirmed === true ? undefined : { events: [], version: last?.version ?? after },
    })
  }

  async *#watch(
    session: Session,
    from: PostgresVersion,
    context: WatchContext,
    onListed: () => void,
  ): AsyncGenerator<WatchBatch<T>> {
    const { signal, clock, onProgressRequest } = context
    let version = from
    let isVerified = context.isUnconfirmed !== true
    try {
      const readChanges = await this.#changeReader(session)
      let fingerprint: string | undefined
      let expectsChanges = false
      await session.isolated(() => assertSameDatabase(session, version))
      const timer = new PollTimer(clock, this.#access.pollIntervalMs)
      onProgressRequest(() => timer.wake())
      this.#watching = session
      this.waking = 'poll'
      if (this.#access.options.wake !== 'poll' && !session.isPooled) {
        await listenForWakeUps(session, context, {
          onWakeUp: () => timer.wake(),
          onWorking: () => {
            this.waking = 'notify'
          },
        })
      }
      const trim = trimmer(session, clock, this.#access.options)
      for (;;) {
        const delta = await poll(session, () => readChanges(version, fingerprint, !expectsChanges))
        if (delta === undefined) {
          if (isVerified) yield { events: [], version: formatVersion(version) }
        } else {
          isVerified = true
          ;({ version, fingerprint } = delta)
          let batch: WatchBatch<T> = { events: delta.events ?? [], version: formatVersion(version) }
          if (delta.events === undefined) {
            batch = await this.#readAgain(batch.version, context, onListed)
            version = parseVersion(batch.version)
          }
          if (batch.events.length > 0) timer.changed(batch.events.length)
          yield batch
        }
        await trim()
        expectsChanges = await timer.next(signal)
      }
    } finally {
      if (this.#watching === session) {
        this.#watching = undefined
        this.waking = undefined
      }
    }
  }

  /**
   * Lists the rows that row security shows to the reader, as one batch. The log does not show their keys, because it has
   * those of hidden rows too.
   */
  async #readAgain(
    floor: Version,
    { signal, clock, random }: SourceContext,
    alive: () => void,
  ): Promise<WatchBatch<T>> {
    const entries: Entry<T>[] = []
    const others: ListEvent<T>[] = []
    let version = floor
    for await (const page of this.list({ signal, clock, random, floor, alive, pageSize: PAGE_SIZE })) {
      alive()
      for (const event of page.events) {
        if (event.type === 'put') entries.push(event)
        else others.push(event)
      }
      version = page.version ?? version
    }
    return { events: [{ type: 'replace', entries }, ...others], version }
  }

  /** Returns a function that reads the changes since a version, first by the cheap probe if `mayProbe`. */
  async #changeReader(
    session: Session,
  ): Promise<(from: PostgresVersion, fingerprint: string | undefined, mayProbe: boolean) => Promise<Delta<T>>> {
    const table = await this.#access.findTable(session)
    await session.preparePolls()
    const codec = this.#access.codec(session, table)
    const { sql: where, maxDeltaRows } = this.#access.options
    const sql = deltaSql(table, where, maxDeltaRows)
    const probe = probeSql(table)
    return async (from, fingerprint, mayProbe) => {
      if (fingerprint !== undefined && mayProbe) {
        const version = await readProbe(session, probe, from, fingerprint)
        if (version !== undefined) return { events: [], version, fingerprint }
      }
      return await readDelta(session, table, sql, codec, from, fingerprint)
    }
  }

  async head(context: SourceContext): Promise<Version> {
    const open = this.#watching
    if (open !== undefined) {
      try {
        return await open.isolated(() => readHead(open))
      } catch (error) {
        if (context.signal.aborted) throw error // Otherwise only the watch ended, which owned this connection.
      }
    }
    const session = await this.#access.connect(context)
    try {
      return await session.isolated(() => readHead(session))
    } finally {
      await session.close()
    }
  }

  mark(tx: PgTransaction): Promise<Version> {
    return readMark(tx, this.#access.options.table)
  }

  key(...columns: readonly (string | number | bigint)[]): string {
    if (columns.length === 0) throw new TypeError('key: the values of the key columns are missing')
    for (const value of columns) {
      if (!['string', 'number', 'bigint'].includes(typeof value)) {
        throw new TypeError(
          `key: strings, numbers and bigints are allowed, got ${value === null ? 'null' : typeof value}`,
        )
      }
    }
    return joinKey(columns.map(String))
  }
}

/** `table`: for errors. */
export async function readMark(tx: PgTransaction, table?: string): Promise<Version> {
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

/** Returns what `read` resolves with; undefined if the table is locked, although the server is alive. */
async function poll<V>(session: Session, read: () => Promise<V>): Promise<V | undefined> {
  try {
    return await session.isolated(read)
  } catch (error) {
    if (isLockTimeout(error)) return undefined
    throw error
  }
}

/** Returns a function that trims the log if it is due. */
export function trimmer(
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
