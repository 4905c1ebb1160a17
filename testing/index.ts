/**
 * Virtual time, a driver for controllers, and conformance tests of sources, histories, leases and relay stores.
 *
 * @module listwatch/testing
 */

export { type MemorySource, type MemorySourceOptions, memorySource } from '../adapters/memory/index.js'
export { conformanceCases } from './conformance/cases.js'
export type { ConformanceCase, ConformanceOutcome } from './conformance/conformance-case.js'
export type {
  CommitTransaction,
  ConformanceCapability,
  ConformanceChange,
  ConformanceOptions,
  ListerWatcherHarness,
  ListerWatcherSubject,
} from './conformance/harness.js'
export { describeListerWatcher } from './conformance/vitest-suite.js'
export { type LeasesCase, leasesCases, leasesConformance } from './leases/cases.js'
export type { LeasesHarness } from './leases/harness.js'
export { type RelayStoreCase, relayStoreCases, relayStoreConformance } from './relay-store/cases.js'
export type { RelayStoreHarness } from './relay-store/harness.js'
export { SeededRandom } from './seeded-random.js'
export { describeSharedHistory, type SharedHistorySubject } from './shared-history-conformance.js'
export {
  type TestController,
  type TestControllerOptions,
  type TestedRun,
  testController,
} from './test-controller.js'
export { VirtualClock } from './virtual-clock.js'
