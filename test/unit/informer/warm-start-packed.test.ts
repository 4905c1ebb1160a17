import { afterAll, beforeAll, describe } from 'vitest'
import { MemoryCache } from '../../support/memory-cache.js'

// The tests of a warm start, once more with content that is packed, and with packed content that stores read in place.
describe.each([false, true])('with packed content that is read in place: %s', async (keeps) => {
  beforeAll(() => void Object.assign(MemoryCache, { packs: true, keeps }))
  afterAll(() => void Object.assign(MemoryCache, { packs: false, keeps: false }))
  // Modules of their own: without isolation, another file may have imported these tests before.
  const modules = ['warm-start', 'warm-start-saves'].map((name): string => `./${name}.test.ts?keeps=${keeps}`)
  for (const module of modules) await import(module)
})
