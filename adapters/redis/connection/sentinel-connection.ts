import type { RedisConnection } from './client.js'

/** A connection to a Sentinel, which the driver makes to ask who is master. */
export type SentinelConnection = Pick<RedisConnection, 'disconnect' | 'stream'>

/**
 * Tells of each connection to a Sentinel that `connection` makes: the driver has no other way to end one that is silent before its own
 * deadline. Says nothing where there is no Sentinel, or where the driver has become another.
 */
export function onSentinel(connection: RedisConnection, told: (asked: SentinelConnection) => void): void {
  const { connector } = connection as { readonly connector?: unknown }
  const { connectToSentinel } = Object(connector) as { readonly connectToSentinel?: unknown }
  if (typeof connectToSentinel !== 'function') return
  const connect = (...args: unknown[]): unknown => {
    const asked: unknown = connectToSentinel.apply(connector, args)
    if (isConnection(asked)) told(asked)
    return asked
  }
  Object.assign(Object(connector), { connectToSentinel: connect })
}

function isConnection(value: unknown): value is SentinelConnection {
  return typeof (Object(value) as { readonly disconnect?: unknown }).disconnect === 'function'
}
