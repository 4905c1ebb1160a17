export { type LeaseFault, type MemoryLeases, type MemoryLeasesOptions, memoryLeases } from './memory-leases.js';
export { type MemorySource, type MemorySourceOptions, memorySource } from './memory-source.js';
