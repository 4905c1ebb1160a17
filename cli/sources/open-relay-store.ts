import { natsLeases, natsRelayStore } from '../../adapters/nats/index.js'
import { redisLeases, redisRelayStore } from '../../adapters/redis/index.js'
import type { Leases } from '../../src/contract/leases.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { assertRelayName, closeNats, connectNats } from './open-nats.js'
import { addressOf } from './open-redis.js'

/** The store that the option --to names, and the leases of its relays. */
export interface OpenRelayStore {
  readonly store: RelayStore
  readonly leases: Leases
  /** Closes the client of the user's driver. Stop the relay first. */
  close(): void
}

export interface RelayStoreFlags {
  readonly name: string
  readonly retention: number | undefined
}

/** Opens the store of a relay, with leases in the same engine. */
export async function openRelayStore(url: string, flags: RelayStoreFlags): Promise<OpenRelayStore> {
  if (/^(nats|tls):\/\//i.test(url)) return await openNatsStore(url, flags)
  if (/^rediss?:\/\//i.test(url)) return await openRedisStore(url, flags)
  throw new CliError('--to must name an engine: redis://host:6379 (rediss://) or nats://host:4222 (tls://)')
}

async function openNatsStore(url: string, { name, retention }: RelayStoreFlags): Promise<OpenRelayStore> {
  if (retention !== undefined)
    throw new CliError('--retention is an option of Redis: NATS keeps delete markers for one hour')
  assertRelayName(name, '--as')
  const { connection } = await connectNats(url)
  return {
    store: natsRelayStore({ client: connection, relay: name }),
    leases: natsLeases({ client: connection, group: `relay:${name}`, mode: 'leader' }),
    close: () => closeNats(connection),
  }
}

async function openRedisStore(url: string, { name, retention }: RelayStoreFlags): Promise<OpenRelayStore> {
  if (/[{}]/.test(name)) throw new CliError('the name of the relay must be without { and }: choose another one by --as')
  const { shown: _, ...address } = addressOf(url)
  const { Redis } = await loadPackage('ioredis', () => import('ioredis'), 'npm i ioredis')
  const client = new Redis({ ...address, lazyConnect: true })
  return {
    store: redisRelayStore({ client, relay: name, ...(retention === undefined ? {} : { retention }) }),
    leases: redisLeases({ client, group: `relay:${encodeURIComponent(name)}`, mode: 'leader' }),
    close: () => client.disconnect(),
  }
}
