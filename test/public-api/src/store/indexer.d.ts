import type { Entry, ListTransaction, Sink, WatchBatch } from '../contract/source.js';
import type { Version } from '../contract/version.js';
import type { DeltaBatch } from '../queue/change.js';
import type { IndexBuilder } from './indexes/index-types.js';
import type { StoreView } from './store-view.js';
/**
 * The indexed store, and the sink that a `Reflector` writes to. Each batch, and each list, becomes visible as a whole,
 * in one synchronous step. An object that is equal to the stored one does not replace it, and is not a change.
 *
 * Like all sinks it has one writer. It holds at most 16 million objects.
 *
 * @example
 * ```ts
 * import { type IndexBuilder, Indexer, Reflector } from 'listwatch'
 *
 * const indexes = (ix: IndexBuilder<Order>) => ({ tenant: ix.equal((order) => order.tenant) })
 * const store = new Indexer({ indexes })
 * const mirroring = new Reflector(source, store).run({ signal })
 * console.log(store.by.tenant('acme').length)
 * ```
 */
export declare class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
    #private;
    readonly by: I & object;
    constructor(options?: {
        readonly indexes?: (ix: IndexBuilder<T>) => I;
    });
    get(key: string): T | undefined;
    has(key: string): boolean;
    get size(): number;
    get version(): Version | undefined;
    entry(key: string): Entry<T> | undefined;
    keys(): IteratorObject<string, undefined>;
    entries(): IteratorObject<[key: string, object: T], undefined>;
    list(): readonly T[];
    apply(batch: WatchBatch<T> | DeltaBatch<T>): void | Promise<void>;
    replace({ ignoreVersions }?: {
        readonly ignoreVersions?: boolean;
    }): ListTransaction<T>;
}
