import { redisLeases, redisRelayStore } from '../../adapters/redis/index.js'
import type { Leases } from '../../src/contract/leases.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { addressOf } from './open-redis.js'

/** The store that the option --to names, and the leases of its relays. */
export interface OpenRelayStore {
  readonly store: RelayStore
  readonly replicas: Leases
  /** Closes the client of the user's driver. Stop the relay first. */
  close(): void
}

export interface RelayStoreFlags {
  readonly name: string
  readonly retention: number | undefined
}

/** Opens the store of a relay, with leases in the same engine. */
export async function openRelayStore(url: string, { name, retention }: RelayStoreFlags): Promise<OpenRelayStore> {
  if (/[{}]/.test(name)) throw new CliError('the name of the relay must be without { and }: choose another one by --as')
  if (!/^rediss?:\/\//i.test(url)) throw new CliError('--to must name an engine: redis://host:6379 (rediss://)')
  const { shown: _, ...address } = addressOf(url)
  const { Redis } = await loadPackage('ioredis', () => import('ioredis'), 'npm i ioredis')
  const client = new Redis({ ...address, lazyConnect: true })
  return {
    store: redisRelayStore({ client, name, ...(retention === undefined ? {} : { retention }) }),
    replicas: redisLeases({ client, group: `relay:${name}`, mode: 'leader' }),
    close: () => client.disconnect(),
  }
}
