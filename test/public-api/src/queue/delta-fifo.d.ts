import type { ListTransaction, Sink, WatchBatch } from '../contract/source.js';
import type { Version } from '../contract/version.js';
import { type DeltaBatch } from './change.js';
export interface DeltaFIFOOptions<T> {
    /** What the consumer holds already, usually an Indexer: deletions are detected against it, and against the queue. */
    readonly knownObjects?: {
        get(key: string): T | undefined;
        keys(): Iterable<string>;
    };
    /**
     * `every` (default): the batches as they came, one for each `drain`. `latest`: everything pending as one batch,
     * merged by key.
     */
    readonly delivery?: 'every' | 'latest';
    /** How many changes `every` holds before it behaves as `latest` until it has caught up. Default 10 000. */
    readonly capacity?: number;
}
/**
 * The queue between what happens and who is told: each subscription has one, and composed by hand it is the sink of a
 * reflector. A key is in it exactly when it has deltas; keys leave in the order in which they came; a key that is queued
 * keeps its place. Every batch, and every list, is atomic: who drains to a boundary sees a state that the source had.
 * Merging never reaches into what was taken already.
 *
 * As a sink: a key that is queued, or in the batch last taken (until the next `drain` or `pop`), or known, and not in a
 * list, is deleted. A deletion of a key that nobody knows tells nobody.
 */
export declare class DeltaFIFO<T> implements Sink<T> {
    #private;
    constructor(options?: DeltaFIFOOptions<T>);
    /** Whether the whole first list has been processed: taken, and then the next asked for. */
    get hasSynced(): boolean;
    /** The version of what was accepted last. */
    get version(): Version | undefined;
    apply(batch: WatchBatch<T>): void;
    replace(): ListTransaction<T>;
    /**
     * Everything up to the next boundary, as soon as there is something; a bookmark is an empty batch. Resolves with an
     * empty batch when the signal aborts.
     */
    drain(options?: {
        readonly signal?: AbortSignal;
    }): Promise<DeltaBatch<T>>;
    /**
     * All deltas of the key that has waited longest; they may stand between two boundaries, and then have no version.
     * Resolves with an empty batch when the signal aborts.
     */
    pop(options?: {
        readonly signal?: AbortSignal;
    }): Promise<DeltaBatch<T>>;
}
