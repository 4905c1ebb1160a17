import { afterAll, beforeAll } from 'vitest'
import { MemoryCache } from '../support/memory-cache.js'

// The tests of a warm start, once more with packed content that stores read in place.
beforeAll(() => {
  MemoryCache.packs = true
  MemoryCache.keeps = true
})
afterAll(() => {
  MemoryCache.packs = false
  MemoryCache.keeps = false
})
// Modules of their own: without isolation, another file may have imported these tests before.
await import('./warm-start.test.ts?kept' as string)
await import('./warm-start-saves.test.ts?kept' as string)
