/**
 * A source over a key-value bucket of NATS JetStream, leases of replicas, and the store of a relay.
 *
 * @module listwatch/nats
 */

export type { LeaseOptions } from '../common/lease-options.js'
export type { NatsClient, NatsMessage } from './connection/nats-client.js'
export { type NatsLeasesOptions, natsLeases } from './leases/nats-leases.js'
export type { NatsCodec, NatsKvSource, NatsKvSourceOptions } from './nats-options.js'
export { natsKvSource } from './nats-source.js'
export { type NatsRelayStoreOptions, natsRelayStore } from './relay-store.js'
