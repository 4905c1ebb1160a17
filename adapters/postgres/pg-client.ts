/** The client that the option `client` returns: `new pg.Client(…)` of pg 8, a new one for each connection. */
export interface PgClient {
  /** Opens the connection. */
  connect(): Promise<unknown>
  /** Runs one statement and resolves with its rows. */
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** Closes the connection. */
  end(): Promise<void>
}

/** The client on which a writer has opened a transaction, as `PostgresSource.mark` needs it. */
export interface PgTransaction {
  /** Runs one statement inside the transaction. */
  query(text: string): Promise<{ rows: unknown[] }>
}
