import {
  type RedisClient,
  redisCollectionSource,
  redisKeysSource,
  redisStreamSource,
  redisWriter,
} from '../../adapters/redis/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Item, Mirror } from './mirror.js'

/** For a mirror, whose time runs five times as fast, this is 2 s. */
const TIMES = { heartbeatMs: 500, timeoutMs: 10_000 }

export interface Padded extends Item {
  readonly pad: string
}

/** A form of the source, with values as large as a test needs. */
export interface Form {
  readonly name: string
  /** Of one value, in bytes: it takes longer to arrive than an informer waits for a page. */
  readonly large: number
  source(client: RedisClient, name: string): ListerWatcher<Item>
  write(client: RedisClient, name: string, key: string, value: Padded): Promise<unknown>
}

export const forms: readonly Form[] = [
  {
    name: 'a collection',
    large: 8_000_000,
    source: (client, name) => redisCollectionSource<Item>({ client, collection: name, ...TIMES }),
    write: async (client, name, put, object) => {
      await using writer = redisWriter<Padded>({ client, collection: name, timeoutMs: 30_000 })
      return await writer.apply([{ put, object }])
    },
  },
  {
    name: 'a stream',
    large: 2_500_000, // An answer has up to four entries: the first and the newest one, too.
    source: (client, stream) =>
      redisStreamSource<Item>({
        client,
        stream,
        decode: (fields) => ({ key: fields.get('key') ?? '', object: { n: Number(fields.get('n')) } }),
        ...TIMES,
      }),
    write: (client, name, key, { n, pad }) => client.call('XADD', name, '*', 'key', key, 'n', String(n), 'pad', pad),
  },
  {
    name: 'plain keys',
    large: 8_000_000,
    source: (client, name) =>
      redisKeysSource<Item>({
        client,
        prefix: `${name}/`,
        codec: (value) => JSON.parse(String(value)) as Item,
        ...TIMES,
      }),
    write: (client, name, key, value) => client.call('SET', `${name}/${key}`, JSON.stringify(value)),
  },
]

/** Whether a mirror shows `count` values, all of which are this one. */
export function showsAll({ delivered: { objects } }: Mirror, count: number, n: number): boolean {
  return objects.size === count && [...objects.values()].every((object) => object.n === n)
}
