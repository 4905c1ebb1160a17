import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { afterAll, describe, expect, test } from 'vitest'
import { crc16, slotOf } from '../../adapters/redis/connection/hash-slot.js'
import {
  redisCollectionSource,
  redisDatabase,
  redisKeysSource,
  redisStreamSource,
  redisWriter,
} from '../../adapters/redis/index.js'

const lazy = { lazyConnect: true } as const
const clients = {
  'Redis 6': new Redis(lazy),
  'Redis 5': new Redis5(lazy),
  'Cluster 6': new Cluster([{ port: 1 }], lazy),
  'Cluster 5': new Cluster5([{ port: 1 }], lazy),
}
const good = { client: clients['Redis 6'], collection: 'flags' }

afterAll(() => {
  for (const client of Object.values(clients)) client.disconnect()
})

type Wrong = readonly (readonly [what: string, options: object, says: string])[]

const both: Wrong = [
  ['no client', { collection: 'a' }, 'option "client" is missing; for example new Redis(url) of ioredis'],
  ['no name', { client: good.client }, 'option "collection" is missing'],
  ['an empty name', { ...good, collection: '' }, 'must be a string without { and }, not empty'],
  [
    'a name that would move its keys to other servers',
    { ...good, collection: 'a}b' },
    'must be a string without { and }, not empty',
  ],
  ['an invalid codec', { ...good, codec: 'yaml' }, 'must be one of "json", "string", "bytes"'],
  ['keys of no kind', { ...good, keys: 'hex' }, 'must be one of "string", "bytes"'],
  ['no shards', { ...good, shardCount: 0 }, 'must be a whole number of at least 1'],
  ['more shards than a cluster has slots', { ...good, shardCount: 16_385 }, 'must be at most 16384'],
  ['no time', { ...good, timeoutMs: 0 }, 'must be a finite number above 0'],
  ['a misspelt option', { ...good, nam: 'a' }, 'unknown option "nam"; allowed are client, collection'],
]

const stream = { client: good.client, stream: 'events', decode: () => undefined }
const streams: Wrong = [
  ['no stream', { ...stream, stream: undefined }, 'option "stream" is missing'],
  ['an empty stream', { ...stream, stream: '' }, 'must be a string that is not empty'],
  ['no decode', { ...stream, decode: undefined }, 'option "decode" is missing'],
  ['an invalid decode', { ...stream, decode: 'json' }, 'must be a function'],
  ['an invalid snapshot', { ...stream, snapshot: {} }, 'must be a function'],
  ['an invalid choice', { ...stream, whenTrimmed: 'ignore' }, 'must be one of "refuse", "fold"'],
  ['a wait without an end', { ...stream, heartbeatMs: 0 }, 'must be a whole number of at least 1'],
  ['a wait that Redis does not know', { ...stream, heartbeatMs: 0.5 }, 'must be a whole number of at least 1'],
  ['an invalid time', { ...stream, timeoutMs: Number.NaN }, 'must be a finite number above 0'],
  ['a misspelt option', { ...stream, name: 'a' }, 'unknown option "name"; allowed are client, stream'],
]

const keys = { client: good.client, prefix: 'user:' }
const plain: Wrong = [
  ['no prefix', { ...keys, prefix: undefined }, 'option "prefix" is missing'],
  ['an empty prefix', { ...keys, prefix: '' }, 'must be a string that is not empty'],
  ['an invalid codec', { ...keys, codec: 'yaml' }, 'must be one of "json", "string", "bytes"'],
  ['keys of no kind', { ...keys, keys: 'hex' }, 'must be one of "string", "bytes"'],
  ['a limit below one', { ...keys, maxKeys: -1 }, 'must be a whole number of at least 1'],
  ['a silence without an end', { ...keys, heartbeatMs: Number.POSITIVE_INFINITY }, 'must be a finite number above 0'],
  ['no time', { ...keys, timeoutMs: 0 }, 'must be a finite number above 0'],
  ['a misspelt option', { ...keys, pattern: '*' }, 'unknown option "pattern"; allowed are client, prefix'],
]

const kinds: readonly (readonly [kind: string, make: (options: never) => unknown, wrong: Wrong])[] = [
  [
    'a collection',
    redisCollectionSource,
    [...both, ['a wait without an end', { ...good, heartbeatMs: 0 }, 'must be a whole number of at least 1']],
  ],
  ['a stream', redisStreamSource, streams],
  ['plain keys', redisKeysSource, plain],
  [
    'a database',
    redisDatabase,
    [
      ['no name', { client: good.client }, 'option "database" is missing'],
      [
        'a name with a hash tag',
        { client: good.client, database: '{a}' },
        'must be a string without { and }, not empty',
      ],
      ['no end of the history', { client: good.client, database: 'a', holdMs: -1 }, 'option "holdMs"'],
    ],
  ],
  [
    'a writer',
    redisWriter,
    [...both, ['no history', { ...good, retention: 0 }, 'must be a whole number of at least 1']],
  ],
]

describe.each(kinds)(
  'options of %s that make no sense are refused at the call, with what is allowed',
  (_, make, wrong) => {
    test.each(wrong)('%s', (_what, options, says) => {
      const call = (): unknown => make(options as never)
      expect(call).toThrow(TypeError)
      expect(call).toThrow(says)
    })
  },
)

describe('invalid changes of a writer are refused at the call, and the error names the allowed ones', () => {
  const writer = redisWriter(good)
  const changes: readonly (readonly [what: string, changes: unknown, options: object, says: string])[] = [
    ['invalid changes', { put: 'a', object: 1 }, {}, 'the changes must be an array'],
    [
      'a change of nothing',
      [{}],
      {},
      'changes[0] must be { put: key, object } or { delete: key } with a string as its key, got {}',
    ],
    ['a put without an object', [{ delete: 'b' }, { put: 'a' }], {}, 'changes[1] must be { put: key, object }'],
    [
      'a put and a delete in one',
      [{ put: 'a', object: 1, delete: 'a' }],
      {},
      'got { put: string, object: number, delete: string }',
    ],
    ['a key that is a number', [{ delete: 7 }], {}, 'with a string as its key, got { delete: number }'],
    ['no object', [null], {}, 'got null'],
    ['a large object', [Object.fromEntries('abcdef'.split('').map((name) => [name, []]))], {}, 'd: array, … }'],
    ['an invalid version', [], { ifVersion: '7' }, 'option "ifVersion" must be a version of apply'],
    ['a misspelt option', [], { ifversion: '7' }, 'unknown option "ifversion"; allowed are ifVersion'],
  ]
  test.each(changes)('%s', async (_what, wrong, options, says) => {
    const call = writer.apply(wrong as [], options)
    await expect(call).rejects.toThrow(TypeError)
    await expect(call).rejects.toThrow(says)
  })
})

test('a database refuses wrong names, options, sources and writes, at the call', async () => {
  const shop = redisDatabase({ client: good.client, database: 'shop' })
  await expect(shop.commit(() => {})).rejects.toThrow('the database has no collection')
  const orders = shop.collection<number>('orders')
  const wrong: readonly (readonly [call: () => unknown, says: string])[] = [
    [() => shop.collection('a/b'), 'must be a well-formed string without "/", got "a/b"'],
    [() => shop.collection('orders'), 'there is a collection "orders" already'],
    [() => shop.collection('a', { codec: 'yaml' as 'json' }), 'must be one of "json", "string", "bytes"'],
    [() => shop.collection('a', { codec: { decode: () => 1 } as never }), 'option "codec"'],
  ]
  for (const [call, says] of wrong) expect(call).toThrow(says)
  const source = redisDatabase({ client: good.client, database: 'shop' }).collection<number>('orders')
  const commits: readonly (readonly [fn: Parameters<typeof shop.commit>[0], says: string])[] = [
    [(tx) => tx.put(source, 'a', 1), 'the source "redis:shop:orders" is not a source that redis:shop.collection()'],
    [async (tx) => tx.put(orders, 'a', 1), 'commit: the function returned a promise'],
    [(tx) => Array.from({ length: 3_501 }, (_, n) => tx.delete(orders, String(n))), 'commit: 3501 writes'],
    [(tx) => tx.put(orders, '\ud800', 1), 'unpaired surrogate'],
  ]
  for (const [fn, says] of commits) await expect(shop.commit(fn)).rejects.toThrow(says)
  await expect(shop.commit(() => {}, { ifVersion: '7' })).rejects.toThrow('must be a version of apply')
})

test.each(Object.entries(clients))('a %s is a client', (_what, client) => {
  expect(redisCollectionSource({ client, collection: 'flags' }).name).toBe('redis:flags')
})

describe('shards', () => {
  test('are sources with names of their own', () => {
    const sources = redisCollectionSource({ ...good, shardCount: 3 })
    expect(Object.entries(sources).map(([name, source]) => [name, source.name])).toEqual([
      ['0', 'redis:flags/0'],
      ['1', 'redis:flags/1'],
      ['2', 'redis:flags/2'],
    ])
  })

  test('accept changes only if one of them has all keys', async () => {
    const writer = redisWriter({ ...good, shardCount: 16 })
    const other =
      Array.from({ length: 100 }, (_, n) => `k${n}`).find((key) => writer.shardOf(key) !== writer.shardOf('a')) ?? ''
    await expect(writer.apply([{ delete: 'a' }, { delete: other }])).rejects.toThrow('the keys belong to 2 shards')
    await expect(writer.apply([])).rejects.toThrow('writer.shards.get("0")')
  })
})

describe('the slot of a key', () => {
  test('is what the specification of clusters says', () => {
    expect(crc16(Buffer.from('123456789'))).toBe(0x31c3)
  })

  test.each([
    ['{user1000}.following', 'user1000'],
    ['foo{{bar}}zap', '{bar'],
    ['foo{bar}{zap}', 'bar'],
    ['foo{}{bar}', 'foo{}{bar}'],
    ['foo', 'foo'],
  ])('%s is in the slot of %s', (key, decisive) => {
    expect(slotOf(key)).toBe(crc16(Buffer.from(decisive)) % 16_384)
  })
})
