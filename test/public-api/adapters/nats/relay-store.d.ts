import { type RelayStore } from '../../src/contract/relay-store.js';
import type { NatsClient } from './nats-client.js';
/**
 * The options of `natsRelayStore`.
 *
 * @example
 * ```ts
 * import { natsRelayStore } from 'listwatch/nats'
 * import { publish } from 'listwatch/relay'
 *
 * // The bucket `relay-orders` is created on three servers. Default: on one.
 * const store = natsRelayStore({ connection, name: 'orders', replicas: 3, timeoutMs: 5_000 }) // Default: 10 000.
 * const relay = publish(orders, store)
 * ```
 */
export interface NatsRelayStoreOptions {
    /** A `NatsConnection` of the package @nats-io/transport-node 3.x. The store never closes it. */
    readonly connection: NatsClient;
    /** The name of the relay: letters, digits, "-" and "_". Its bucket is `relay-<name>`, which the store creates. */
    readonly name: string;
    /** How many servers of a cluster keep the bucket, when the store creates it. Default 1; 3 for a cluster of three. */
    readonly replicas?: number;
    /** The JetStream domain of the bucket. Default: that of the connection. */
    readonly domain?: string;
    /** The longest silence of a healthy watch, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /** A request without a response counts as lost after this many milliseconds. Default 10 000. */
    readonly timeoutMs?: number;
}
/**
 * Returns the store of a relay in NATS JetStream 2.12 or later: a bucket. Each write is one atomic batch of messages,
 * which followers receive as a whole. It is created on first use.
 * @returns The store, for `publish`, `relaySource` and `relayCache`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node'
 * import { natsRelayStore } from 'listwatch/nats'
 * import { publish } from 'listwatch/relay'
 *
 * const connection = await connect({ servers: 'nats-0:4222', maxReconnectAttempts: -1 })
 * publish(orders, natsRelayStore({ connection, name: 'orders', replicas: 3 }))
 * ```
 */
export declare function natsRelayStore(options: NatsRelayStoreOptions): RelayStore;
