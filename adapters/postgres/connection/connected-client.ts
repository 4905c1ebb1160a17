import { propertiesOf } from '../../common/properties.js'

/**
 * Throws a TypeError for a value that is not a connected client: pg keeps the queries of a client without a connection
 * in its queue, and they never end. `isMigration`: a pool is refused too.
 */
export function assertConnected(call: string, client: unknown, isMigration = false): void {
  const flaw = flawOf(client, isMigration)
  if (flaw !== undefined) throw new TypeError(`${call}: the first argument must be a connected client of pg: ${flaw}`)
}

function flawOf(client: unknown, isMigration: boolean): string | undefined {
  const { query, _connecting: isConnecting, _connected: isConnected } = propertiesOf(client)
  if (typeof query !== 'function') return 'it has no method "query"'
  if (isConnecting === false && isConnected === false) return 'call its method "connect" first'
  // After an error, ROLLBACK would go to another session of the pool.
  if (isMigration && isPool(client)) return 'a Pool has several sessions; use a client of pool.connect()'
  return undefined
}

/** Whether a value is a Pool of pg: each query of it may use another connection. */
export function isPool(value: unknown): boolean {
  return propertiesOf(value)['totalCount'] !== undefined
}
