/**
 * A relay writes a mirror to an engine with `serveRelay`; other processes follow it with `relaySource`.
 *
 * @module listwatch/relay
 */

export type { UpstreamVersions } from '../../adapters/common/upstream-versions.js'
export { relayCache } from './relay-cache.js'
export { type RelaySource, type RelaySourceOptions, relaySource } from './relay-source.js'
export type { RelayServing, RelayState, RelayStatus, ServeRelayOptions } from './relay-types.js'
export { serveRelay } from './serve-relay.js'
