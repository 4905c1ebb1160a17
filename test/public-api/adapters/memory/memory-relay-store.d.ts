import { type RelayStore } from '../../src/contract/relay-store.js';
import { type MemorySource } from './memory-source.js';
/**
 * What happens to a write. `lost request`: it is never performed. `lost reply`: it is performed. `late request`: it is
 * performed when `deliver` is called. In each case the call rejects with `UNAVAILABLE`.
 */
export type RelayFault = 'lost request' | 'lost reply' | 'late request';
/** A relay store in memory with scripted faults, for tests. Relays and followers in one process share it. */
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
/** Options of `memoryRelayStore`. */
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
