import type { RelayStore } from '../../src/contract/relay-store.js';
import type { ListerWatcher, SourceContext } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type UpstreamVersions } from '../shared/upstream-versions.js';
/**
 * The options of `relaySource`.
 *
 * @example
 * ```ts
 * import { natsRelayStore } from 'listwatch/nats'
 * import { relaySource } from 'listwatch/relay'
 *
 * const store = natsRelayStore({ connection, name: 'orders' })
 * const follower = createInformer({ source: relaySource<Order>({ store, upstream: source }) })
 * await follower.start().synced()
 * await follower.waitFor(mark) // A mark of the upstream, which is Postgres here.
 * ```
 */
export interface RelaySourceOptions {
    /** The store that a relay writes. */
    readonly store: RelayStore;
    /**
     * Compares versions of the upstream source; its source object fits, also if it never connects. With it, marks of the
     * writers of the upstream can be waited for. Default: only versions of followers can be compared.
     */
    readonly upstream?: UpstreamVersions;
}
/**
 * The source that `relaySource` returns.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { publish, relaySource } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * await publish(orders, store).synced()
 * const follower = createInformer({ source: relaySource<Order>({ store }) })
 * await follower.start().synced()
 * await follower.fresh({ timeoutMs: 5_000 }) // Includes every write of the relay before this call.
 * ```
 */
export interface RelaySource<T> extends ListerWatcher<T> {
    /** Returns the version of the store, which includes every write of the relay before the call. */
    head(context: SourceContext): Promise<Version>;
    /** Returns whether `at` includes everything up to `mark`. */
    hasReached(at: Version, mark: Version): boolean;
    /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
    isLaterEpoch(at: Version, mark: Version): boolean;
}
/**
 * Returns a source that follows a mirror which `publish` of another process writes to an engine. Its versions contain
 * those of the upstream source.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import pg from 'pg'
 * import { postgresSource } from 'listwatch/postgres'
 * import { redisRelayStore } from 'listwatch/redis'
 * import { relaySource } from 'listwatch/relay'
 *
 * const store = redisRelayStore({ client: new Redis(url, { lazyConnect: true }), name: 'orders' })
 * const upstream = postgresSource<Order>({ client: () => new pg.Client(), table: 'orders' })
 * const orders = createInformer({ source: relaySource<Order>({ store, upstream }) })
 * ```
 */
export declare function relaySource<T>(options: RelaySourceOptions): RelaySource<T>;
