import type { Version } from '../../src/contract/version.js';
import type { OptionCheck } from '../../src/util/validate-options.js';
/**
 * Compares versions of the upstream source. Its `ListerWatcher` has these methods.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 * import { postgresSource } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const upstream = postgresSource({ client: () => new pg.Client(), table: 'orders' }) // Only compares.
 * const orders = createInformer({ source: httpSource<Order>({ url: 'https://api.example/mirror/orders', upstream }) })
 * await orders.start().synced()
 * await orders.waitFor(mark) // The mark of a transaction of Postgres.
 * ```
 */
export interface UpstreamVersions {
    /** Returns whether `at` includes everything up to `mark`. */
    hasReached(at: Version, mark: Version): boolean;
    /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
    isLaterEpoch?(at: Version, mark: Version): boolean;
}
/** The upstream version of a mirror of several sources, which have a version each. */
export declare const SEVERAL_SOURCES = "*";
/** The check of an option `upstream`. */
export declare const isUpstream: OptionCheck;
export interface UpstreamComparison {
    readonly compare: UpstreamVersions | undefined;
    /** The upstream version of the follower; empty if the mirror has none at the time. */
    readonly at: string;
    /** The upstream version of the mark. */
    readonly mark: string;
    /** Whether the mark is a version of a follower. Then it is of another history than the one of this follower. */
    readonly isOfFollower: boolean;
    /** The kind of source, for messages: "an HTTP source". */
    readonly of: string;
}
/**
 * Whether a follower includes everything up to a mark that only versions of the upstream source can be compared with.
 */
export declare function hasReachedUpstream({ compare, at, mark, isOfFollower, of }: UpstreamComparison): boolean;
/** Whether `mark` belongs to a later epoch of the upstream source. */
export declare function isLaterUpstreamEpoch({ compare, at, mark, }: Pick<UpstreamComparison, 'compare' | 'at' | 'mark'>): boolean;
