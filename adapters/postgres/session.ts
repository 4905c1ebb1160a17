import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import { CopyOut } from './copy-out-stream.js'
import type { ClientFactory, NodePostgresClient, QueryConfig } from './pg-client.js'
import { postgresError } from './postgres-errors.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A connection that receives nothing for this many milliseconds while a response is pending counts as lost, and is closed. */
  readonly timeoutMs: number
}

/** How values become text, whatever the role or the database is set to: the same in every session. */
const FORMATS = [
  "datestyle = 'ISO, MDY'",
  "intervalstyle = 'postgres'",
  "bytea_output = 'hex'",
  'extra_float_digits = 1',
  "timezone = 'UTC'",
  "xmloption = 'content'",
]

/** Names the connection in pg_stat_activity, unless the client has named it. */
const SET_NAME = `SELECT set_config('application_name', 'listwatch', false) WHERE current_setting('application_name') = ''`

/** A list may receive nothing for this many milliseconds before the server is asked: a reflector waits 30 s for a page. */
export const MAX_SILENCE_MS = 10_000
const SILENT = Symbol('silent')

const TEXTS = { getTypeParser: () => (text: string) => text }

/** How long a closing connection may take, in milliseconds. */
const CLOSE_TIMEOUT_MS = 250

/**
 * One connection, made from the user's factory, with a deadline on everything: no driver notices a peer that is gone
 * without a word. After an error it is of no use any more.
 */
export class Session {
  readonly #client: NodePostgresClient
  readonly #options: SessionOptions
  /** Behind a pooler each transaction may meet another server process: no settings, no LISTEN, no names of statements. */
  isPooled = false
  #serverVersion = 0
  #ending: SourceError | undefined
  #fail: ((error: SourceError) => void) | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #bytesRead: number | undefined
  #receivedAt: number
  readonly #abort = (): void => this.destroy(new SourceError('no longer wanted', { code: 'STOPPED' }))

  private constructor(client: NodePostgresClient, options: SessionOptions) {
    this.#client = client
    this.#options = options
    this.#receivedAt = options.clock.now()
    client.on('error', (error) => this.destroy(postgresError(error)))
    client.on('end', () => this.destroy(new SourceError('the connection was closed', { code: 'UNAVAILABLE' })))
  }

  static async open(clients: ClientFactory, options: SessionOptions): Promise<Session> {
    options.signal.throwIfAborted()
    const client = await clients.next()
    options.signal.throwIfAborted() // Whoever was asked for it may have taken long.
    const session = new Session(client, options)
    options.signal.addEventListener('abort', session.#abort, { once: true })
    try {
      await session.#timed(session.#client.connect())
      const [row] = await session.query(
        `SELECT pg_backend_pid() AS pid, current_setting('server_version_num') AS version`,
      )
      session.isPooled = Number(row?.['pid']) !== session.#client.processID
      session.#serverVersion = Number(row?.['version'])
      if (!session.isPooled)
        await session.query([...session.#settings().map((each) => `SET ${each}`), SET_NAME].join('; '))
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  #settings(): readonly string[] {
    // A lock is waited for less long than an answer, so that waiting is not taken for silence.
    const lockTimeoutMs = Math.max(1, Math.floor(this.#options.timeoutMs / 2))
    const limits = [
      'statement_timeout = 0',
      'idle_in_transaction_session_timeout = 0',
      'idle_session_timeout = 0',
      ...(this.#serverVersion >= 170_000 ? ['transaction_timeout = 0'] : []),
      'default_transaction_read_only = off',
      "default_transaction_isolation = 'read committed'",
      `lock_timeout = ${lockTimeoutMs}`,
    ]
    return [...FORMATS, ...limits]
  }

  /** The number that pg_stat_activity has of us. */
  get processId(): number | null {
    return this.#client.processID
  }

  /** When the connection last received bytes, as far as calls of this have noticed. */
  get receivedAt(): number {
    const { bytesRead } = this.#client.connection.stream
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead
      this.#receivedAt = this.#options.clock.now()
    }
    return this.#receivedAt
  }

  parserOf(typeId: number): (text: string) => unknown {
    return this.#client.getTypeParser(typeId, 'text')
  }

  /**
   * Rows as objects of the server's own texts, one query after the other: the parsers are the user's, and may make
   * anything of them. Rejects with a SourceError.
   */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, string | null>[]> {
    const config: QueryConfig = values === undefined ? { text, types: TEXTS } : { text, values, types: TEXTS }
    return this.#inTurn(config) as Promise<Record<string, string | null>[]>
  }

  /** Rows as arrays of the server's own texts. With a name the server keeps the plan. */
  async texts(text: string, values: readonly unknown[], name: string): Promise<(string | null)[][]> {
    const config: QueryConfig = { text, values, rowMode: 'array', types: TEXTS }
    return (await this.#inTurn(this.isPooled ? config : { ...config, name })) as (string | null)[][]
  }

  /** Begins a transaction of this kind: behind a pooler the only way to have settings of one's own. */
  async begin(kind: string): Promise<void> {
    const settings = this.isPooled ? this.#settings().map((each) => `SET LOCAL ${each}`) : []
    await this.query([`BEGIN ${kind}`, ...settings].join('; '))
  }

  /** Runs one statement in a transaction that may write, whatever is the default of the role. */
  async write(text: string): Promise<void> {
    await this.begin('ISOLATION LEVEL READ COMMITTED READ WRITE')
    try {
      await this.query(text)
      await this.query('COMMIT')
    } catch (error) {
      await this.query('ROLLBACK').catch(() => {}) // The first error says more.
      throw error
    }
  }

  /**
   * Rows as lines. Where the server is silent for long, `isAlive` is asked; a page without lines then says that it is
   * still at it.
   */
  async *copy(text: string, pageSize: number, isAlive: () => Promise<boolean>): AsyncGenerator<readonly string[]> {
    const copy = new CopyOut(text, pageSize)
    this.#client.query(copy)
    let isOver = false
    for (let next = copy.next(); ; ) {
      const lines = await this.#untilSilent(next, isOver ? 1 : 4)
      if (lines === undefined) return
      if (lines !== SILENT) {
        isOver = false
        yield lines
        next = copy.next()
      } else if (isOver) {
        throw new SourceError('no more rows come, and the server is not at it', { code: 'UNAVAILABLE' })
      } else if (await isAlive()) yield []
      else isOver = true // It may have ended just now, with its last rows still on their way.
    }
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''))
  }

  /** Says good-bye, and waits a moment for the answer; who gives none is cut off. */
  async close(): Promise<void> {
    const { signal, clock } = this.#options
    signal.removeEventListener('abort', this.#abort)
    if (this.#ending !== undefined) return
    this.#ending = new SourceError('the session was closed', { code: 'STOPPED' })
    const timer = new AbortController()
    const late = clock.sleep(CLOSE_TIMEOUT_MS, timer.signal).catch(() => {})
    await Promise.race([this.#client.end().catch(() => {}), late])
    timer.abort()
    this.#client.connection.stream.destroy()
  }

  /** Ends whatever is under way with `error`. */
  destroy(error: SourceError): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    if (this.#ending === undefined) {
      this.#ending = error
      this.#client.connection.stream.destroy()
    }
    this.#fail?.(this.#ending)
  }

  #inTurn(config: QueryConfig): Promise<unknown[]> {
    const run = async (): Promise<unknown[]> => {
      if (this.#ending !== undefined) throw this.#ending
      const { rows } = await this.#timed(this.#client.query(config))
      return rows
    }
    const turn = this.#turn.then(run, run)
    this.#turn = turn
    return turn
  }

  /** `work`, or the failure of the connection, or that it received nothing for too long. A large response may take long. */
  #timed<V>(work: Promise<V>): Promise<V> {
    const { timeoutMs } = this.#options
    return this.#raced(work, async (timer) => {
      await this.#silence(timeoutMs / 4, 4, timer)
      throw new SourceError(`no answer for ${timeoutMs} ms`, { code: 'UNAVAILABLE' })
    })
  }

  /** `work`, or that the connection received nothing for this many quarters of the time-out. */
  #untilSilent<V>(work: Promise<V>, quarters: number): Promise<V | typeof SILENT> {
    const quarterMs = Math.min(this.#options.timeoutMs, MAX_SILENCE_MS) / 4
    return this.#raced<V | typeof SILENT>(work, async (timer) => {
      await this.#silence(quarterMs, quarters, timer)
      return SILENT
    })
  }

  /** Resolves when the connection has received nothing for this many periods in succession. */
  async #silence(periodMs: number, most: number, timer: AbortSignal): Promise<void> {
    let { receivedAt } = this
    for (let periods = 0; periods < most; ) {
      await this.#options.clock.sleep(periodMs, timer)
      periods = this.receivedAt === receivedAt ? periods + 1 : 0
      receivedAt = this.receivedAt
    }
  }

  /** What comes first. A failure of `late` ends the session. */
  #raced<V>(work: Promise<V>, late: (timer: AbortSignal) => Promise<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      const timer = new AbortController()
      const done = (): void => {
        this.#fail = undefined
        timer.abort()
      }
      this.#fail = (error) => {
        done()
        reject(error)
      }
      work.then(
        (value) => {
          if (timer.signal.aborted) return
          done()
          resolve(value)
        },
        (error: unknown) => {
          if (timer.signal.aborted) return
          done()
          reject(this.#ending ?? postgresError(error))
        },
      )
      if (this.#ending !== undefined) this.#fail(this.#ending)
      late(timer.signal).then(
        (value) => {
          if (timer.signal.aborted) return
          done()
          resolve(value)
        },
        (error: unknown) => {
          if (!timer.signal.aborted) this.destroy(postgresError(error))
        },
      )
    })
  }
}
