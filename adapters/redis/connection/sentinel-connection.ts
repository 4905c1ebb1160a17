import { hasMethods, propertiesOf } from '../../shared/properties.js'
import type { RedisConnection } from './client.js'

/** A connection of the driver to a Sentinel, to find the master. */
export type SentinelConnection = Pick<RedisConnection, 'disconnect' | 'stream'>

/**
 * Calls `listener` with each connection to a Sentinel that `connection` opens. The driver has no other way to close a
 * silent one early. The listener is not called if the client has no Sentinels, or if the driver's internals differ.
 */
export function onSentinel(connection: RedisConnection, listener: (sentinel: SentinelConnection) => void): void {
  const { connector } = propertiesOf(connection)
  const { connectToSentinel } = propertiesOf(connector)
  if (typeof connectToSentinel !== 'function') return
  const connect = (...args: unknown[]): unknown => {
    const sentinel: unknown = connectToSentinel.apply(connector, args)
    if (isConnection(sentinel)) listener(sentinel)
    return sentinel
  }
  Object.assign(Object(connector), { connectToSentinel: connect })
}

function isConnection(value: unknown): value is SentinelConnection {
  return hasMethods(value, 'disconnect')
}
