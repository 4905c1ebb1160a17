import { expect, test } from 'vitest'
import { redisKeysSource } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { type Item, Mirror } from './mirror.js'
import { useRedis } from './support.js'

let prefixes = 0

/** A mirror of the keys under a prefix of their own. */
async function keysOf(redis: RedisServer, options: { readonly maxKeys?: number } = {}) {
  const prefix = `keys-${++prefixes}:`
  const mirror = await Mirror.open(redis, (port) =>
    redisKeysSource<Item>({ client: userClient('ioredis 6', port), prefix, heartbeatMs: 500, ...options }),
  )
  const shows = (wanted: Readonly<Record<string, number>>): Promise<void> =>
    mirror.shows(Object.fromEntries(Object.entries(wanted).map(([key, n]) => [prefix + key, n])))
  return { prefix, mirror, shows }
}

const item = (n: number): string => JSON.stringify({ n })

/** A watch of the keys that begin with `a`, which has read all of them. */
async function watched(redis: RedisServer) {
  const source = redisKeysSource({ client: userClient('ioredis 6', redis.port), prefix: 'a', heartbeatMs: 100 })
  const { version } = await listed(source)
  const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
  await watch.next()
  return watch
}

describeRedis('plain keys', (server) => {
  const own = useRedis(server)

  test.concurrent('are delivered after each kind of write, delete, rename and expiry', async () => {
    const { prefix, mirror, shows } = await keysOf(own.redis)
    await using _ = mirror
    const client = own.redis.client()
    await client.mset(`${prefix}a`, item(1), `${prefix}b`, item(1), 'elsewhere', item(1))
    await mirror.live()
    await shows({ a: 1, b: 1 })
    await client.rename(`${prefix}b`, `${prefix}c`)
    await client.set(`${prefix}short`, item(1), 'PX', 50)
    await client.setrange(`${prefix}a`, 5, '2')
    await client.rename('elsewhere', `${prefix}d`)
    await shows({ a: 2, c: 1, d: 1 })
    await client.unlink(`${prefix}a`, `${prefix}c`)
    await shows({ d: 1 })
    expect(mirror.errors).toEqual([])
  })

  test.concurrent('that are evicted are delivered as deleted', async () => {
    await using redis = await RedisServer.start({ server, args: ['--maxmemory-policy', 'allkeys-lru'] })
    const { prefix, mirror, shows } = await keysOf(redis)
    await using _ = mirror
    const client = redis.client()
    await client.mset(`${prefix}a`, item(1), `${prefix}b`, item(1))
    await mirror.live()
    await client.config('SET', 'maxmemory', '1')
    await shows({})
    await client.config('SET', 'maxmemory', '0')
    await client.set(`${prefix}a`, item(2))
    await shows({ a: 2 })
    expect(mirror.errors).toEqual([])
  })

  test.concurrent('are left when their server becomes a replica, though writes never pause', async () => {
    await using redis = await RedisServer.start({ server })
    await using master = await RedisServer.start({ server })
    const watch = await watched(redis)
    await redis.follow(master)
    const client = master.client()
    const batches = (async () => {
      for (let n = 0; n < 500; n++) {
        await client.set('a', String(n))
        await watch.next()
      }
    })()
    await expect(batches).rejects.toThrow('is a replica')
  })

  test.concurrent('are read again after SWAPDB, which names no key', async () => {
    await using redis = await RedisServer.start({ server })
    const { prefix, mirror, shows } = await keysOf(redis)
    await using _ = mirror
    const [client, other] = [redis.client(), redis.client({ db: 1 })]
    await client.mset(`${prefix}a`, item(1), `${prefix}b`, item(1))
    await other.mset(`${prefix}a`, item(2), `${prefix}c`, item(2))
    await mirror.live()
    await client.swapdb(0, 1)
    await shows({ a: 2, c: 2 })
    await client.set(`${prefix}a`, item(3))
    await shows({ a: 3, c: 2 })
    expect([mirror.errors, mirror.informer.status.relists]).toEqual([[], 0])
  })

  test.concurrent('are read again after SWAPDB, though writes never pause', async () => {
    await using redis = await RedisServer.start({ server })
    const client = redis.client()
    await client.set('a gone', '1')
    const watch = await watched(redis)
    await client.swapdb(0, 1)
    const types: (string | undefined)[] = []
    while (!types.includes('replace') && types.length < 500) {
      await client.set('a', String(types.length))
      const { value } = await watch.next()
      types.push(value?.events[0]?.type)
    }
    await watch.return?.()
    expect(types.at(-1)).toBe('replace')
  })

  test.concurrent('are not read again if another client publishes on the invalidation channel', async () => {
    await using redis = await RedisServer.start({ server })
    const { prefix, mirror, shows } = await keysOf(redis)
    await using _ = mirror
    const client = redis.client()
    await client.set(`${prefix}a`, item(1))
    await mirror.live()
    // The scan of the watch is before its first change.
    await client.set(`${prefix}a`, item(2))
    await shows({ a: 2 })
    await client.config('RESETSTAT')
    await client.publish('__redis__:invalidate', `${prefix}a`)
    await client.set(`${prefix}b`, item(1))
    await shows({ a: 2, b: 1 })
    expect(await client.info('commandstats')).not.toContain('cmdstat_scan')
  })

  test.concurrent('of other types are ignored', async () => {
    const { prefix, mirror, shows } = await keysOf(own.redis)
    await using _ = mirror
    const client = own.redis.client()
    await client.hset(`${prefix}hash`, 'a', '1')
    await client.set(`${prefix}a`, item(1))
    await mirror.live()
    await client.del(`${prefix}a`)
    await client.hset(`${prefix}a`, 'b', '1')
    await client.set(`${prefix}b`, item(1))
    await shows({ b: 1 })
  })

  test.concurrent('that grow above the limit are rejected, and the mirrored objects are kept', async () => {
    const { prefix, mirror, shows } = await keysOf(own.redis, { maxKeys: 3 })
    await using _ = mirror
    await own.redis.client().mset(`${prefix}a`, item(1), `${prefix}b`, item(1), `${prefix}c`, item(1))
    await mirror.live()
    await own.redis.client().set(`${prefix}d`, item(1))
    await mirror.until('it to be reported', () => mirror.codes.includes('PROTOCOL'))
    expect(mirror.errors[0]?.message).toContain('raise maxKeys')
    await shows({ a: 1, b: 1, c: 1 })
    await own.redis.client().del(`${prefix}a`)
    await shows({ b: 1, c: 1, d: 1 })
  })

  test.concurrent('that replace others at once count without these', async () => {
    const { prefix, mirror, shows } = await keysOf(own.redis, { maxKeys: 3 })
    await using _ = mirror
    const client = own.redis.client()
    const [before, after] = [
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ].map((keys) => keys.map((key) => prefix + key))
    for (const key of before ?? []) await client.set(key, item(1))
    await mirror.live()
    const transaction = client.multi().del(...(before ?? []))
    for (const key of after ?? []) transaction.set(key, item(2))
    await transaction.exec()
    await shows({ d: 2, e: 2, f: 2 })
    expect(mirror.errors).toEqual([])
  })

  test.concurrent('that FLUSHALL deleted do not count for maxKeys', async () => {
    await using redis = await RedisServer.start({ server })
    const { prefix, mirror, shows } = await keysOf(redis, { maxKeys: 3 })
    await using _ = mirror
    const client = redis.client()
    await client.mset(`${prefix}a`, item(1), `${prefix}b`, item(1), `${prefix}c`, item(1))
    await mirror.live()
    await client.multi().flushall().mset(`${prefix}d`, item(2), `${prefix}e`, item(2)).exec()
    await shows({ d: 2, e: 2 })
    expect(mirror.errors).toEqual([])
  })

  test.concurrent('are all read again if very many are invalidated at once', async () => {
    await using redis = await RedisServer.start({ server })
    const { prefix, mirror, shows } = await keysOf(redis, { maxKeys: 3 })
    await using _ = mirror
    const client = redis.client()
    await client.mset(`${prefix}a`, item(1), `${prefix}b`, item(1))
    await mirror.live()
    await client.config('RESETSTAT')
    const burst = "for n = 1, 30000 do redis.call('SET', ARGV[1] .. n, '') redis.call('DEL', ARGV[1] .. n) end"
    await client.call('EVAL', `${burst} redis.call('SET', ARGV[1] .. 'a', ARGV[2])`, 0, prefix, item(2))
    await shows({ a: 2, b: 1 })
    expect(mirror.errors).toEqual([])
    expect(await client.info('commandstats')).toContain('cmdstat_scan')
  })

  test.concurrent('of one transaction are delivered together, during continuous writes', async () => {
    const { prefix, mirror } = await keysOf(own.redis)
    await using _ = mirror
    const client = own.redis.client()
    const pair = (n: number): Promise<unknown> =>
      client.multi().set(`${prefix}left`, item(n)).set(`${prefix}right`, item(n)).exec()
    await pair(0)
    const torn: string[] = []
    await mirror.live()
    const changes = (async () => {
      for await (const _batch of mirror.informer.changes()) {
        const [left, right] = ['left', 'right'].map((side) => mirror.informer.get(prefix + side)?.n)
        if (left !== right) torn.push(`${left} and ${right}`)
      }
    })()
    for (let n = 1; n <= 500; n++) await pair(n)
    await mirror.until('the last pair', () => mirror.informer.get(`${prefix}right`)?.n === 500)
    await mirror.informer.stop()
    await changes
    expect(torn).toEqual([])
  })

  test.concurrent("are shown without the client's own prefix", async () => {
    const client = userClient('ioredis 5', own.redis.port, { keyPrefix: 'app*:' })
    await own.redis.client().mset('app*:user:1', item(1), 'apple:user:2', item(2))
    expect((await listed(redisKeysSource<Item>({ client, prefix: 'user:' }))).objects).toEqual(
      new Map([['user:1', { n: 1 }]]),
    )
  })
})
