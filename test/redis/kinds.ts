import {
  type RedisClient,
  redisCollectionSource,
  redisDatabase,
  redisKeysSource,
  redisStreamSource,
  redisWriter,
} from '../../adapters/redis/index.js'
import type { ListerWatcher, Version } from '../../src/index.js'
import type { RedisServer } from '../servers/redis.js'
import { userClient } from './drivers.js'
import type { Item } from './mirror.js'

export interface Kind {
  readonly name: string
  readonly hasMarks: boolean
  /** `heartbeatMs` is 500. */
  source(client: RedisClient, name: string, heartbeatMs?: number): ListerWatcher<Item>
  /** Without a value the key is deleted. Returns the mark of the write. */
  write(client: RedisClient, name: string, key: string, n: number | undefined): Promise<Version>
  keys(name: string): readonly string[]
  /** These values under the keys that a mirror shows. */
  shown(values: Readonly<Record<string, number>>, name: string): Readonly<Record<string, number>>
}

const times = { timeoutMs: 10_000 }
const HEARTBEAT_MS = 500

/** The forms that have a history. */
export const kinds: readonly Kind[] = [
  {
    name: 'a collection',
    hasMarks: true,
    shown: (values) => values,
    source: (client, name, heartbeatMs = HEARTBEAT_MS) =>
      redisCollectionSource<Item>({ client, collection: name, heartbeatMs, ...times }),
    write: async (client, name, key, n) => {
      await using writer = redisWriter<Item>({ client, collection: name })
      return await writer.apply([n === undefined ? { delete: key } : { put: key, object: { n } }])
    },
    keys: (name) => ['h', 's', 'm'].map((part) => `{${name}}:${part}`),
  },
  {
    name: 'a collection of a database',
    hasMarks: true,
    shown: (values) => values,
    source: (client, name, heartbeatMs = HEARTBEAT_MS) =>
      redisDatabase({ client, database: name, heartbeatMs, ...times }).collection<Item>('items'),
    write: async (client, name, key, n) => {
      await using database = redisDatabase({ client, database: name })
      const [items, others] = [database.collection<Item>('items'), database.collection<Item>('others')]
      return await database.commit((tx) => {
        tx.put(others, key, { n: -1 })
        if (n === undefined) tx.delete(items, key)
        else tx.put(items, key, { n })
      })
    },
    keys: (name) => ['h:items', 'h:others', 'log', 'meta'].map((part) => `{${name}}:${part}`),
  },
  {
    name: 'a stream',
    hasMarks: true,
    shown: (values) => values,
    source: (client, name, heartbeatMs = HEARTBEAT_MS) =>
      redisStreamSource<Item>({
        client,
        stream: name,
        heartbeatMs,
        decode: (fields) =>
          Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : { n: Number(n) } })),
        ...times,
      }),
    write: async (client, name, key, n) =>
      String(await client.call('XADD', name, '*', key, n === undefined ? '' : String(n))),
    keys: (name) => [name],
  },
]

/** The form without a history: plain keys, below `name/`. */
export const plainKeys: Kind = {
  name: 'plain keys',
  hasMarks: false,
  shown: (values, name) => Object.fromEntries(Object.entries(values).map(([key, n]) => [`${name}/${key}`, n])),
  source: (client, name, heartbeatMs = HEARTBEAT_MS) =>
    redisKeysSource<Item>({ client, prefix: `${name}/`, heartbeatMs, ...times }),
  write: async (client, name, key, n) => {
    await (n === undefined
      ? client.call('DEL', `${name}/${key}`)
      : client.call('SET', `${name}/${key}`, JSON.stringify({ n })))
    return ''
  },
  keys: (name) => [`${name}/`],
}

/** Writes to a server, past everything that stands before it. */
export async function write(kind: Kind, redis: RedisServer, name: string, key: string, n?: number): Promise<Version> {
  return await kind.write(redis.client(), name, key, n)
}

export function sourceAt(kind: Kind, name: string): (port: number) => ListerWatcher<Item> {
  return (port) => kind.source(userClient('ioredis 6', port), name)
}
