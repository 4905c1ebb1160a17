import { SourceError } from '../../src/contract/errors.js';
import { type ListerWatcher } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
/**
 * A collection in memory with transactions, versions, compaction and scripted faults: the reference implementation of
 * the source contract, and the fake to test with. Objects are handed over as they are, not copied.
 */
export interface MemorySource<T> extends ListerWatcher<T> {
    /** Adds or replaces; gives the version to wait for. */
    put(key: string, object: T): Version;
    delete(key: string): Version;
    /** Several writes in one version; where `fn` throws, none of them. */
    transaction(fn: (tx: {
        put(key: string, object: T): void;
        delete(key: string): void;
    }) => void): Version;
    /** From now on the object under `key` cannot be decoded, until it is written again; where there was none, there is one now. */
    corrupt(key: string, error: unknown): Version;
    /**
     * Every open list and watch fails with `UNAVAILABLE`; the next ones work. None is open just after `synced()`, where the watch is still
     * to be opened: `status.state` is `live` once it is.
     */
    disconnect(): void;
    /** Every open list and watch falls silent, as behind a half-open connection; the next ones work. */
    stall(): void;
    /** Forgets the history: whoever is behind gets `VERSION_EXPIRED`. */
    compact(): void;
    /** The next `times` lists and watches (default 1) fail with `error`. */
    fail(error: SourceError, times?: number): void;
    /** Goes back to these objects, as a restored backup does: another epoch. */
    restore(entries: Iterable<readonly [string, T]>): Version;
    head(): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
export interface MemorySourceOptions<T> {
    readonly entries?: Iterable<readonly [string, T]>;
    /** Default "memory". */
    readonly name?: string;
    /** How often a silent watch says where it is, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /** How many transactions a watch may be behind. Default 100 000. */
    readonly history?: number;
}
/** A versioned, transactional, compacting collection in memory. */
export declare function memorySource<T>(options?: MemorySourceOptions<T>): MemorySource<T>;
