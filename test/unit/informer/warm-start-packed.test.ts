import { afterAll, beforeAll } from 'vitest'
import { MemoryCache } from '../../support/memory-cache.js'

// The tests of a warm start, once more with content that is packed.
beforeAll(() => {
  MemoryCache.packs = true
})
afterAll(() => {
  MemoryCache.packs = false
})
await import('./warm-start.test.js')
await import('./warm-start-saves.test.js')
