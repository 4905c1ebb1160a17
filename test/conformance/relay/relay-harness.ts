import { relaySource, serveRelay } from '../../../serving/relay/index.js'
import type { RelayStore } from '../../../src/contract/relay-store.js'
import { createInformer } from '../../../src/index.js'
import type { ConformanceOptions, ListerWatcherHarness } from '../../../testing/index.js'
import { type Item, memorySubject } from '../memory-harness.js'

/** The stores of one collection: of the relay, and of the follower. */
export interface RelayStores {
  readonly written: RelayStore
  readonly read: RelayStore
  /** Removes the history of the collection. */
  compact?(): Promise<void> | void
  disconnect(): void
  connections?(): number
  dispose(): Promise<void>
}

/** A memory source, a relay that publishes its mirror, and a follower behind the engine. */
export function relayHarness(
  storesOf: (options: ConformanceOptions) => Promise<RelayStores>,
  unsupported: ListerWatcherHarness<Item>['unsupported'] = {},
): ListerWatcherHarness<Item> {
  return {
    unsupported: {
      versions: 'a follower lists objects',
      progressRequests: 'a relay passes on each version of its mirror at once',
      ...unsupported,
    },
    async create(options) {
      const upstream = memorySubject(options, () => settled())
      const stores = await storesOf(options)
      const informer = createInformer({ source: upstream.memory, onInvalid: 'omit' })
      const relay = serveRelay(informer, stores.written)
      await informer.start().synced()
      await relay.synced()
      const source = relaySource<Item>({ store: stores.read, upstream: upstream.memory })
      const { compact, connections } = stores
      return {
        source,
        read: ({ value }) => value,
        write: upstream.write,
        ...(upstream.begin && { begin: upstream.begin }),
        corrupt: async (key) => {
          await upstream.corrupt?.(key)
          await settled()
        },
        disconnect: () => stores.disconnect(),
        async restore() {
          await upstream.restore?.()
          await informer.fresh({ timeoutMs: 10_000 })
          await settled()
        },
        ...(compact && {
          async compact() {
            await settled()
            await compact()
          },
        }),
        ...(connections && { connections }),
        async dispose() {
          await relay.stop()
          await informer.stop()
          await stores.dispose()
        },
      }

      /** Resolves when the store has what the mirror has. */
      async function settled(): Promise<void> {
        await informer.waitFor(await upstream.memory.head(), { timeoutMs: 10_000 })
        for (;;) {
          const { version, backlog } = relay.status
          if (version === informer.version && backlog.keys === 0) return
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }
    },
  }
}
