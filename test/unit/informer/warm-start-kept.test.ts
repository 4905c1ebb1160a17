import { afterAll, beforeAll } from 'vitest'
import { MemoryCache } from '../../support/memory-cache.js'

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
const modules: string[] = ['./warm-start.test.ts?kept', './warm-start-saves.test.ts?kept']
for (const module of modules) await import(module)
