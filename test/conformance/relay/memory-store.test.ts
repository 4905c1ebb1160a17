import { type MemoryRelayStore, memoryRelayStore } from '../../../adapters/memory/index.js'
import { relayStoreConformance } from '../../../testing/index.js'

const stores = new Map<string, MemoryRelayStore>()

function storeOf(name: string): MemoryRelayStore {
  const store = stores.get(name) ?? memoryRelayStore({ name })
  stores.set(name, store)
  return store
}

await relayStoreConformance('[Y11] a relay store in memory', {
  create: storeOf,
  remove: async (name) => storeOf(name).flush(),
})
