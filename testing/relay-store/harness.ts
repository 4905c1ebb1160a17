import type { RelayStore } from '../../src/contract/relay-store.js'

/**
 * How the cases of `relayStoreConformance` create a relay store.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisRelayStore } from 'listwatch/redis'
 * import { type RelayStoreHarness, relayStoreConformance } from 'listwatch/testing'
 *
 * const client = new Redis(url)
 * const stores: RelayStoreHarness = {
 *   create: (name) => redisRelayStore({ client, relay: name }),
 *   remove: async (name) => void (await client.del(['h', 's', 'm'].map((each) => `{relay:${name}}:${each}`))),
 * }
 * await relayStoreConformance('relay stores of Redis', stores)
 * ```
 */
export interface RelayStoreHarness {
  /**
   * Returns the store of a collection. Each call returns another object, as another process has it. Stores of one name
   * share their collection; a new name has none.
   */
  create(name: string): RelayStore | Promise<RelayStore>
  /** Removes a collection from the engine, as an administrator would. */
  remove(name: string): Promise<void>
  /** The timeout of each wait in a case, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number
}
