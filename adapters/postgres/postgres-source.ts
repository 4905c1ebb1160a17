import type { Clock } from '../../src/contract/clock.js'
import { OptionError, SourceError } from '../../src/contract/errors.js'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { withSignsOfLife } from '../../src/util/keep-alive.js'
import {
  checkOptions,
  isCount,
  isName,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { joinKey } from '../shared/join-key.js'
import { deltaSql, probeSql, readDelta, readProbe } from './delta-query.js'
import { ClientFactory, clientFlaw, type PgClient, type PgTransaction } from './pg-client.js'
import { PollTimer } from './poll-timer.js'
import { codeOf, postgresError } from './postgres-errors.js'
import {
  assertNotBehind,
  formatHead,
  formatVersion,
  incarnationChange,
  includesMark,
  isLaterEpoch,
  type PostgresVersion,
  parseVersion,
} from './postgres-version.js'
import { RowCodec } from './row-codec.js'
import { MAX_SILENCE_MS, Session } from './session.js'
import { accessSql, checkWhere, findTable, type Table } from './table-catalog.js'

/** The channel on which writers wake readers. Its payload says nothing, and could not be trusted. */
const CHANNEL = 'listwatch'
/** How long our own notification may take before listening counts as broken, in milliseconds. */
const SELF_TEST_MS = 2_000

export interface PostgresSourceOptions {
  /**
   * Returns a new, unconnected client of pg 8 at each call: `() => new pg.Client(url)`. Called for each connection. A Pool, a
   * connected client or the same client again is an OptionError, with which `synced()` rejects.
   */
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
   * process. `await informer.waitFor(mark)` then shows what it wrote. A TypeError for a pool, and outside a transaction.
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
  client: clientFlaw,
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
  for (const [option, example] of [
    ['client', '() => new pg.Client(…)'],
    ['table', "'orders'"],
  ] as const) {
    if (options?.[option] === undefined) {
      throw new OptionError(`postgresSource: option "${option}" is missing; for example ${example}`, { option })
    }
  }
  return new ChangelogSource<T>(options)
}

const NO_TRANSACTION = 'mark: the argument must be the client on which the transaction is open'

/** Refuses a pool, each query of which may use another connection, and so another transaction. */
function assertTransaction(tx: unknown): void {
  const { query, totalCount } = Object(tx) as { readonly query?: unknown; readonly totalCount?: unknown }
  if (typeof query === 'function' && totalCount === undefined) return
  throw new TypeError(`${NO_TRANSACTION}, not a pool`)
}

/**
 * NULL if the statement is a transaction by itself: that began when the statement did, and has written nothing. Its mark would
 * say nothing about what other statements wrote.
 */
const MARK_SQL = `SELECT CASE WHEN pg_current_xact_id_if_assigned() IS NOT NULL OR transaction_timestamp() <> statement_timestamp()
  THEN listwatch.mark() END AS mark`

class ChangelogSource<T> implements PostgresSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #options: PostgresSourceOptions
  readonly #clients: ClientFactory
  readonly #pollIntervalMs: number
  readonly #timeoutMs: number
  readonly #maxDeltaRows: number
  /** The session of the watch that is open. */
  #watching: Session | undefined
  #waking: 'notify' | 'poll' | undefined
  #isWhereChecked = false

  constructor(options: PostgresSourceOptions) {
    this.#options = { ...options }
    this.#clients = new ClientFactory(options.client)
    this.#pollIntervalMs = options.pollIntervalMs ?? 1_000
    this.#timeoutMs = options.heartbeatTimeoutMs ?? 5_000
    this.#maxDeltaRows = options.maxDeltaRows ?? 250_000
    this.name = `postgres:${options.table}`
    this.heartbeatMs = this.#pollIntervalMs + this.#timeoutMs
  }

  get waking(): 'notify' | 'poll' | undefined {
    return this.#waking
  }

  async *list(context: ListContext): AsyncIterable<ListPage<T>> {
    const { signal, clock } = context
    const session = await this.#connect(signal, clock)
    const everyMs = Math.min(this.#timeoutMs, MAX_SILENCE_MS) / 2
    yield* withSignsOfLife(this.#list(session, context), { session, clock, everyMs, sign: () => ({ events: [] }) })
  }

  async *#list(session: Session, { signal, clock, pageSize, floor: shown }: ListContext): AsyncGenerator<ListPage<T>> {
    const unlocked = await this.#findTable(session)
    await session.write('SELECT listwatch.epoch()')
    for (let isLocked = false; !isLocked; ) {
      isLocked = await this.#begin(session, unlocked, signal, clock)
      if (!isLocked) yield { events: [] } // The table is being changed; the server is there, and we wait.
    }
    // Looked up again: a column that came before the lock is in the version's shape, and must be in its rows.
    const table = await this.#findTable(session)
    const codec = this.#codec(session, table)
    const version = await this.#here(session, table, unlocked)
    if (shown !== undefined) {
      const before = parseVersion(shown)
      if (incarnationChange(version, before) === undefined) assertNotBehind(version.snapshot, before)
    }
    const condition = this.#options.where === undefined ? '' : ` WHERE (${this.#options.where}\n)`
    const copy = `COPY (SELECT ${table.columnList} FROM ${table.name} t${condition}) TO STDOUT`
    const pages = session.copy(copy, pageSize, () => this.#isCopying(session, signal, clock))
    for await (const lines of pages) {
      const events: ListEvent<T>[] = lines.map((line) => codec.fromCopyLine(line))
      yield { events }
    }
    await session.query('COMMIT')
    await this.#clients.prove()
    yield { events: [], version: formatVersion(version) }
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    const { after, signal, clock } = context
    const version = parseVersion(after)
    const session = await this.#connect(signal, clock)
    yield* withSignsOfLife(this.#watch(session, version, context), {
      session,
      clock,
      everyMs: this.#timeoutMs / 2,
      sign: (last) => ({ events: [], version: last?.version ?? after }),
    })
  }

  async *#watch(
    session: Session,
    from: PostgresVersion,
    { signal, clock, onProgressRequest }: WatchContext,
  ): AsyncGenerator<WatchBatch<T>> {
    let version = from
    try {
      const table = await this.#findTable(session)
      const codec = this.#codec(session, table)
      const sql = deltaSql(table, this.#options.where, this.#maxDeltaRows)
      const probe = probeSql(table)
      let fingerprint: string | undefined
      let isWoken = false
      await this.#assertSameDatabase(session, version)
      const pace = new PollTimer(clock, this.#pollIntervalMs)
      onProgressRequest(() => pace.wake())
      this.#watching = session
      this.#waking = 'poll'
      await this.#listen(session, pace, clock, signal)
      let trimAt = clock.now() + this.#trimEveryMs()
      for (;;) {
        const delta = await this.#look(session, async () => {
          const known = isWoken ? undefined : fingerprint
          const same = known === undefined ? undefined : await readProbe(session, probe, version, known)
          if (same !== undefined && known !== undefined) return { events: [], version: same, fingerprint: known }
          return await readDelta(session, table, sql, codec, version, fingerprint)
        })
        if (delta === undefined) yield { events: [], version: formatVersion(version) }
        else {
          if (delta.events.length > 0) pace.changed()
          ;({ version, fingerprint } = delta)
          yield { events: delta.events, version: formatVersion(version) }
        }
        if (clock.now() >= trimAt) {
          trimAt = clock.now() + this.#trimEveryMs()
          await this.#trim(session)
        }
        isWoken = await pace.next(signal)
      }
    } finally {
      if (this.#watching === session) {
        this.#watching = undefined
        this.#waking = undefined
      }
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

  isLaterEpoch(at: Version, mark: Version): boolean {
    return isLaterEpoch(at, mark)
  }

  async mark(tx: PgTransaction): Promise<Version> {
    assertTransaction(tx)
    const { rows } = await tx.query(MARK_SQL).catch((error: unknown) => {
      throw postgresError(error)
    })
    const { mark } = Object(rows[0]) as { readonly mark?: unknown }
    if (typeof mark !== 'string')
      throw new TypeError(`${NO_TRANSACTION}, and no transaction is open: call it after BEGIN`)
    return mark
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
    return Session.open(this.#clients, { signal, clock, timeoutMs: this.#timeoutMs })
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

  /** Begins the transaction of a list. False if another session holds a lock on the table. */
  async #begin(session: Session, table: Table, signal: AbortSignal, clock: Clock): Promise<boolean> {
    try {
      // The lock comes before the snapshot: a snapshot that is older than a rewrite finds the table empty.
      await session.begin(LIST_TRANSACTION)
      await session.query(`LOCK TABLE ${table.name} IN ACCESS SHARE MODE`)
      return true
    } catch (error) {
      await session.query('ROLLBACK')
      if (isLockTimeout(error)) return false
      if (!isDenied(error)) throw error
      return await this.#beginGuarded(session, table, signal, clock)
    }
  }

  /**
   * The same for a role that may read columns only, which LOCK refuses. A query takes the lock after its snapshot, so
   * another session keeps the table as it is until ours has both.
   */
  async #beginGuarded(session: Session, table: Table, signal: AbortSignal, clock: Clock): Promise<boolean> {
    const touch = `SELECT ${table.keyColumns[0]} FROM ${table.name} LIMIT 0`
    const guard = await this.#connect(signal, clock)
    try {
      await guard.begin('ISOLATION LEVEL READ COMMITTED READ ONLY')
      await guard.query(touch)
      await session.begin(LIST_TRANSACTION)
      await session.query(touch)
      return true
    } catch (error) {
      await session.query('ROLLBACK')
      if (isLockTimeout(error)) return false
      throw error
    } finally {
      await guard.close()
    }
  }

  /** Where a list is, in the snapshot of its transaction. */
  async #here(
    session: Session,
    { relid, name, log, generation, isSecured }: Table,
    locked: Table,
  ): Promise<PostgresVersion> {
    const facts = `listwatch.shape(${relid}::oid) AS shape, ${accessSql(relid)} AS access, to_regclass($1)::oid::text AS relid, to_regclass($2) IS NOT NULL AS has_log`
    const [row] = await session.query(HEAD_SQL.replace('SELECT ', `SELECT ${facts}, `), [name, log])
    const isSame = row?.['relid'] === relid && name === locked.name && (row['access'] !== '') === isSecured
    if (row?.['epoch'] == null || row['has_log'] !== 't' || !isSame) {
      throw new SourceError(`${name} was changed while it was being looked up`, { code: 'UNAVAILABLE' })
    }
    return {
      system: String(row['system']),
      database: String(row['database']),
      epoch: String(row['epoch']),
      generation,
      shape: String(row['shape']),
      access: String(row['access']),
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
  async #listen(session: Session, pace: PollTimer, clock: Clock, signal: AbortSignal): Promise<void> {
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
      await session.write('SELECT listwatch.tend()')
    } catch (error) {
      if (!(error instanceof SourceError) || codeOf(error.cause) === undefined) throw error
    }
  }
}

const LIST_TRANSACTION = 'ISOLATION LEVEL REPEATABLE READ READ ONLY'

const HEAD_SQL = `SELECT listwatch.system_id() AS system, listwatch.database_id()::int8::text AS database, listwatch.seeded() AS epoch, pg_current_snapshot()::text AS snapshot`

async function headOf(session: Session): Promise<Version> {
  const [row] = await session.query(HEAD_SQL)
  return formatHead(
    { system: String(row?.['system']), database: String(row?.['database']), epoch: row?.['epoch'] ?? undefined },
    String(row?.['snapshot']),
  )
}

function isDenied(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === '42501'
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof SourceError && codeOf(error.cause) === '55P03'
}
