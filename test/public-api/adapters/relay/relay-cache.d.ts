import type { MirrorCache } from '../../src/contract/mirror-cache.js';
import type { RelayStore } from '../../src/contract/relay-store.js';
/**
 * Returns a cache that restores a mirror from the store of its relay: the relay resumes the watch of the upstream at the version that
 * the store has. It saves nothing itself, because `publish` writes the store.
 *
 * @throws OptionError if it is not a relay store.
 *
 * @example
 * ```ts
 * import { publish, relayCache } from 'listwatch/relay'
 *
 * const orders = createInformer({ source, cache: relayCache(store) })
 * publish(orders, store)
 * orders.start()
 * ```
 */
export declare function relayCache(store: RelayStore): MirrorCache;
