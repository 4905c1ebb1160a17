import type { RelayStore } from '../../src/contract/relay-store.js';
import type { Informer } from '../../src/informer/informer-types.js';
import type { PublishOptions, Relay } from './relay-types.js';
/**
 * Publishes the mirror of an informer to an engine. Any number of followers read it there with `relaySource`. Each
 * batch is written as a whole, together with its version, so that another process can continue after a crash at any
 * moment.
 *
 * Call it before `informer.start()`, and pass `relayCache(store)` as the informer's `cache`: then a relay that starts
 * again resumes from the store, and lists neither the source nor the store.
 *
 * @returns The relay, which writes until it is stopped.
 * @throws OptionError for a wrong option, for an informer of several sources, and for a source of secrets without
 * `secrets: true`.
 * @throws SourceError STOPPED if the informer was stopped.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases, redisRelayStore } from 'listwatch/redis'
 * import { publish, relayCache } from 'listwatch/relay'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const store = redisRelayStore({ client, name: 'orders' })
 * const orders = createInformer({ source, cache: relayCache(store) })
 * const replicas = redisLeases({ client, group: 'relay:orders', mode: 'leader' })
 * const relay = publish(orders, store, { replicas })
 * orders.start()
 * process.once('SIGINT', async () => {
 *   await relay.stop({ drainMs: 5_000 })
 *   await orders.stop()
 * })
 * ```
 */
export declare function publish<T, I>(informer: Informer<T, I>, store: RelayStore, options?: PublishOptions): Relay;
