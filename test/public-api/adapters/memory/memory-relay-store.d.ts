import { type RelayStore } from '../../src/contract/relay-store.js';
import { type MemorySource } from './memory-source.js';
/**
 * What happens to a write. `lost request`: it is never performed. `lost reply`: it is performed. `late request`: it is
 * performed when `deliver` is called. In each case the call rejects with `UNAVAILABLE`.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore()
 * store.disturb('late request') // The next write rejects with UNAVAILABLE,
 * store.deliver() // and is performed after all.
 * ```
 */
export type RelayFault = 'lost request' | 'lost reply' | 'late request';
/**
 * A relay store in memory with scripted faults, for tests. Relays and followers in one process share it.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { publish } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * await publish(orders, store).synced()
 * console.log(`${store.texts.size} texts`)
 * store.fork(3) // A failover that loses the last three writes.
 * ```
 */
export interface MemoryRelayStore extends RelayStore {
    /** The collection, with scripted faults of its own: `disconnect`, `stall`, `compact`. */
    readonly collection: MemorySource<string>;
    /** The texts in the store. */
    readonly texts: ReadonlyMap<string, string>;
    /** Disturbs the next `times` writes (default 1). */
    disturb(fault: RelayFault, times?: number): void;
    /** Performs late requests, in their order. */
    deliver(): void;
    /** While false, every read and write fails with `UNAVAILABLE`. */
    setAvailable(isAvailable: boolean): void;
    /** Loses the last `writes` writes (default 1), and starts a new epoch: a failover of an asynchronous replica. */
    fork(writes?: number): void;
    /** Removes everything, and starts a new epoch. */
    flush(): void;
}
/**
 * Options of `memoryRelayStore`.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore({ name: 'orders', maxChanges: 10, maxBytes: 4_096 }) // Default: 1 000, and 16 MiB.
 * ```
 */
export interface MemoryRelayStoreOptions {
    /** The name in logs and errors. Default "memory relay". */
    readonly name?: string;
    /** How many changes one write may have. Default 1 000. */
    readonly maxChanges?: number;
    /** How many bytes the keys and texts of one write may have. Default 16 MiB. */
    readonly maxBytes?: number;
}
/**
 * Returns a relay store in memory.
 * @returns The store, for `publish`, `relaySource` and `relayCache`.
 * @throws OptionError that names a wrong option.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore()
 * store.disturb('lost reply')
 * ```
 */
export declare function memoryRelayStore(options?: MemoryRelayStoreOptions): MemoryRelayStore;
