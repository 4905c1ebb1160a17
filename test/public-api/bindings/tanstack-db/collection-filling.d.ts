import type { Informer } from '../../src/informer/informer-types.js';
import type { ChangeStream } from '../../src/subscriptions/subscription-types.js';
/**
 * The functions of a collection that a sync uses, as TanStack DB declares them.
 *
 * @example
 * ```ts
 * import type { CollectionSync } from 'listwatch/tanstack-db'
 *
 * // What `sync` does with the functions of a collection.
 * function fill({ begin, write, commit, markReady }: CollectionSync<Order>): void {
 *   begin()
 *   for (const [key, value] of orders.entries()) write({ type: 'insert', key, value })
 *   commit()
 *   markReady()
 * }
 * ```
 */
export interface CollectionSync<T extends object> {
    /** Begins a transaction. */
    readonly begin: () => void;
    /** Adds a change to the transaction. */
    readonly write: (change: {
        readonly type: 'insert' | 'update' | 'delete';
        readonly key: string;
        readonly value: T;
    }) => void;
    /** Commits the transaction. */
    readonly commit: () => unknown;
    /** Makes the collection ready. */
    readonly markReady: () => void;
    /** Makes the status of the collection `error`. */
    readonly markError: (error?: unknown) => void;
}
/** Fills a collection with the changes of an informer until it ends. A collection that is used again has a new one. */
export declare class CollectionFilling<T extends object> {
    #private;
    readonly stream: ChangeStream<T>;
    constructor(informer: Informer<T, object>, where: object, collection: CollectionSync<T>, keys: WeakMap<object, string>);
    /** Ends it. The collection receives nothing after this. */
    end(): void;
}
