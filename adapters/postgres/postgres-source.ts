import type { Clock } from '../../src/clock.js'
import { SourceError } from '../../src/errors.js'
import { joinKey } from '../../src/key.js'
import { checkOptions, isCount, isFunction, isName, isOneOf, isPositive, type OptionCheck } from '../../src/options.js'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
} from '../../src/source.js'
import type { Version } from '../../src/version.js'
import type { PgClient, PgTransaction } from './client.js'
import { deltaSql, readDelta } from './delta.js'
import { Pace } from './pace.js'
import { codeOf, postgresError } from './postgres-errors.js'
import {
  formatHead,
  formatVersion,
  incarnationChange,
  includesMark,
  type PostgresVersion,
  parseVersion,
} from './postgres-version.js'
import { RowCodec } from './row-codec.js'
import { Session } from './session.js'
import { checkWhere, findTable, type Table } from './table.js'

/** The channel on which writers wake readers. Its payload says nothing, and could not be trusted. */
const CHANNEL = 'listwatch'
/** How long our own notification may take before listening counts as broken, in milliseconds. */
const SELF_TEST_MS = 2_000

export interface PostgresSourceOptions {
  /** Gives a new, unconnected client of pg 8 at each call: `() => new pg.Client(url)`. Called for each connection. */
  readonly client: () => PgClient | Promise<PgClient>
  /** As in SQL: `orders`, `shop.orders`, `"Orders"`. It must have a primary key, and the triggers of `listwatch pg install`. */
  readonly table: string
  /** The columns to mirror; those of the key always are. Default: all. */
  readonly columns?: readonly string[]
  /**
   * A condition in SQL that depends on nothing but the row, on unqualified columns: `status <> 'archived'`. It is not
   * escaped. Needs the right to make temporary tables, by which it is checked.
   */
  readonly where?: string
  /** Say `row-local` where row security applies to the reader and no policy reads other rows. Default: refused. */
  readonly rls?: 'row-local'
  /** How long the source looks at the latest, in milliseconds, when nothing wakes it. Default 1 000. */
  readonly pollIntervalMs?: number
  /** A query without an answer for so many milliseconds means a dead peer. Default 5 000. */
  readonly heartbeatTimeoutMs?: number
  /** More changed keys than this at once and the table is read again. Default 250 000. */
  readonly maxDeltaRows?: number
  /** A row with more characters is invalid. Default 16 Mi. */
  readonly maxObjectBytes?: number
  /** How often this reader trims the log, in milliseconds; `false` leaves it to others. Default 30 000. */
  readonly trimEveryMs?: number | false
  /** `poll` never listens. Default: `notify`, falling back to `poll` where notifications do not arrive. */
  readonly wake?: 'notify' | 'poll'
}

/** A table of Postgres, as a source. Versions are snapshots: exact, resumable, and not held up by long transactions. */
export interface PostgresSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  /**
   * What to wait for after this transaction's commit: taken inside the writer's own transaction, in this or any other
   * process. `await informer.waitFor(mark)` then shows what it wrote. A TypeError for a pool.
   */
  mark(tx: PgTransaction): Promise<Version>
  /** The key of a row, from the values of its key columns in their order, as Postgres writes them. */
  key(...columns: readonly (string | number | bigint)[]): string
  /** How the open watch learns of changes; undefined while none is open. */
  readonly waking: 'notify' | 'poll' | undefined
  head(context: SourceContext): Promise<Version>
  hasReached(at: Version, mark: Version): boolean
}

const isColumns: OptionCheck = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string' && each !== '')
    ? undefined
    : 'must be an array of at least one column name'

const optionChecks: Readonly<Record<keyof PostgresSourceOptions, OptionCheck>> = {
  client: isFunction,
  table: isName,
  columns: isColumns,
  where: isName,
  rls: isOneOf('row-local'),
  pollIntervalMs: isPositive,
  heartbeatTimeoutMs: isPositive,
  maxDeltaRows: isCount,
  maxObjectBytes: isCount,
  trimEveryMs: (value) => (value === false ? undefined : isPositive(value)),
  wake: isOneOf('notify', 'poll'),
}

/** Mirrors a table by the change log that `listwatch pg install` sets up. Opens nothing by itself. */
export function postgresSource<T = unknown>(options: PostgresSourceOptions): PostgresSource<T> {
  checkOptions('postgresSource', options, optionChecks)
  if (options?.client === undefined)
    throw new TypeError('postgresSource: option "client" is missing: () => new pg.Client(…)')
  if (options.table === undefined) throw new TypeError('postgresSource: option "table" is missing')
  return new ChangelogSource<T>(options)
}

/** Refuses a pool, which gives each query another connection, so that the mark would be another transaction's. */
function assertTransaction(tx: unknown): void {
  const { query, totalCount } = Object(tx) as { readonly query?: unknown; readonly totalCount?: unknown }
  if (typeof query === 'function' && totalCount === undefined) return
  throw new TypeError('mark: the argument must be the client on which the transaction is open, not a pool')
}

class ChangelogSource<T> implements PostgresSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #options: PostgresSourceOptions
  readonly #pollIntervalMs: number
  readonly #timeoutMs: number
  readonly #maxDeltaRows: number
  /** The session of the watch that is open. */
  #watching: Session | undefined
  #waking: 'notify' | 'poll' | undefined
  #isWhereChecked = false

  constructor(options: PostgresSourceOptions) {
    this.#options = { ...options }
    this.#pollIntervalMs = options.pollIntervalMs ?? 1_000
    this.#timeoutMs = options.heartbeatTimeoutMs ?? 5_000
    this.#maxDeltaRows = options.maxDeltaRows ?? 250_000
    this.name = `postgres:${options.table}`
    this.heartbeatMs = this.#pollIntervalMs + this.#timeoutMs
  }

  get waking(): 'notify' | 'poll' | undefined {
    return this.#waking
  }

  async *list({ signal, clock, pageSize }: ListContext): AsyncIterable<ListPage<T>> {
    const session = await this.#connect(signal, clock)
    try {
      const unlocked = await this.#findTable(session)
      await session.query('SELECT listwatch.epoch()')
      for (let isLocked = false; !isLocked; ) {
        // The lock comes before the snapshot: a snapshot that is older than a rewrite finds the table empty.
        await session.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY')
        isLocked = await this.#lock(session, unlocked)
        if (!isLocked) yield { events: [] } // The table is being changed; the server is there, and we wait.
      }
      // Looked up again: a column that came before the lock is in the version's shape, and must be in its rows.
      const table = await this.#findTable(session)
      const codec = this.#codec(session, table)
      const version = await this.#here(session, table, unlocked)
      const condition = this.#options.where === undefined ? '' : ` WHERE (${this.#options.where}\n)`
      const copy = `COPY (SELECT ${table.columnList} FROM ${table.name} t${condition}) TO STDOUT`
      const pages = session.copy(copy, pageSize, () => this.#isCopying(session, signal, clock))
      for await (const lines of pages) {
        const events: ListEvent<T>[] = lines.map((line) => codec.fromCopyLine(line))
        yield { events }
      }
      await session.query('COMMIT')
      yield { events: [], version: formatVersion(version) }
    } finally {
      await session.close()
    }
  }

  async *watch({ after, signal, clock, onNudge }: WatchContext): AsyncIterable<WatchBatch<T>> {
    let version = parseVersion(after)
    const session = await this.#connect(signal, clock)
    try {
      const table = await this.#findTable(session)
      const codec = this.#codec(session, table)
      const sql = deltaSql(table, this.#options.where, this.#maxDeltaRows)
      await this.#assertSameDatabase(session, version)
      const pace = new Pace(clock, this.#pollIntervalMs)
      onNudge(() => pace.wake())
      this.#watching = session
      this.#waking = 'poll'
      await this.#listen(session, pace, clock, signal)
      let trimAt = clock.now() + this.#trimEveryMs()
      for (;;) {
        const delta = await this.#look(session, () => readDelta(session, table, sql, codec, version))
        if (delta === undefined) yield { events: [], version: formatVersion(version) }
        else {
          if (delta.events.length > 0) pace.alive()
          version = delta.version
          yield { events: delta.events, version: formatVersion(version) }
        }
        if (clock.now() >= trimAt) {
          trimAt = clock.now() + this.#trimEveryMs()
          await this.#trim(session)
        }
        await pace.next(signal)
      }
    } finally {
      if (this.#watching === session) {
        this.#watching = undefined
        this.#waking = undefined
      }
      await session.close()
    }
  }

  async head({ signal, clock }: SourceContext): Promise<Version> {
    const open = this.#watching
    if (open !== undefined) {
      try {
        return await headOf(open)
      } catch (error) {
        if (signal.aborted) throw error // Else only the watch has ended, whose connection this was.
      }
    }
    const session = await this.#connect(signal, clock)
    try {
      return await headOf(session)
    } finally {
      await session.close()
    }
  }

  hasReached(at: Version, mark: Version): boolean {
    return includesMark(at, mark)
  }

  async mark(tx: PgTransaction): Promise<Version> {
    assertTransaction(tx)
    const { rows } = await tx.query('SELECT listwatch.mark() AS mark').catch((error: unknown) => {
      throw postgresError(error)
    })
    return String((rows[0] as { readonly mark?: unknown } | undefined)?.mark)
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

  #connect(signal: AbortSignal, clock: Clock): Promise<Session> {
    return Session.open(this.#options.client, { signal, clock, timeoutMs: this.#timeoutMs })
  }

  async #findTable(session: Session): Promise<Table> {
    const { table, columns, where, rls } = this.#options
    const found = await findTable(session, { table, columns, where, rls })
    if (where !== undefined && !this.#isWhereChecked) {
      await checkWhere(session, found, where)
      this.#isWhereChecked = true
    }
    return found
  }

  #codec(session: Session, { columns }: Table): RowCodec<T> {
    const { maxObjectBytes = 16 * 1024 * 1024 } = this.#options
    return new RowCodec<T>(columns, (typeId) => session.parserOf(typeId), maxObjectBytes)
  }

  /** False where somebody changes the table just now. */
  async #lock(session: Session, { name }: Table): Promise<boolean> {
    try {
      await session.query(`LOCK TABLE ${name} IN ACCESS SHARE MODE`)
      return true
    } catch (error) {
      await session.query('ROLLBACK')
      if (isLockTimeout(error)) return false
      throw error
    }
  }

  /** Where a list is, in the snapshot of its transaction. */
  async #here(session: Session, { relid, name, log, generation }: Table, locked: Table): Promise<PostgresVersion> {
    const sql = `${HEAD_SQL.replace('SELECT ', 'SELECT listwatch.shape($1::text::oid) AS shape, to_regclass($2)::oid::text AS relid, to_regclass($3) IS NOT NULL AS has_log, ')}`
    const [row] = await session.query(sql, [relid, name, log])
    if (row?.['epoch'] == null || row['relid'] !== relid || name !== locked.name || row['has_log'] !== 't') {
      throw new SourceError(`${name} was changed while it was being looked up`, { code: 'UNAVAILABLE' })
    }
    return {
      system: String(row['system']),
      database: String(row['database']),
      epoch: String(row['epoch']),
      generation,
      shape: String(row['shape']),
      snapshot: String(row['snapshot']),
    }
  }

  /** A list that is silent may be looking through rows that are not wanted: whether the server is at it, another connection asks. */
  async #isCopying(copying: Session, signal: AbortSignal, clock: Clock): Promise<boolean> {
    const session = await this.#connect(signal, clock)
    try {
      const sql = `SELECT FROM pg_catalog.pg_stat_activity WHERE pid = $1 AND state = 'active' AND wait_event IS DISTINCT FROM 'ClientWrite'`
      return (await session.query(sql, [copying.processId])).length > 0
    } finally {
      await session.close()
    }
  }

  /** Transaction ids of one server say nothing about another, and cannot be told from its own by a delta. */
  async #assertSameDatabase(session: Session, version: PostgresVersion): Promise<void> {
    const [row] = await session.query(
      'SELECT listwatch.system_id() AS system, listwatch.database_id()::int8::text AS database',
    )
    const here = { system: String(row?.['system']), database: String(row?.['database']), epoch: version.epoch }
    const change = incarnationChange(here, version)
    if (change !== undefined) throw new SourceError(`this is ${change} than the version's`, { code: 'EPOCH_CHANGED' })
  }

  /** Undefined where the table is locked: the server is there, and nothing can be said. */
  async #look<V>(session: Session, read: () => Promise<V>): Promise<V | undefined> {
    try {
      if (!session.isPooled) return await read()
      await session.begin('ISOLATION LEVEL READ COMMITTED READ ONLY')
      const seen = await read()
      await session.query('COMMIT')
      return seen
    } catch (error) {
      if (session.isPooled) await session.query('ROLLBACK').catch(() => {}) // The first error says more.
      if (isLockTimeout(error)) return undefined
      throw error
    }
  }

  /** Listens, and makes sure that notifications arrive: a pooler says yes to LISTEN and delivers nothing. */
  async #listen(session: Session, pace: Pace, clock: Clock, signal: AbortSignal): Promise<void> {
    if (this.#options.wake === 'poll' || session.isPooled) return
    const test = `test:${session.processId}`
    let hasArrived = false
    session.onNotification((payload) => {
      if (payload === test) hasArrived = true
      if (!payload.startsWith('test:')) pace.wake()
      else if (hasArrived) this.#waking = 'notify'
    })
    await session.query(`LISTEN ${CHANNEL}`)
    await session.query('SELECT pg_notify($1, $2)', [CHANNEL, test])
    const judge = async (): Promise<void> => {
      await clock.sleep(SELF_TEST_MS, signal)
      if (!hasArrived) await session.query(`UNLISTEN ${CHANNEL}`)
    }
    judge().catch(() => {}) // The session ended first, and says so by itself.
  }

  #trimEveryMs(): number {
    const { trimEveryMs = 30_000 } = this.#options
    return trimEveryMs === false ? Infinity : trimEveryMs
  }

  /** Somebody has to; it need not be us. */
  async #trim(session: Session): Promise<void> {
    try {
      await session.query('SELECT listwatch.tend()')
    } catch (error) {
      if (!(error instanceof SourceError) || codeOf(error.cause) === undefined) throw error
    }
  }
}

const HEAD_SQL = `SELECT listwatch.system_id() AS system, listwatch.database_id()::int8::text AS database, s.epoch, pg_current_snapshot()::text AS snapshot
  FROM (SELECT) one LEFT JOIN listwatch.state s ON true`

async function headOf(session: Session): Promise<Version> {
  const [row] = await session.query(HEAD_SQL)
  return formatHead(
    { system: String(row?.['system']), database: String(row?.['database']), epoch: String(row?.['epoch']) },
    String(row?.['snapshot']),
  )
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === '55P03'
}
