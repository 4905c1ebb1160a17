import type { PgConnected } from '../change-log-types.js';
/**
 * Options of `installLeases` and `installLeasesSql`.
 *
 * @example
 * ```ts
 * import { installLeases } from 'listwatch/postgres'
 *
 * const client = await pool.connect() // Not the pool: it uses one session.
 * await installLeases(client, { grant: ['worker', 'batch'] }) // Roles that renew leases. Default: none.
 * client.release()
 * ```
 */
export interface InstallLeasesOptions {
    /** Roles that may renew leases. They are granted only the rights that this needs. Default: none. */
    readonly grant?: readonly string[];
}
/**
 * Returns the SQL of a migration that creates the tables and functions of `postgresLeases`, in the schema `listwatch`.
 * Any role that may create a schema, or owns that one, can run it.
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { installLeasesSql } from 'listwatch/postgres'
 *
 * console.log(installLeasesSql({ grant: ['worker'] }))
 * ```
 */
export declare function installLeasesSql(options?: InstallLeasesOptions): string;
/**
 * Creates the tables and functions of `postgresLeases`, or updates them. Existing leases are kept.
 * @throws OptionError for a wrong option, TypeError if the client is a pool or has no connection. SourceError
 * `UNAUTHORIZED` with a hint if a right is missing.
 *
 * @example
 * ```ts
 * import { installLeases } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const client = new pg.Client(url)
 * await client.connect()
 * await installLeases(client, { grant: ['worker'] })
 * await client.end()
 * ```
 */
export declare function installLeases(client: PgConnected, options?: InstallLeasesOptions): Promise<void>;
