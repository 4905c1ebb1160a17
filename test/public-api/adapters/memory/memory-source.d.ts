import { SourceError } from '../../src/contract/errors.js';
import { type ListerWatcher } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
/**
 * A collection in memory with transactions, versions, compaction and scripted faults. It is the reference
 * implementation of the source contract, and a fake for tests. Objects are passed on as they are, not copied.
 *
 * @example
 * ```ts
 * const source = memorySource<Limit>()
 * const informer = createInformer({ source })
 * await informer.start().synced()
 * const version = source.put('acme', { tenant: 'acme', rps: 5, burst: 10 })
 * await informer.waitFor(version)
 * source.disconnect() // The informer resumes its watch.
 * source.compact() // A watch from an earlier version expires, so the informer lists again.
 * ```
 */
export interface MemorySource<T> extends ListerWatcher<T> {
    /** Adds or replaces an object. Returns the version of the write, for `waitFor`. */
    put(key: string, object: T): Version;
    /** Deletes an object. Returns the version of the delete, also if the key does not exist. */
    delete(key: string): Version;
    /** Applies the writes of `fn` as one transaction, and returns its version. If `fn` throws, nothing is written. */
    transaction(fn: (tx: {
        put(key: string, object: T): void;
        delete(key: string): void;
    }) => void): Version;
    /**
     * Replaces the object under `key`, or adds one, that fails to decode with `error` until the key is written again.
     * Returns the version of this write.
     */
    corrupt(key: string, error: unknown): Version;
    /**
     * Every open list and watch fails with `UNAVAILABLE`; the next ones work. Just after `synced()` the watch of an
     * informer may not be open yet: it is when `status.state` is `live`.
     */
    disconnect(): void;
    /** Every open list and watch becomes silent, as on a half-open connection; the next ones work. */
    stall(): void;
    /** Removes the history: a watch from an earlier version fails with `VERSION_EXPIRED`. */
    compact(): void;
    /** Makes the next `times` lists and watches (default 1) fail with `error`. */
    fail(error: SourceError, times?: number): void;
    /** Replaces all objects and starts a new epoch, like a restored backup. Returns the first version of the epoch. */
    restore(entries: Iterable<readonly [string, T]>): Version;
    /** Returns the version of the last write. */
    head(): Promise<Version>;
    /**
     * Returns whether `at` includes everything up to `mark`.
     * @throws SourceError `EPOCH_CHANGED` for a version of another epoch or memory source, `PROTOCOL` for any other text.
     */
    hasReached(at: Version, mark: Version): boolean;
}
/**
 * Options of `memorySource`.
 *
 * @example
 * ```ts
 * const source = memorySource<Limit>({
 *   entries: [['acme', { tenant: 'acme', rps: 5, burst: 10 }]],
 *   heartbeatMs: 1_000, // Default: 10 000.
 *   history: 10, // A watch that is further behind expires. Default: 100 000 transactions.
 * })
 * ```
 */
export interface MemorySourceOptions<T> {
    /** The first objects, by key. Default: none. */
    readonly entries?: Iterable<readonly [string, T]>;
    /** The name in logs and errors. Default "memory". */
    readonly name?: string;
    /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /**
     * The number of transactions in the history. A watch that is further behind fails with `VERSION_EXPIRED`. Default
     * 100 000.
     */
    readonly history?: number;
}
/**
 * Returns a source that keeps a collection in memory.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong option.
 *
 * @example
 * ```ts
 * const orders = memorySource({ entries: [['1', { total: 5 }]] })
 * orders.put('2', { total: 7 })
 * ```
 */
export declare function memorySource<T>(options?: MemorySourceOptions<T>): MemorySource<T>;
