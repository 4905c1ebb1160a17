/**
 * The client that the option `connect` returns: `new pg.Client(…)` of pg 8, a new one for each connection.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const connect = () => new pg.Client({ connectionString: url, application_name: 'orders mirror' })
 * const orders = createInformer({ source: postgresSource<Order>({ connect, table: 'orders' }) })
 * ```
 */
export interface PgClient {
  /** Opens the connection. */
  connect(): Promise<unknown>
  /** Runs one statement and resolves with its rows. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** Closes the connection. */
  end(): Promise<void>
}

/**
 * The client on which a writer has opened a transaction, as `PostgresSource.mark` needs it.
 *
 * @example
 * ```ts
 * const client = await pool.connect() // Not the pool: the transaction is open on one client.
 * await client.query('BEGIN')
 * await client.query("UPDATE orders SET status = 'shipped' WHERE id = '42'")
 * const version = await source.mark(client)
 * await client.query('COMMIT')
 * client.release()
 * await orders.waitFor(version, { timeoutMs: 5_000 })
 * ```
 */
export interface PgTransaction {
  /** Runs one statement inside the transaction. */
  query(text: string): Promise<{ rows: unknown[] }>
}
