import { type RedisClient, redisCollection, redisStream, redisWriter } from '../../adapters/redis/index.js'
import type { ListerWatcher } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import type { RedisServer } from '../servers/redis.js'
import { userClient } from './drivers.js'
import type { Item } from './mirror.js'

/** A form of the source that has a history, and how it is written to. */
export interface Kind {
  readonly name: 'a collection' | 'a stream'
  /** `blockMs` is 500. */
  source(client: RedisClient, name: string, blockMs?: number): ListerWatcher<Item>
  /** Without a value the key is deleted. Gives the mark to wait for. */
  write(client: RedisClient, name: string, key: string, n: number | undefined): Promise<Version>
  /** The keys that it lies under. */
  keys(name: string): readonly string[]
}

const times = { timeoutMs: 10_000 }
const BLOCK_MS = 500

export const kinds: readonly Kind[] = [
  {
    name: 'a collection',
    source: (client, name, blockMs = BLOCK_MS) => redisCollection<Item>({ client, name, blockMs, ...times }),
    write: async (client, name, key, n) => {
      await using writer = redisWriter<Item>({ client, name })
      return await writer.apply([n === undefined ? { delete: key } : { put: key, object: { n } }])
    },
    keys: (name) => ['h', 's', 'm'].map((part) => `{${name}}:${part}`),
  },
  {
    name: 'a stream',
    source: (client, name, blockMs = BLOCK_MS) =>
      redisStream<Item>({
        client,
        stream: name,
        blockMs,
        decode: (fields) =>
          Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : { n: Number(n) } })),
        ...times,
      }),
    write: async (client, name, key, n) =>
      String(await client.call('XADD', name, '*', key, n === undefined ? '' : String(n))),
    keys: (name) => [name],
  },
]

/** Writes to a server, past everything that stands before it. */
export async function write(kind: Kind, redis: RedisServer, name: string, key: string, n?: number): Promise<Version> {
  return await kind.write(redis.client(), name, key, n)
}

export function sourceAt(kind: Kind, name: string): (port: number) => ListerWatcher<Item> {
  return (port) => kind.source(userClient('ioredis 6', port), name)
}
