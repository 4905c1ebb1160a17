import type { ChangeLogOptions, ChangeLogStatus, PgConnected } from './change-log-types.js';
/**
 * Returns the SQL of a migration that creates the change log of a table. Any role with the needed rights can run it.
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option, TypeError if `table` is missing.
 *
 * @example
 * ```ts
 * import { installChangeLogSql } from 'listwatch/postgres'
 *
 * console.log(installChangeLogSql({ table: 'orders' })) // A migration, to run with your own tool.
 * ```
 */
export declare function installChangeLogSql(options: ChangeLogOptions): string;
/**
 * Returns the SQL of a migration that removes the change log of a table, or with `all` the schema `listwatch`.
 *
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option, TypeError if not exactly one of `table` and `all` is present.
 *
 * @example
 * ```ts
 * import { uninstallChangeLogSql } from 'listwatch/postgres'
 *
 * console.log(uninstallChangeLogSql({ table: 'orders' }))
 * ```
 */
export declare function uninstallChangeLogSql(options: {
    readonly table: string;
} | {
    readonly all: true;
}): string;
/**
 * Creates the change log of a table, or replaces it. Each of at most 5 attempts waits at most 3 s for the table's lock,
 * so that the table's writers never wait long behind it.
 * @throws SourceError `UNAUTHORIZED` with a hint if a right is missing, `UNAVAILABLE` if the table stays locked,
 * `PROTOCOL` or `UNAVAILABLE` with a hint for a table without a usable key. After an error nothing has changed.
 * OptionError for a wrong option, TypeError if the client is a pool or has no connection.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { installChangeLog } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * await installChangeLog(client, { table: 'orders' })
 * await client.end()
 * ```
 */
export declare function installChangeLog(client: PgConnected, options: ChangeLogOptions): Promise<void>;
/**
 * Removes the change log of a table, or with `all` the schema `listwatch` with all logs. Running mirrors fail with
 * `NOT_FOUND`.
 * @returns Whether there was a change log; with `all` always true.
 * @throws SourceError like `installChangeLog`.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { uninstallChangeLog } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * await uninstallChangeLog(client, { table: 'orders' })
 * await client.end()
 * ```
 */
export declare function uninstallChangeLog(client: PgConnected, options: {
    readonly table: string;
} | {
    readonly all: true;
}): Promise<boolean>;
/**
 * Removes all rows of the logs that are older than `keepSeconds` seconds (default 3 600).
 * @returns The number of removed rows, without those that another session removes at the same time.
 * @throws TypeError for a negative or infinite number of seconds, or a client without a connection; SourceError for an
 * error of the query.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { trimChangeLogs } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * console.log(await trimChangeLogs(client), 'rows removed')
 * await client.end()
 * ```
 */
export declare function trimChangeLogs(client: PgConnected, keepSeconds?: number): Promise<number>;
/**
 * Returns the state of all change logs of the database, with their problems.
 * @returns The state of each change log, and of what they share.
 * @throws SourceError for an error of a query, TypeError for a client without a connection.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { changeLogStatus } from 'listwatch/postgres'
 *
 * const client = new pg.Client(process.env['DATABASE_URL'])
 * await client.connect()
 * for (const { table, problems } of (await changeLogStatus(client)).tables) console.log(table, problems)
 * await client.end()
 * ```
 */
export declare function changeLogStatus(client: PgConnected): Promise<ChangeLogStatus>;
/** Runs a migration. `table`: what it locks, for errors; default: the schema. */
export declare function migrate(client: PgConnected, sql: string, table?: string): Promise<unknown>;
/**
 * Returns the SQL of one transaction. Only the name of `table` is looked up on the search path of the role that runs it.
 */
export declare function migration(body: string, table?: string): string;
