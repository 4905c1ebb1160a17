import type { ListTransaction, Sink, WatchBatch } from '../contract/source.js';
import type { Version } from '../contract/version.js';
import { type DeltaBatch } from './change.js';
/**
 * The options of `new DeltaFIFO`.
 *
 * @example
 * ```ts
 * import { DeltaFIFO, Indexer } from 'listwatch'
 *
 * const knownObjects = new Indexer<Order>()
 * const fifo = new DeltaFIFO<Order>({ knownObjects, delivery: 'latest' }) // Default: `every`, with 10 000 changes.
 * ```
 */
export interface DeltaFIFOOptions<T> {
    /**
     * The objects that the consumer holds, usually an `Indexer`. A key in it that a list does not name is deleted.
     * Default: none, so that only queued keys are compared with a list.
     */
    readonly knownObjects?: {
        /** Returns the object of a key; undefined if the consumer does not hold it. */
        get(key: string): T | undefined;
        /** Returns the keys of all objects that the consumer holds. */
        keys(): Iterable<string>;
    };
    /**
     * `every` (default): each `drain` returns one batch as it came. `latest`: one batch with all changes merged by key.
     */
    readonly delivery?: 'every' | 'latest';
    /** How many changes `every` holds. With more changes it behaves as `latest` until it is empty. Default: 10 000. */
    readonly capacity?: number;
}
/**
 * A queue of changes between a `Reflector` and a store, for programs that compose them. It does this:
 * - It delivers the changes of each key in order.
 * - It delivers the deletes of objects that a new list does not name.
 * - It delivers all pending changes of one key (`pop`), or a whole batch of the source (`drain`).
 *
 * Informers do not need it: each subscription has a queue.
 *
 * A key is in the queue exactly if it has deltas. Keys leave in the order in which they were added. A queued key keeps
 * its place. Each batch and each list is atomic: at a boundary the consumer has a state that the source had. Deltas
 * that were taken are never changed.
 *
 * A key that a list does not name is deleted if it is queued, in `knownObjects`, or in the batch that was taken last. A
 * batch counts as processed at the next `drain` or `pop`. A delete of an unknown key is dropped.
 *
 * @example
 * ```ts
 * import { DeltaFIFO, Indexer, Reflector } from 'listwatch'
 *
 * const store = new Indexer<Order>()
 * const fifo = new DeltaFIFO<Order>({ knownObjects: store })
 * const mirroring = new Reflector(source, fifo).run({ signal })
 * ```
 */
export declare class DeltaFIFO<T> implements Sink<T> {
    #private;
    /** @throws TypeError if an option is not valid. */
    constructor(options?: DeltaFIFOOptions<T>);
    /** Whether the first list was processed: all its keys were taken, and `drain` or `pop` was called after that. */
    get hasSynced(): boolean;
    /** The version of the batch or list that was accepted last; undefined before the first. */
    get version(): Version | undefined;
    /** Queues a batch of a watch. */
    apply(batch: WatchBatch<T>): void;
    /** Begins a list. Its `commit` queues the objects, and the deletes of keys that it does not name. */
    replace(): ListTransaction<T>;
    /**
     * Takes all deltas up to the next boundary. Waits until there is a batch. A bookmark is an empty batch. Resolves with
     * an empty batch if the signal aborts.
     */
    drain(options?: {
        readonly signal?: AbortSignal;
    }): Promise<DeltaBatch<T>>;
    /**
     * Takes all deltas of the key that has waited for the longest time. Waits until there is one. The batch has no
     * version if it ends between two boundaries. Resolves with an empty batch if the signal aborts.
     */
    pop(options?: {
        readonly signal?: AbortSignal;
    }): Promise<DeltaBatch<T>>;
}
