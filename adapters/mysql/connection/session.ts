import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED, OptionError, SourceError } from '../../../src/contract/errors.js'
import { DeadlineScope, ReceivedBytes } from '../../common/deadline-scope.js'
import { elementsOf, hasMethods, type Properties, propertiesOf } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { allowSeveralStatements, closeCore, coreOf, type MysqlCore, type MysqlQuery } from './mysql-client.js'
import { mysqlError } from './mysql-errors.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A connection that receives nothing for this long while a response is pending counts as lost, in milliseconds. */
  readonly timeoutMs: number
}

export type Row = readonly unknown[]

/** How the driver converts rows, whatever the options of the connection are. */
const EXACT = {
  supportBigNumbers: true,
  bigNumberStrings: false,
  nestTables: false,
  namedPlaceholders: false,
  rowsAsArray: true,
} as const
const OWN = { ...EXACT, typeCast: (_: unknown, next: () => unknown) => next() } as const

const MAX_PAGES = 2

/** Every query has a deadline. After an error of the connection the session cannot be used again. */
export class Session {
  readonly #core: MysqlCore
  readonly #options: SessionOptions
  readonly #scope: DeadlineScope
  readonly #received: ReceivedBytes

  private constructor(core: MysqlCore, options: SessionOptions) {
    this.#core = core
    this.#options = options
    this.#received = new ReceivedBytes(() => core.stream.bytesRead, options.clock)
    this.#scope = new DeadlineScope(options)
    this.#scope.onEnd(() => closeCore(core))
    if (options.signal.aborted) this.#scope.end(ABORTED)
    core.on('error', (error) => this.#scope.end(mysqlError(error)))
    core.on('end', () => this.#scope.end(unavailable('the connection was closed')))
  }

  static async open(connect: () => unknown, options: SessionOptions): Promise<Session> {
    const core = await connectCore(connect, options)
    const session = new Session(core, options)
    try {
      core.addCommand(allowSeveralStatements)
      // Hexadecimal literals need no escaping. Only results depend on a character set.
      const seconds = Math.max(1, Math.floor(options.timeoutMs / 2_000))
      await session.queries([
        `SET SESSION sql_mode = '', character_set_results = 'utf8mb4', lock_wait_timeout = ${seconds},
        sql_select_limit = 18446744073709551615, net_write_timeout = 600, wait_timeout = 28800,
        sql_quote_show_create = 1, sql_big_selects = 1 /*M!, max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */`,
        'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
      ])
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  /** When the connection last received bytes. A call notices only that bytes arrived since the call before it. */
  get receivedAt(): number {
    return this.#received.at
  }

  /** Whether a function of the user converts values, also those of the server. */
  get hasTypeCast(): boolean {
    return typeof propertiesOf(propertiesOf(this.#core)['config'])['typeCast'] === 'function'
  }

  async query(sql: string): Promise<readonly Properties[]> {
    return elementsOf(await this.#run({ sql, ...OWN, rowsAsArray: false })).map(propertiesOf)
  }

  /** Sends one packet. The rest is not run after an error. `reads`: those that read tables of the user. */
  async queries(own: readonly string[], reads: readonly string[] = []): Promise<readonly (readonly Row[])[]> {
    const sql = [...own, ...reads].join(';')
    return elementsOf(await this.#run({ sql, ...(reads.length === 0 ? OWN : EXACT) })).map(rowsOf)
  }

  async rows(sql: string): Promise<readonly Row[]> {
    return rowsOf(await this.#run({ sql, ...EXACT }))
  }

  /** Yields the rows of a query in pages. The server is not read while the reader is slow. */
  async *pages(sql: string, size: number): AsyncGenerator<readonly Row[]> {
    const full: Row[][] = []
    let page: Row[] = []
    let isOver = false
    let wake = (): void => {}
    let failure: unknown
    const command = this.#core.query({ sql, ...EXACT })
    command.on('result', (row) => {
      if (!Array.isArray(row)) return
      page.push(row)
      if (page.length < size) return
      full.push(page)
      page = []
      if (full.length >= MAX_PAGES) this.#core.pause()
      wake()
    })
    command.on('error', (error) => {
      failure = error
      wake()
    })
    command.on('end', () => {
      isOver = true
      wake()
    })
    for (;;) {
      const next = full.shift()
      if (next !== undefined) {
        if (full.length < MAX_PAGES) this.#core.resume()
        yield next
      } else if (failure !== undefined) throw mysqlError(failure)
      else if (isOver) break
      else {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await this.#withDeadline(promise)
      }
    }
    yield page
  }

  async endSnapshot(): Promise<void> {
    if (this.#scope.ending === undefined) await this.query('ROLLBACK')
  }

  reportActivity(report: () => void): () => void {
    return this.#received.reportActivity(this.#options.timeoutMs / 2, report)
  }

  close(): void {
    this.#scope.end(new SourceError('the session was closed', { code: 'STOPPED' }))
  }

  #run(options: MysqlQuery): Promise<unknown> {
    const result = new Promise((resolve, reject) => {
      this.#core.query(options, (error, found) => {
        if (error === null) resolve(found)
        else reject(mysqlError(error))
      })
    })
    return this.#withDeadline(result)
  }

  #withDeadline<V>(work: Promise<V>): Promise<V> {
    const { timeoutMs } = this.#options
    const result = work.catch((error: unknown) => {
      throw this.#scope.ending ?? error
    })
    const late = (): never => {
      const error = unavailable(`no answer for ${Math.round(timeoutMs)} ms`)
      this.#scope.end(error)
      throw error
    }
    const periodMs = timeoutMs / 4
    return this.#scope.race(result, { ms: periodMs, extendMs: this.#received.extension(periodMs, 4), late })
  }
}

function rowsOf(result: unknown): readonly Row[] {
  return elementsOf(result).filter(Array.isArray)
}

/** Returns a new connection. It is destroyed if it comes too late. */
export async function connectCore(
  connect: () => unknown,
  { signal, clock, timeoutMs }: SessionOptions,
): Promise<MysqlCore> {
  if (signal.aborted) throw ABORTED
  const scope = new DeadlineScope({ signal, clock })
  const made = Promise.resolve().then(connect)
  try {
    const late = (): never => {
      throw unavailable(`no connection for ${Math.round(timeoutMs)} ms`)
    }
    const core = checked(await scope.race(made, { ms: timeoutMs, late }))
    core.on('error', () => {}) // Without a listener it would end the process.
    return core
  } catch (error) {
    made
      .then((connection) => {
        const core = coreOf(connection)
        if (core !== undefined && !used.has(core)) closeCore(core)
      })
      .catch(() => {})
    throw error instanceof OptionError ? error : mysqlError(error)
  } finally {
    scope.end(ABORTED)
  }
}

const ALLOWED =
  'a function that returns a new connection of mysql2/promise at each call, such as () => mysql.createConnection(url)'

const USED = 'the connection was returned before'
/** The connections that a factory has returned. The stream of the binlog, and each session, need one of their own. */
const used = new WeakSet<MysqlCore>()

function checked(connection: unknown): MysqlCore {
  const core = coreOf(connection)
  if (core !== undefined && !used.has(core)) {
    used.add(core)
    if (propertiesOf(core)['_closing'] !== true) return core
    closeCore(core)
    // The server has ended it after the login.
    throw new SourceError('the new connection is closed', { code: 'UNAVAILABLE' })
  }
  const pool = hasMethods(connection, 'getConnection') ? '; a pool cannot be used' : ''
  const flaw = core !== undefined ? USED : `the result is not a connection of mysql2${pool}`
  throw new OptionError(`option "connect" must be ${ALLOWED}: ${flaw}`, { option: 'connect' })
}
