/**
 * A relay writes a mirror to an engine with `publish`; other processes follow it with `relaySource`.
 *
 * @module listwatch/relay
 */

export type { UpstreamVersions } from '../shared/upstream-versions.js'
export { publish } from './publish.js'
export { relayCache } from './relay-cache.js'
export { type RelaySource, type RelaySourceOptions, relaySource } from './relay-source.js'
export type { PublishOptions, Relay, RelayState, RelayStatus } from './relay-types.js'
