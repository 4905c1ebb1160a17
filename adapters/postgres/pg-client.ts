import { OptionError } from '../../src/contract/errors.js'

/** What a source needs of a client, as types: `new pg.Client(…)` of pg 8 fits. It is made anew for each connection. */
export interface PgClient {
  connect(): Promise<unknown>
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  end(): Promise<void>
}

/** What a source needs of a transaction that is open in the writer. */
export interface PgTransaction {
  query(text: string): Promise<{ rows: unknown[] }>
}

/** One message of COPY's, or the end of a query; pg's own protocol of queries that bring their own reader. */
export interface Submittable {
  submit(connection: PgConnection): void
  handleError(error: unknown): void
  handleReadyForQuery(): void
  handleCopyData(message: { readonly chunk: Buffer }): void
  handleCommandComplete(): void
  handleRowDescription(): void
  handleDataRow(): void
  handleEmptyQuery(): void
  handlePortalSuspended(): void
  handleCopyInResponse(): void
  callback: () => void
}

export interface PgConnection {
  query(text: string): void
  readonly stream: {
    destroy(error?: Error): unknown
    pause(): unknown
    resume(): unknown
    /** Of a socket; a stream of another kind may not count. */
    readonly bytesRead?: number
  }
}

export interface QueryConfig {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
  readonly rowMode?: 'array'
  readonly types?: { getTypeParser(): (text: string) => unknown }
}

/** What a client of pg 8 has besides. */
export interface NodePostgresClient {
  connect(): Promise<unknown>
  query(config: QueryConfig): Promise<{ rows: unknown[] }>
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
}

const ALLOWED =
  'a function that returns a new, unconnected Client of pg 8 at each call, such as () => new pg.Client(url)'

/** The flaw of a value of the option `client`, as far as it shows without a call of it. */
export function clientFlaw(client: unknown): string | undefined {
  // A class cannot be called without new.
  if (typeof client === 'function' && !/^class\b/.test(Function.prototype.toString.call(client))) return undefined
  return `must be ${ALLOWED}${poolHint(client)}`
}

/** The user's clients, one for each connection. An OptionError if the option `client` returns what cannot be one. */
export class ClientFactory {
  readonly #make: () => PgClient | Promise<PgClient>
  readonly #known = new WeakSet<object>()
  #isProved = false
  /** Returned by the option already, and not used yet. */
  #spare: NodePostgresClient | undefined

  constructor(make: () => PgClient | Promise<PgClient>) {
    this.#make = make
  }

  async next(): Promise<NodePostgresClient> {
    const spare = this.#spare
    this.#spare = undefined
    return spare ?? (await this.#new())
  }

  /**
   * Throws if the option returns the same client twice. Makes the client of the next connection for that, once; a list would
   * succeed and the watch after it could not begin.
   */
  async prove(): Promise<void> {
    if (this.#isProved) return
    try {
      this.#spare = await this.#new()
      this.#isProved = true
    } catch (error) {
      if (error instanceof OptionError) throw error // Else the next connection reports it, if it lasts.
    }
  }

  async #new(): Promise<NodePostgresClient> {
    const client = asNodePostgres(await this.#make())
    if (this.#known.has(client)) throw wrongClient('it returned the same client again')
    this.#known.add(client)
    if (client.processID != null) throw wrongClient('it returned a client that was connected already')
    return client
  }
}

function asNodePostgres(client: unknown): NodePostgresClient {
  const { connect, query, end, on, getTypeParser, connection } = Object(client) as Partial<NodePostgresClient>
  const isClient = [connect, query, end, on, getTypeParser].every((method) => typeof method === 'function')
  if (isClient && typeof connection?.stream?.destroy === 'function') return client as NodePostgresClient
  throw wrongClient(
    client == null ? `it returned ${String(client)}` : `it returned no Client of pg 8${poolHint(client)}`,
  )
}

function poolHint(value: unknown): string {
  return 'totalCount' in Object(value) ? '; a Pool cannot be used' : ''
}

function wrongClient(flaw: string): OptionError {
  return new OptionError(`postgresSource: option "client" must be ${ALLOWED}: ${flaw}`, { option: 'client' })
}
