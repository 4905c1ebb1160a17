import { memoryRelayStore } from '../../../adapters/memory/index.js'
import { describeListerWatcher } from '../../../testing/index.js'
import { relayHarness } from './relay-harness.js'

await describeListerWatcher(
  'a relay behind a store in memory',
  relayHarness(
    async () => {
      const store = memoryRelayStore()
      return {
        written: store,
        read: store,
        compact: () => store.collection.compact(),
        disconnect: () => store.collection.disconnect(),
        dispose: async () => {},
      }
    },
    { connections: 'it opens nothing', ownHeap: 'the history of the store is in this process' },
  ),
)
