export { type MemorySource, type MemorySourceOptions, memorySource } from './memory-source.js';
