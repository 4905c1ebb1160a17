import { OptionError } from '../../../src/contract/errors.js'
import { hasMethods, propertiesOf } from '../../common/properties.js'
import type { PgClient } from './pg-client.js'

/** A query that handles the server's messages itself, by pg's own protocol. */
export interface Submittable {
  submit(connection: PgConnection): void
}

export interface PgConnection {
  query(text: string): void
  readonly stream: {
    destroy(error?: Error): unknown
    pause(): unknown
    resume(): unknown
    /** The number of received bytes. Sockets have it; other streams may not. */
    readonly bytesRead?: number
  }
}

/** A query whose values are the server's own texts. */
export interface QueryConfig {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
  readonly types: { getTypeParser(): (text: string) => string }
}

export type TextRecord = Record<string, string | null>
export type TextRow = (string | null)[]

export interface NodePostgresClient {
  connect(): Promise<unknown>
  query(config: QueryConfig & { readonly rowMode: 'array' }): Promise<{ rows: TextRow[] }>
  query(config: QueryConfig): Promise<{ rows: TextRecord[] }>
  query(submittable: Submittable): Submittable
  end(): Promise<void>
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string }) => void,
  ): unknown
  getTypeParser(typeId: number, format: 'text'): (text: string) => unknown
  readonly connection: PgConnection
  readonly processID: number | null
  binary?: boolean
}

const ALLOWED =
  'a function that returns a new, unconnected Client of pg 8 at each call, such as () => new pg.Client(url)'

/** Returns the flaw of a value of the option `connect`, or undefined if it has none. Does not call the value. */
export function clientFlaw(client: unknown): string | undefined {
  // A class cannot be called without new.
  if (typeof client === 'function' && !/^class\b/.test(Function.prototype.toString.call(client))) return undefined
  return `must be ${ALLOWED}${poolHint(client)}`
}

/** Throws an OptionError if the option `connect` returns anything but a new client. */
export class ClientFactory {
  readonly #make: () => PgClient | Promise<PgClient>
  readonly #call: string
  readonly #known = new WeakSet<object>()
  #isChecked = false
  /** A client that the option has returned and no connection uses yet. */
  #spare: NodePostgresClient | undefined

  constructor(make: () => PgClient | Promise<PgClient>, call = 'postgresSource') {
    this.#make = make
    this.#call = call
  }

  async next(): Promise<NodePostgresClient> {
    const spare = this.#spare
    this.#spare = undefined
    return spare ?? (await this.#new())
  }

  /**
   * Throws if the option returns the same client twice: otherwise a list would succeed and the watch after it could not
   * begin. The check happens once, and creates the client of the next connection.
   */
  async assertNewClients(): Promise<void> {
    if (this.#isChecked) return
    try {
      this.#spare = await this.#new()
      this.#isChecked = true
    } catch (error) {
      if (error instanceof OptionError) throw error // The next connection reports another error, if it lasts.
    }
  }

  async #new(): Promise<NodePostgresClient> {
    const client: unknown = await this.#make()
    if (!isNodePostgres(client)) throw this.#wrong(flawOfResult(client))
    if (this.#known.has(client)) throw this.#wrong('it returned the same client again')
    this.#known.add(client)
    if (client.processID != null) throw this.#wrong('it returned a client that was connected already')
    return client
  }

  #wrong(flaw: string): OptionError {
    return new OptionError(`${this.#call}: option "connect" must be ${ALLOWED}: ${flaw}`, { option: 'connect' })
  }
}

function flawOfResult(client: unknown): string {
  return client == null ? `it returned ${String(client)}` : `it did not return a Client of pg 8${poolHint(client)}`
}

function isNodePostgres(client: unknown): client is NodePostgresClient {
  const { stream } = propertiesOf(propertiesOf(client)['connection'])
  return hasMethods(client, 'connect', 'query', 'end', 'on', 'getTypeParser') && hasMethods(stream, 'destroy')
}

function poolHint(value: unknown): string {
  return isPool(value) ? '; a Pool cannot be used' : ''
}

/**
 * Throws a TypeError for a value that is not a connected client: pg keeps the queries of a client without a connection
 * in its queue, and they never end. `isMigration`: a pool is refused too.
 */
export function assertConnected(call: string, client: unknown, isMigration = false): void {
  const flaw = flawOf(client, isMigration)
  if (flaw !== undefined) throw new TypeError(`${call}: the first argument must be a connected client of pg: ${flaw}`)
}

function flawOf(client: unknown, isMigration: boolean): string | undefined {
  const { query, _connecting: isConnecting, _connected: isConnected } = propertiesOf(client)
  if (typeof query !== 'function') return 'it has no method "query"'
  if (isConnecting === false && isConnected === false) return 'call its method "connect" first'
  // After an error, ROLLBACK would go to another session of the pool.
  if (isMigration && isPool(client)) return 'a Pool has several sessions; use a client of pool.connect()'
  return undefined
}

/** Whether a value is a Pool of pg: each query of it may use another connection. */
export function isPool(value: unknown): boolean {
  return propertiesOf(value)['totalCount'] !== undefined
}
