export { type MemorySource, type MemorySourceOptions, memorySource } from '../../adapters/memory/index.js';
export { SeededRandom } from './seeded-random.js';
export { VirtualClock } from './virtual-clock.js';
