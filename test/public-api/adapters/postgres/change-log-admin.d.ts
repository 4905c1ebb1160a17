import type { PgClient } from './pg-client.js';
/** A connected client. The functions of change logs do not close it. */
export type PgConnected = Pick<PgClient, 'query'>;
/** Options of `installChangeLog` and `installChangeLogSql`. */
export interface ChangeLogOptions {
    /** The table's name as in SQL: `orders`, `shop.orders`, `"Orders"`. */
    readonly table: string;
    /** The columns of a unique index without NULLs, to be used as the key. Default: the columns of the primary key. */
    readonly key?: readonly string[];
    /**
     * Triggers fire for each `statement`, or for each `row`. `auto` chooses `row` for partitions and logical subscribers,
     * which need it, else `statement`. Default `auto`.
     */
    readonly level?: 'auto' | 'statement' | 'row';
    /**
     * Which transactions notify readers: about one in 25 ms (`bucket`), `each` one, or `none`. With `bucket` and `none`,
     * a reader may notice a change only by its next poll, after `pollIntervalMs` at the latest. Default `auto`: `none` if
     * `max_prepared_transactions` is above 0, because a transaction that has notified cannot be prepared, else `bucket`.
     */
    readonly wake?: 'auto' | 'bucket' | 'each' | 'none';
    /** After a statement that changes more rows than this, readers list the table again. Default 100 000. */
    readonly bulk?: number;
    /** Roles that may mirror the table. They are granted only the rights that this needs. Default: none. */
    readonly grant?: readonly string[];
}
/** The state of one installed change log. */
export interface ChangeLog {
    /** The table's name, as SQL needs it on the current search path. */
    readonly table: string;
    /** The name of the log. */
    readonly log: string;
    /** How the triggers fire: `statement` or `row`. */
    readonly level: string;
    /** Which transactions notify readers: `bucket`, `each` or `none`. */
    readonly wake: string;
    /** The columns of the key, in their order. */
    readonly keyColumns: readonly string[];
    /** The roles to which the installation granted the right to mirror the table. */
    readonly readers: readonly string[];
    /** The number of rows in the log. */
    readonly logRows: number;
    /** The size of the log and its indexes on disk, in bytes. */
    readonly logBytes: number;
    /** Why the log may miss changes, one line for each reason. Empty if the log is complete. */
    readonly problems: readonly string[];
}
/** The state of all change logs of a database. */
export interface ChangeLogStatus {
    /** The version of the schema `listwatch`; undefined if nothing is installed. */
    readonly schemaVersion: number | undefined;
    /** The installed change logs. */
    readonly tables: readonly ChangeLog[];
    /** The used part of the cluster's queue of notifications, from 0 to 1. */
    readonly notifyQueueUsage: number;
    /** The age of the oldest open transaction, in milliseconds. An old one keeps dead rows of the logs on disk. */
    readonly oldestTransactionMs: number;
}
/**
 * Returns the SQL of a migration that creates the change log of a table. Any role with the needed rights can run it.
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
}): Promise<void>;
/**
 * Removes all rows of the logs that are older than `keepSeconds` seconds (default 3 600). Returns the number of removed
 * rows; 0 if another session trims at the same time.
 * @throws TypeError for a negative or infinite number of seconds; SourceError for an error of the query.
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
 * @throws SourceError for an error of a query.
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
/** Runs a migration. `table`: what it locks, for errors. */
export declare function migrate(client: PgConnected, sql: string, table: string): Promise<void>;
/** Returns the SQL of one transaction, which excludes other migrations. */
export declare function migration(body: string): string;
