import { type Clock } from '../../src/contract/clock.js';
import type { LeaseRecord, Leases } from '../../src/contract/leases.js';
/**
 * What happens to a renewal. `lost request`: it is never performed. `lost reply`: it is performed, and never answered.
 * `late request`: it is performed when `deliver` is called. `late reply`: it is performed now, and answered by
 * `deliver`.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const replicas = memoryLeases({ group: 'orders' })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { replicas })
 * replicas.disturb('late reply', 2) // The next two renewals are stored, and answered by `deliver`.
 * replicas.deliver()
 * ```
 */
export type LeaseFault = 'lost request' | 'lost reply' | 'late request' | 'late reply';
/**
 * A lease store in memory with scripted faults, for tests. Replicas in one process share it.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const replicas = memoryLeases({ group: 'orders' })
 * const controller = orders.reconcile((key, { object }) => makeItSo(key, object), { replicas })
 * replicas.setAvailable(false) // After 0.7 `leaseMs` the signals of all runs abort.
 * replicas.setAvailable(true)
 * replicas.fork() // A failover that loses the last write.
 * console.log(replicas.records.map(({ member, renewal }) => [member, renewal]))
 * ```
 */
export interface MemoryLeases extends Leases {
    /** The records in the store. */
    readonly records: readonly LeaseRecord[];
    /** Disturbs the next `times` renewals (default 1). */
    disturb(fault: LeaseFault, times?: number): void;
    /** Performs late requests and answers late replies, in their order. */
    deliver(): void;
    /** While false, every renewal fails with `UNAVAILABLE`. */
    setAvailable(isAvailable: boolean): void;
    /** Loses the last `writes` writes (default 1), and starts a new epoch: a failover of an asynchronous replica. */
    fork(writes?: number): void;
}
/**
 * Options of `memoryLeases`.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const clock = new VirtualClock()
 * const replicas = memoryLeases({ group: 'orders', mode: 'leader', leaseMs: 1_000, clock }) // Default: 10 000.
 * createInformer({ source, clock }).reconcile((key, { object }) => makeItSo(key, object), { replicas })
 * ```
 */
export interface MemoryLeasesOptions {
    /** The name of the group, for errors. */
    readonly group: string;
    /** `share`: every member owns about as many keys. `leader`: one member owns all keys. Default `share`. */
    readonly mode?: 'share' | 'leader';
    /** For how many milliseconds a member may run keys after it sent a renewal. Default 10 000. */
    readonly leaseMs?: number;
    /** Milliseconds between two renewals. Default `leaseMs / 5`. */
    readonly renewMs?: number;
    /** The clock of the store. Default: the system's. */
    readonly clock?: Clock;
}
/**
 * Returns a lease store in memory.
 * @returns The lease store, for the option `replicas` of `reconcile`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const leases = memoryLeases({ group: 'orders' })
 * leases.disturb('lost reply')
 * ```
 */
export declare function memoryLeases(options: MemoryLeasesOptions): MemoryLeases;
