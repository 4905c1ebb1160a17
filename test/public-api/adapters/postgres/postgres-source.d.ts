import type { ListerWatcher, SourceContext } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type PgClient, type PgTransaction } from './pg-client.js';
export interface PostgresSourceOptions {
    /**
     * Returns a new, unconnected client of pg 8 at each call: `() => new pg.Client(url)`. Called for each connection. A Pool, a
     * connected client or the same client again is an OptionError, with which `synced()` rejects.
     */
    readonly client: () => PgClient | Promise<PgClient>;
    /** As in SQL: `orders`, `shop.orders`, `"Orders"`. It must have a primary key, and the triggers of `listwatch pg install`. */
    readonly table: string;
    /** The columns to mirror; those of the key always are. Default: all. */
    readonly columns?: readonly string[];
    /**
     * A condition in SQL that depends on nothing but the row, on unqualified columns: `status <> 'archived'`. It is not
     * escaped. Needs the right to make temporary tables, by which it is checked.
     */
    readonly where?: string;
    /** Say `row-local` where row security applies to the reader and no policy reads other rows. Default: refused. */
    readonly rls?: 'row-local';
    /** How long the source looks at the latest, in milliseconds, when nothing wakes it. Default 1 000. */
    readonly pollIntervalMs?: number;
    /** A query without an answer for so many milliseconds means a dead peer. Default 5 000. */
    readonly heartbeatTimeoutMs?: number;
    /** More changed keys than this at once and the table is read again. Default 250 000. */
    readonly maxDeltaRows?: number;
    /** A row with more characters is invalid. Default 16 Mi. */
    readonly maxObjectBytes?: number;
    /** How often this reader trims the log, in milliseconds; `false` leaves it to others. Default 30 000. */
    readonly trimEveryMs?: number | false;
    /** `poll` never listens. Default: `notify`, falling back to `poll` where notifications do not arrive. */
    readonly wake?: 'notify' | 'poll';
}
/** A table of Postgres, as a source. Versions are snapshots: exact, resumable, and not held up by long transactions. */
export interface PostgresSource<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
    /**
     * What to wait for after this transaction's commit: taken inside the writer's own transaction, in this or any other
     * process. `await informer.waitFor(mark)` then shows what it wrote. A TypeError for a pool, and outside a transaction.
     */
    mark(tx: PgTransaction): Promise<Version>;
    /** The key of a row, from the values of its key columns in their order, as Postgres writes them. */
    key(...columns: readonly (string | number | bigint)[]): string;
    /** How the open watch learns of changes; undefined while none is open. */
    readonly waking: 'notify' | 'poll' | undefined;
    head(context: SourceContext): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
/** Mirrors a table by the change log that `listwatch pg install` sets up. Opens nothing by itself. */
export declare function postgresSource<T = unknown>(options: PostgresSourceOptions): PostgresSource<T>;
