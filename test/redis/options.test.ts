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

type Wrong = readonly (readonly [says: string, options: object])[]

const both: Wrong = [
  ['option "client" is missing; for example new Redis(url) of ioredis', { collection: 'a' }],
  ['option "collection" is missing', { client: good.client }],
  ['must be a string without { and }, not empty', { ...good, collection: '' }],
  ['must be a string without { and }, not empty', { ...good, collection: 'a}b' }],
  ['must be one of "json", "string", "bytes"', { ...good, codec: 'yaml' }],
  ['must be one of "string", "bytes"', { ...good, keys: 'hex' }],
  ['must be a whole number of at least 1', { ...good, shardCount: 0 }],
  ['must be at most 16384', { ...good, shardCount: 16_385 }],
  ['must be a finite number above 0', { ...good, timeoutMs: 0 }],
  ['unknown option "nam"; allowed are client, collection', { ...good, nam: 'a' }],
]

const stream = { client: good.client, stream: 'events', decode: () => undefined }
const streams: Wrong = [
  ['option "stream" is missing', { ...stream, stream: undefined }],
  ['must be a string that is not empty', { ...stream, stream: '' }],
  ['option "decode" is missing', { ...stream, decode: undefined }],
  ['must be a function', { ...stream, decode: 'json' }],
  ['must be a function', { ...stream, snapshot: {} }],
  ['must be one of "refuse", "fold"', { ...stream, whenTrimmed: 'ignore' }],
  ['must be a whole number of at least 1', { ...stream, heartbeatMs: 0 }],
  ['must be a whole number of at least 1', { ...stream, heartbeatMs: 0.5 }],
  ['must be a finite number above 0', { ...stream, timeoutMs: Number.NaN }],
  ['unknown option "name"; allowed are client, stream', { ...stream, name: 'a' }],
]

const keys = { client: good.client, prefix: 'user:' }
const plain: Wrong = [
  ['option "prefix" is missing', { ...keys, prefix: undefined }],
  ['must be a string that is not empty', { ...keys, prefix: '' }],
  ['must be one of "json", "string", "bytes"', { ...keys, codec: 'yaml' }],
  ['must be one of "string", "bytes"', { ...keys, keys: 'hex' }],
  ['must be a whole number of at least 1', { ...keys, maxKeys: -1 }],
  ['must be a finite number above 0', { ...keys, heartbeatMs: Number.POSITIVE_INFINITY }],
  ['must be a finite number above 0', { ...keys, timeoutMs: 0 }],
  ['unknown option "pattern"; allowed are client, prefix', { ...keys, pattern: '*' }],
]

const kinds: readonly (readonly [kind: string, make: (options: never) => unknown, wrong: Wrong])[] = [
  [
    'a collection',
    redisCollectionSource,
    [...both, ['must be a whole number of at least 1', { ...good, heartbeatMs: 0 }]],
  ],
  ['a stream', redisStreamSource, streams],
  ['plain keys', redisKeysSource, plain],
  [
    'a database',
    redisDatabase,
    [
      ['option "database" is missing', { client: good.client }],
      ['must be a string without { and }, not empty', { client: good.client, database: '{a}' }],
      ['option "holdMs"', { client: good.client, database: 'a', holdMs: -1 }],
    ],
  ],
  ['a writer', redisWriter, [...both, ['must be a whole number of at least 1', { ...good, retention: 0 }]]],
]

describe.each(kinds)(
  'options of %s that make no sense are refused at the call, with what is allowed',
  (_, make, wrong) => {
    test.each(wrong)('%s', (says, options) => {
      const call = (): unknown => make(options as never)
      expect(call).toThrow(TypeError)
      expect(call).toThrow(says)
    })
  },
)

describe('invalid changes of a writer are refused at the call, and the error names the allowed ones', () => {
  const writer = redisWriter(good)
  const changes: readonly (readonly [says: string, changes: unknown, options: object])[] = [
    ['the changes must be an array', { put: 'a', object: 1 }, {}],
    ['changes[0] must be { put: key, object } or { delete: key } with a string as its key, got {}', [{}], {}],
    ['changes[1] must be { put: key, object }', [{ delete: 'b' }, { put: 'a' }], {}],
    ['got { put: string, object: number, delete: string }', [{ put: 'a', object: 1, delete: 'a' }], {}],
    ['with a string as its key, got { delete: number }', [{ delete: 7 }], {}],
    ['got null', [null], {}],
    ['d: array, … }', [Object.fromEntries('abcdef'.split('').map((name) => [name, []]))], {}],
    ['option "ifVersion" must be a version of apply', [], { ifVersion: '7' }],
    ['unknown option "ifversion"; allowed are ifVersion', [], { ifversion: '7' }],
  ]
  test.each(changes)('%s', async (says, wrong, options) => {
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

test('shards are sources with names of their own', () => {
  const sources = redisCollectionSource({ ...good, shardCount: 3 })
  expect(Object.entries(sources).map(([name, source]) => [name, source.name])).toEqual([
    ['0', 'redis:flags/0'],
    ['1', 'redis:flags/1'],
    ['2', 'redis:flags/2'],
  ])
})

test('shards accept changes only if one of them has all keys', async () => {
  const writer = redisWriter({ ...good, shardCount: 16 })
  const other =
    Array.from({ length: 100 }, (_, n) => `k${n}`).find((key) => writer.shardOf(key) !== writer.shardOf('a')) ?? ''
  await expect(writer.apply([{ delete: 'a' }, { delete: other }])).rejects.toThrow('the keys belong to 2 shards')
  await expect(writer.apply([])).rejects.toThrow('writer.shards.get("0")')
})

test('the slot of a key is what the specification of clusters says', () => {
  expect(crc16(Buffer.from('123456789'))).toBe(0x31c3)
})

test.each([
  ['{user1000}.following', 'user1000'],
  ['foo{{bar}}zap', '{bar'],
  ['foo{bar}{zap}', 'bar'],
  ['foo{}{bar}', 'foo{}{bar}'],
  ['foo', 'foo'],
])('the slot of a key %s is in the slot of %s', (key, decisive) => {
  expect(slotOf(key)).toBe(crc16(Buffer.from(decisive)) % 16_384)
})
