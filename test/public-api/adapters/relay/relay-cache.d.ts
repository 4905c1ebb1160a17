import type { MirrorCache, SavedMirror } from '../../src/contract/mirror-cache.js';
import type { RelayStore } from '../../src/contract/relay-store.js';
/**
 * Returns a cache that restores a mirror from the store of its relay: the relay resumes the watch of the upstream at
 * the version that the store has. It saves nothing itself, because `publish` writes the store.
 *
 * @returns The cache, for the option `cache` of `createInformer`.
 * @throws OptionError if it is not a relay store.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { publish, relayCache } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * const orders = createInformer({ source, cache: relayCache(store) })
 * publish(orders, store)
 * orders.start()
 * ```
 */
export declare function relayCache(store: RelayStore): MirrorCache;
/**
 * Aborts when the content of the store must be deleted, because access to the source was lost before the relay had any.
 */
export declare function discarding(store: RelayStore): AbortController;
/** The next relay of this store has a mirror of its own. */
export declare function forgetDiscard(store: RelayStore): void;
/**
 * The invalid objects of content that was that of the store, with the reasons. Undefined for other content, and if the
 * store was written since. `now`: the last write of the store.
 */
export declare function invalidOf(saved: SavedMirror | undefined, store: RelayStore, now: {
    readonly writer: string;
    readonly write: number;
} | undefined): ReadonlyMap<string, string> | undefined;
