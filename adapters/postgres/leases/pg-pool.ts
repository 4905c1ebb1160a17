/**
 * A client that a pool lends.
 *
 * @example
 * ```ts
 * import type { PgPoolClient } from 'listwatch/postgres'
 *
 * // Leases borrow a client for one statement, as this function does.
 * async function now(): Promise<unknown> {
 *   const client: PgPoolClient = await pool.connect()
 *   const result = client.query('SELECT now()')
 *   return result.finally(() => client.release())
 * }
 * ```
 */
export interface PgPoolClient {
  /** Runs the statements of one message. */
  query(text: string): Promise<unknown>
  /** Adds a listener of errors of the connection. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Removes a listener. */
  off(event: 'error', listener: (error: Error) => void): unknown
  /** Returns the client to the pool. `true`: its connection is broken, and is closed. */
  release(isBroken?: boolean): void
}

/**
 * The part of a `Pool` of pg 8 that leases use.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const ownPool = new pg.Pool({ connectionString: url, max: 2 }) // Other work cannot use it up.
 * const leases = postgresLeases({ pool: ownPool, group: 'orders' })
 * ```
 */
export interface PgPool {
  /** Returns a client that is connected. */
  connect(): Promise<PgPoolClient>
  /** Adds a listener of errors of idle clients. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** Removes a listener. */
  off?(event: 'error', listener: (error: Error) => void): unknown
}

/** How many lease sessions use a pool. */
const sessions = new WeakMap<PgPool, number>()

/**
 * Keeps the process alive when an idle client of the pool loses its connection, as in a restart of the server. A pool
 * without an `error` listener would end the process. All sessions of a pool share one listener, because Node warns of
 * more than ten.
 * @returns The function to call when the session ends.
 */
export function survivePoolErrors(pool: PgPool): () => void {
  const others = sessions.get(pool) ?? 0
  if (others === 0) pool.on?.('error', ignoreError)
  sessions.set(pool, others + 1)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    const left = (sessions.get(pool) ?? 1) - 1
    sessions.set(pool, left)
    if (left === 0) pool.off?.('error', ignoreError)
  }
}

/** The listener of an error that also rejects a query, or concerns a client that the pool replaces. */
export function ignoreError(): void {}
