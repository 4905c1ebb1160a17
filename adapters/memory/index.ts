/**
 * A source, collections, leases and the store of a relay in memory, with scripted faults for tests.
 *
 * @module listwatch/memory
 */

export type { LeaseOptions } from '../common/lease-options.js'
export {
  type MemoryDatabase,
  type MemoryDatabaseOptions,
  type MemoryTransaction,
  memoryDatabase,
} from './memory-database.js'
export { type LeaseFault, type MemoryLeases, type MemoryLeasesOptions, memoryLeases } from './memory-leases.js'
export {
  type MemoryRelayStore,
  type MemoryRelayStoreOptions,
  memoryRelayStore,
  type RelayFault,
} from './memory-relay-store.js'
export { type MemorySource, type MemorySourceOptions, memorySource } from './memory-source.js'
