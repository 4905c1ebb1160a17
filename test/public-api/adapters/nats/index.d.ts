export { type NatsLeasesOptions, natsLeases } from './leases/nats-leases.js';
export type { NatsClient, NatsMessage } from './nats-client.js';
export type { NatsCodec, NatsKvOptions, NatsKvSource } from './nats-options.js';
export { natsKvSource } from './nats-source.js';
export { type NatsRelayStoreOptions, natsRelayStore } from './relay-store.js';
