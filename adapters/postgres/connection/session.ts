import type { Clock } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import { unlessAborted } from '../../../src/util/abort-listeners.js'
import { DeadlineScope, ReceivedBytes } from '../../common/deadline-scope.js'
import { hasMethods } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { MAX_INT4 } from '../schema/quoting.js'
import { assertTrusted, UNTRUSTED_SQL } from '../schema/trusted-owner.js'
import type { ClientFactory, NodePostgresClient, QueryConfig, TextRecord, TextRow } from './client-factory.js'
import type { CopyOut } from './copy-out-stream.js'
import { grantCommand, postgresError } from './postgres-errors.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A connection that receives nothing for this many milliseconds during a response counts as lost. */
  readonly timeoutMs: number
  readonly table?: string
}

/** How values become text. The same in every session, whatever the settings of the role or the database are. */
const FORMATS = [
  "datestyle = 'ISO, MDY'",
  "intervalstyle = 'postgres'",
  "bytea_output = 'hex'",
  'extra_float_digits = 1',
  "timezone = 'UTC'",
  "xmloption = 'content'",
  'standard_conforming_strings = on',
]

/** What other clients of a pooler may have set by SET ROLE and SET SESSION AUTHORIZATION. */
const OWN_ROLE = ['SESSION AUTHORIZATION DEFAULT', 'role = DEFAULT']

/**
 * A poll is planned once for all values of its parameters. Such a plan must not depend on estimates: Postgres assumes
 * that a poll reads a third of the log, so it would read the whole log, or compile the statement, at each poll.
 */
const POLL_PLANS = [
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashagg = off',
  'max_parallel_workers_per_gather = 0',
  'jit = off',
]

/** Names the connection in pg_stat_activity, unless the client has named it. */
const SET_NAME = `SELECT pg_catalog.set_config('application_name', 'listwatch', false) WHERE pg_catalog.current_setting('application_name') OPERATOR(pg_catalog.=) ''::pg_catalog.text`

/** After this silence a list checks the server: the core waits 30 s for a page or a call of `alive`. */
const MAX_SILENCE_MS = 10_000
const SILENT = Symbol('silent')

const TEXTS = { getTypeParser: () => (text: string) => text }

/** How long the server may take to answer the end of a session, in milliseconds. Then the socket is destroyed. */
const CLOSE_TIMEOUT_MS = 250

/** No driver notices a peer that disappeared. After an error of the connection the session cannot be used again. */
export class Session {
  readonly #client: NodePostgresClient
  readonly #options: SessionOptions
  /** Each transaction may use another process, with settings of other clients: no LISTEN, no named statements. */
  isPooled = false
  /** False if the session is one of a superuser, and the schema `listwatch` did not exist when it began. */
  hasSchema = true
  /** Whether the encoding of the database is SQL_ASCII: its texts may be of any encoding. */
  isAscii = false
  #canRestrict = false
  serverVersion = 0
  readonly #scope: DeadlineScope
  #isClosed = false
  #lastQuery: Promise<unknown> = Promise.resolve()
  #lastTransaction: Promise<unknown> = Promise.resolve()
  readonly #received: ReceivedBytes

  private constructor(client: NodePostgresClient, options: SessionOptions) {
    this.#client = client
    client.binary = false // COPY sends texts, and changes have to equal listed rows.
    this.#options = options
    this.#received = new ReceivedBytes(() => client.connection.stream.bytesRead, options.clock)
    this.#scope = new DeadlineScope(options)
    this.#scope.onEnd(() => {
      if (!this.#isClosed) client.connection.stream.destroy()
    })
    client.on('error', (error) => this.destroy(postgresError(error, client, options.table)))
    client.on('end', () => this.destroy(unavailable('the connection was closed')))
  }

  static async open(clients: ClientFactory, options: SessionOptions): Promise<Session> {
    const client = await unlessAborted(options.signal, () => clients.next())
    options.signal.throwIfAborted() // It may have aborted just now.
    const session = new Session(client, options)
    try {
      await session.#withDeadline(session.#client.connect())
      // TLS has its own stream, which exists now.
      guardParser(client.connection.stream, (error) => session.destroy(postgresError(error, client)))
      const [server] = await session.query(
        `SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.current_setting('server_version_num') AS version, pg_catalog.current_setting('server_encoding') AS encoding,
          pg_catalog.current_setting('restrict_nonsystem_relation_kind', true) IS NOT NULL AS can_restrict`,
      )
      session.isAscii = server?.['encoding'] === 'SQL_ASCII'
      session.#canRestrict = server?.['can_restrict'] === 't'
      session.isPooled = Number(server?.['pid']) !== session.#client.processID
      session.serverVersion = Number(server?.['version'])
      if (!session.isPooled)
        await session.query([...session.#settings().map((each) => `SET ${each}`), SET_NAME].join('; '))
      const [schema] = await session.isolated(() => session.query(`SELECT ${UNTRUSTED_SQL} AS untrusted`))
      session.hasSchema = schema?.['untrusted'] !== ''
      if (session.hasSchema) assertTrusted(schema?.['untrusted'])
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  #settings(): readonly string[] {
    // Shorter than the deadline of a query, so that a wait for a lock is not mistaken for silence.
    const lockTimeoutMs = Math.min(Math.max(1, Math.floor(this.#options.timeoutMs / 2)), MAX_INT4)
    const limits = [
      'statement_timeout = 0',
      'idle_in_transaction_session_timeout = 0',
      'idle_session_timeout = 0',
      ...(this.serverVersion >= 170_000 ? ['transaction_timeout = 0'] : []),
      'default_transaction_read_only = off',
      'row_security = on', // Otherwise the server refuses a log with a policy.
      "default_transaction_isolation = 'read committed'",
      `lock_timeout = ${lockTimeoutMs}`,
      // The owner of a table could replace it by a view, whose functions run as the reader.
      ...(this.#canRestrict ? ["restrict_nonsystem_relation_kind = 'view, foreign-table'"] : []),
    ]
    // The server checks that the texts it sends as UTF-8 are valid, and a COPY fails at the first other one.
    const encoding = this.isAscii ? 'SQL_ASCII' : 'UTF8'
    return [...FORMATS, `client_encoding = '${encoding}'`, ...limits]
  }

  get processId(): number | null {
    return this.#client.processID
  }

  /** When the connection last received bytes. A call notices only bytes that arrived since the call before it. */
  get receivedAt(): number {
    return this.#received.at
  }

  parserOf(typeId: number): (text: string) => unknown {
    return this.#client.getTypeParser(typeId, 'text')
  }

  /** Returns rows with the server's own texts, because the user's parsers may return anything. */
  query(text: string, values?: readonly unknown[]): Promise<TextRecord[]> {
    const config: QueryConfig = values === undefined ? { text, types: TEXTS } : { text, values, types: TEXTS }
    return this.#enqueue(() => this.#client.query(config))
  }

  /** Returns rows as arrays of the server's own texts. The server keeps the plan under `name`. */
  async texts(text: string, values: readonly unknown[], name: string): Promise<TextRow[]> {
    const config = { text, values, rowMode: 'array', types: TEXTS } as const
    return await this.#enqueue(() => this.#client.query(this.isPooled ? config : { ...config, name }))
  }

  /** Prepares the session for polls. Behind a pooler each statement is planned for its own values instead. */
  async preparePolls(): Promise<void> {
    if (!this.isPooled) await this.query(POLL_PLANS.map((each) => `SET ${each}`).join('; '))
  }

  /** Runs the statement `first`, too. Behind a pooler the session's settings and role apply only inside of it. */
  async begin(kind: string, first = ''): Promise<void> {
    const settings = this.isPooled ? [...OWN_ROLE, ...this.#settings()].map((each) => `SET LOCAL ${each}`) : []
    await this.query([`BEGIN ${kind}`, ...settings, first].filter(Boolean).join('; '))
  }

  /** Runs one statement in a transaction that may write, whatever the default of the role is. */
  async write(text: string): Promise<void> {
    await this.#transaction('READ COMMITTED READ WRITE', () => this.query(text))
  }

  /** Runs queries that only read. Behind a pooler they are in one transaction, because of its settings. */
  async isolated<R>(read: () => Promise<R>): Promise<R> {
    return await (this.isPooled ? this.#transaction('READ COMMITTED READ ONLY', read) : read())
  }

  /** Runs queries that read one snapshot, which is taken after the statement `lock`. */
  async inSnapshot<R>(read: () => Promise<R>, lock: string): Promise<R> {
    return await this.#transaction('REPEATABLE READ READ ONLY', read, lock)
  }

  /** Runs one transaction after the other: a watch and a request for the head may use one session. */
  #transaction<R>(
    kind: `READ COMMITTED READ ${'ONLY' | 'WRITE'}` | 'REPEATABLE READ READ ONLY',
    work: () => Promise<R>,
    lock = '',
  ): Promise<R> {
    const run = async (): Promise<R> => {
      try {
        await this.begin(`ISOLATION LEVEL ${kind}`, lock)
        const result = await work()
        await this.query('COMMIT')
        return result
      } catch (error) {
        await this.query('ROLLBACK').catch(() => {}) // The first error says more.
        throw error
      }
    }
    const result = this.#lastTransaction.then(run, run)
    this.#lastTransaction = result
    return result
  }

  reportActivity(report: () => void): () => void {
    return this.#received.reportActivity(Math.min(this.#options.timeoutMs, MAX_SILENCE_MS) / 2, report)
  }

  /** If the server is silent for long, the list continues only if `isAlive` returns true. */
  async *copy<R>(copy: CopyOut<R>, isAlive: () => Promise<boolean>): AsyncGenerator<readonly R[]> {
    this.#client.query(copy)
    let isOver = false
    for (let next = copy.next(); ; ) {
      const rows = await this.#untilSilent(next, isOver ? 1 : 4)
      if (rows === undefined) return
      if (rows !== SILENT) {
        isOver = false
        yield rows
        next = copy.next()
      } else if (isOver) {
        throw unavailable('COPY stalled: no rows arrive, and the server does not run it')
      } else isOver = !(await isAlive()) // COPY may have ended just now, with its last rows still on their way.
    }
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''))
  }

  /** Ends the session, and destroys the socket if the server does not answer in time. */
  async close(): Promise<void> {
    if (this.#scope.ending !== undefined) return
    this.#isClosed = true
    this.#scope.end(new SourceError('the session was closed', { code: 'STOPPED' }))
    const { clock } = this.#options
    const timer = new AbortController()
    const late = clock.sleep(CLOSE_TIMEOUT_MS, timer.signal).catch(() => {})
    await Promise.race([this.#client.end().catch(() => {}), late])
    timer.abort()
    this.#client.connection.stream.destroy()
  }

  destroy(error: SourceError): void {
    this.#scope.end(error)
  }

  #enqueue<R>(query: () => Promise<{ readonly rows: R[] }>): Promise<R[]> {
    const run = async (): Promise<R[]> => {
      if (this.#scope.ending !== undefined) throw this.#scope.ending
      const { rows } = await this.#withDeadline(query())
      return rows
    }
    const result = this.#lastQuery.then(run, run)
    this.#lastQuery = result
    return result
  }

  /** Rejects if the connection fails or receives nothing for too long; a response may take longer. */
  #withDeadline<V>(work: Promise<V>): Promise<V> {
    const { timeoutMs } = this.#options
    return this.#race(work, timeoutMs / 4, 4, () => {
      const error = unavailable(`no answer for ${Math.round(timeoutMs)} ms`)
      this.destroy(error)
      throw error
    })
  }

  get grantCommand(): string {
    return grantCommand(this.#client, this.#options.table)
  }

  /** SILENT if the connection received nothing for this many quarters of the time-out. */
  #untilSilent<V>(work: Promise<V>, quarters: number): Promise<V | typeof SILENT> {
    return this.#race(work, Math.min(this.#options.timeoutMs, MAX_SILENCE_MS) / 4, quarters, () => SILENT)
  }

  /** Of `late` if the connection received nothing for this many periods in succession. */
  #race<V, L = never>(work: Promise<V>, periodMs: number, most: number, late: () => L): Promise<V | L> {
    const result = work.catch((error: unknown) => {
      throw this.#scope.ending ?? postgresError(error, this.#client, this.#options.table)
    })
    return this.#scope.race(result, { ms: periodMs, extendMs: this.#received.extension(periodMs, most), late })
  }
}

interface DataStream {
  listeners(event: 'data'): readonly unknown[]
  on(event: 'data', listener: (chunk: unknown) => void): unknown
  off(event: 'data', listener: unknown): unknown
}

/** Calls `onError` with what pg's parser throws in a listener of the stream: it would end the process. */
function guardParser(stream: unknown, onError: (error: unknown) => void): void {
  if (!isDataStream(stream)) return
  for (const listener of stream.listeners('data')) {
    if (typeof listener !== 'function') continue
    stream.on('data', (chunk) => {
      try {
        Reflect.apply(listener, stream, [chunk])
      } catch (error) {
        onError(error)
      }
    })
    stream.off('data', listener)
  }
}

function isDataStream(stream: unknown): stream is DataStream {
  return hasMethods(stream, 'listeners', 'on', 'off')
}
