import type { PgClient } from './pg-client.js';
/** A client that is connected, and is left so. */
export type PgConnected = Pick<PgClient, 'query'>;
export interface ChangeLogOptions {
    /** As in SQL: `orders`, `shop.orders`, `"Orders"`. */
    readonly table: string;
    /** The columns of a unique index without NULLs, where there is no primary key or another is wanted. */
    readonly key?: readonly string[];
    /** Triggers for each `statement`, or for each `row` as partitions and logical subscribers need. Default `auto`. */
    readonly level?: 'auto' | 'statement' | 'row';
    /**
     * Which transactions notify readers: about one in 25 ms (`bucket`), `each` one, or `none`. With `bucket` and `none`, a reader may see a
     * change only when it looks by itself, after `pollIntervalMs` at the latest. Default `auto`: `none` if `max_prepared_transactions` is
     * above 0, because a transaction that has notified cannot be prepared, else `bucket`.
     */
    readonly wake?: 'auto' | 'bucket' | 'each' | 'none';
    /** A statement that changes more rows than this makes readers read the table again. Default 100 000. */
    readonly bulk?: number;
    /** Roles that may mirror the table; they get what that needs and nothing else. */
    readonly grant?: readonly string[];
}
/** A table whose changes are logged. */
export interface ChangeLog {
    readonly table: string;
    readonly log: string;
    readonly level: string;
    readonly wake: string;
    readonly keyColumns: readonly string[];
    readonly readers: readonly string[];
    readonly logRows: number;
    readonly logBytes: number;
    /** Why the log may not tell every change; empty where all is well. */
    readonly problems: readonly string[];
}
export interface ChangeLogStatus {
    /** The version of the schema; undefined where nothing is installed. */
    readonly schemaVersion: number | undefined;
    readonly tables: readonly ChangeLog[];
    /** How much of the cluster's queue of notifications is in use, from 0 to 1. */
    readonly notifyQueueUsage: number;
    /** The longest time for which a transaction has been open, in milliseconds: it keeps dead rows of logs alive. */
    readonly oldestTransactionMs: number;
}
/** The migration that makes a table's change log: to be read, and run by whoever may. */
export declare function installChangeLogSql(options: ChangeLogOptions): string;
/** The migration that removes a table's change log, or everything. */
export declare function uninstallChangeLogSql(options: {
    readonly table: string;
} | {
    readonly all: true;
}): string;
/** Makes a table's change log. Waits for its lock in short turns, so that the table's writers never wait long behind it. */
export declare function installChangeLog(client: PgConnected, options: ChangeLogOptions): Promise<void>;
/** Removes a table's change log, or with `all` everything. Running mirrors fail with `NOT_FOUND`. */
export declare function uninstallChangeLog(client: PgConnected, options: {
    readonly table: string;
} | {
    readonly all: true;
}): Promise<void>;
/** Removes from all logs what is older than `keepSeconds` (default 3 600); gives the number of rows. */
export declare function trimChangeLogs(client: PgConnected, keepSeconds?: number): Promise<number>;
/** What is installed, and whether it is well. */
export declare function changeLogStatus(client: PgConnected): Promise<ChangeLogStatus>;
