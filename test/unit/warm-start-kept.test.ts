import { MemoryCache } from '../support/memory-cache.js'

// The tests of a warm start, once more with packed content that stores read in place.
MemoryCache.packs = true
MemoryCache.keeps = true
await import('./warm-start.test.js')
await import('./warm-start-saves.test.js')
