import type { Leases } from '../../../src/contract/leases.js';
import { type LeaseOptions } from '../../shared/lease-options.js';
import type { PgClient } from '../pg-client.js';
/** A client that a pool lends. */
export interface PgPoolClient {
    /** Runs the statements of one message. */
    query(text: string): Promise<unknown>;
    /** Adds a listener of errors of the connection. */
    on(event: 'error', listener: (error: Error) => void): unknown;
    /** Removes a listener. */
    off(event: 'error', listener: (error: Error) => void): unknown;
    /** Gives the client back. `true`: its connection is broken, and is closed. */
    release(isBroken?: boolean): void;
}
/** The part of a `Pool` of pg 8 that leases use. */
export interface PgPool {
    /** Returns a client that is connected. */
    connect(): Promise<PgPoolClient>;
}
/** Options of `postgresLeases`. */
export interface PostgresLeasesOptions extends LeaseOptions {
    /**
     * A Pool of pg 8. Each renewal takes a client of it for one statement. A pool that is used up by other work delays renewals, and
     * then leases end. A transaction pooler may be between the pool and the server.
     */
    readonly pool: PgPool;
    /**
     * Returns a new, unconnected client of pg 8, as the option `client` of `postgresSource` does. With it a replica learns of the
     * changes of others at once, by notifications; it keeps one connection open. Default: it learns of them at its next renewal.
     */
    readonly listen?: () => PgClient | Promise<PgClient>;
}
/**
 * Returns the lease store of a group of replicas in Postgres. `listwatch pg install-leases` creates its tables first.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const replicas = postgresLeases({ pool: new pg.Pool({ connectionString: url }), group: 'orders' })
 * ```
 */
export declare function postgresLeases(options: PostgresLeasesOptions): Leases;
