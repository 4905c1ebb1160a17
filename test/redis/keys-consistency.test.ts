import { expect, test } from 'vitest'
import { type RedisClient, type RedisKeysSource, redisKeysSource } from '../../adapters/redis/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { failure } from '../support/failure.js'
import { context, listed } from '../support/source-calls.js'
import { measured, steered, userClient } from './drivers.js'
import { useRedis } from './support.js'

let prefixes = 0

interface Event {
  readonly key?: string
  readonly object?: number
}

describeRedis('a consistent snapshot of plain keys', (server) => {
  const own = useRedis(server)
  const sourceOf = (client: RedisClient, prefix: string, options: { readonly timeoutMs?: number } = {}) =>
    redisKeysSource<number>({ client, prefix, heartbeatMs: 100, ...options })
  const watching = async (source: RedisKeysSource<number>, signal?: AbortSignal) => {
    const { version } = await listed(source)
    const watch = source
      .watch({ ...context(signal), after: version, onProgressRequest: () => {} })
      [Symbol.asyncIterator]()
    await watch.next()
    return watch
  }

  test('is not read from two servers, because each reports only its own writes', async () => {
    await using other = await RedisServer.start({ server })
    const source = sourceOf(steered([own.redis.port, other.port]), 'two:')
    await expect(listed(source)).rejects.toMatchObject(failure('UNAVAILABLE', 'two connections led to two servers'))
  })

  test('fails if the user has no permission to compare the servers of both connections', async () => {
    await using other = await RedisServer.start({ server })
    const rules = ['reset', 'on', '>word', '~*', '&*', '+@all', '-info']
    for (const redis of [own.redis, other]) await redis.client().call('ACL', 'SETUSER', 'blind', ...rules)
    const client = steered([own.redis.port, other.port], undefined, undefined, { username: 'blind', password: 'word' })
    await expect(listed(sourceOf(client, 'two:'))).rejects.toMatchObject(
      failure('UNAUTHORIZED', 'allow it: ACL SETUSER <user> +info'),
    )
  })

  test('has keys that were created after the scan, though the invalidation message is late', async () => {
    await using slow = await startFaultProxy({ targetPort: own.redis.port })
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    await admin.set(`${prefix}early`, '1')
    slow.delay(50)
    let reads = 0
    const write = async (): Promise<void> => {
      if (++reads === 2) await admin.set(`${prefix}late`, '1') // The first is before they are looked for.
    }
    const client = steered([own.redis.port, slow.port], write, 'MGET')
    const { objects } = await listed(sourceOf(client, prefix))
    expect([...objects.keys()].sort()).toEqual([`${prefix}early`, `${prefix}late`])
  })

  test('has all writes of a transaction, also if only one of its keys was read', async () => {
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    let isArmed = false
    const both = async (): Promise<void> => {
      if (!isArmed) return
      isArmed = false
      await admin.mset(`${prefix}left`, '2', `${prefix}right`, '2')
    }
    const watch = await watching(sourceOf(steered([own.redis.port], both, 'MGET'), prefix))
    isArmed = true
    await admin.set(`${prefix}left`, '1')
    const { value } = await watch.next()
    const events: readonly Event[] = value?.events ?? []
    expect(events.map((event) => [event.key, event.object])).toEqual([
      [`${prefix}left`, 2],
      [`${prefix}right`, 2],
    ])
    await watch.return?.()
  })

  test('is compared with the last delivered state, not with the listed one', async () => {
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    await admin.set(`${prefix}a`, '1')
    const source = sourceOf(userClient('ioredis 6', own.redis.port), prefix)
    const watch = await watching(source)
    await admin.set(`${prefix}a`, '2')
    const { value: told } = await watch.next()
    await watch.return?.()
    await admin.set(`${prefix}a`, '1')
    const again = source
      .watch({ ...context(), after: told?.version, onProgressRequest: () => {} })
      [Symbol.asyncIterator]()
    const { value: now } = await again.next()
    await again.return?.()
    expect(now?.events).toEqual([{ type: 'replace', entries: [{ type: 'put', key: `${prefix}a`, object: 1 }] }])
  })

  test('has invalid objects by their keys, also after a complete read', async () => {
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    await admin.mset(`${prefix}a`, '{', `${prefix}b`, '1')
    const source = sourceOf(userClient('ioredis 6', own.redis.port), prefix)
    const { version, invalid } = await listed(source)
    await admin.set(`${prefix}b`, '2')
    const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    const { value } = await watch.next()
    await watch.return?.()
    expect([invalid, value?.events]).toEqual([
      [`${prefix}a`],
      [
        { type: 'replace', entries: [{ type: 'put', key: `${prefix}b`, object: 2 }] },
        { type: 'invalid', key: `${prefix}a`, error: expect.any(SyntaxError) },
      ],
    ])
  })

  test('has large values, which need several responses', async () => {
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    const keys = Array.from({ length: 32 }, (_, n) => `${prefix}${n}`)
    for (const key of keys) await admin.set(key, `"${'x'.repeat(1024 * 1024)}"`)
    const { client, answers } = measured(own.redis.port)
    const { objects } = await listed(redisKeysSource<string>({ client, prefix }))
    expect([...objects.keys()].sort()).toEqual([...keys].sort())
    expect(Math.max(...answers)).toBeLessThan(8 * 1024 * 1024)
  })

  test('has large values that were written between the responses', async () => {
    const prefix = `moment-${++prefixes}:`
    const admin = own.redis.client()
    const keys = Array.from({ length: 32 }, (_, n) => `${prefix}${n}`)
    const value = (n: number): string => `"${n}${'x'.repeat(1024 * 1024)}"`
    for (const key of keys) await admin.set(key, value(0))
    let reads = 0
    const write = async (): Promise<void> => {
      if (++reads === 5) for (const key of keys.slice(0, 3)) await admin.set(key, value(1))
      if (reads === 6)
        await admin
          .multi()
          .del(keys[0] ?? '')
          .set(keys[31] ?? '', value(2))
          .exec()
    }
    const { objects } = await listed(
      redisKeysSource<string>({ client: steered([own.redis.port], write, 'MGET'), prefix }),
    )
    const first = keys.map((key) => objects.get(key)?.[0])
    expect(first).toEqual([undefined, '1', '1', ...Array.from({ length: 28 }, () => '0'), '2'])
  })

  test('a list reports progress, and a watch repeats its version, while a large value arrives slowly', async () => {
    const prefix = `moment-${++prefixes}:`
    await own.redis.client().set(`${prefix}large`, `"${'x'.repeat(1_000_000)}"`)
    await using proxy = await startFaultProxy({ targetPort: own.redis.port })
    proxy.throttle(1_000_000)
    const source = sourceOf(userClient('ioredis 6', proxy.port), prefix)
    let reports = 0
    const alive = (): void => void reports++
    const pages: number[] = []
    for await (const page of source.list({ ...context(), pageSize: 100, alive })) pages.push(page.events.length)
    expect(pages).toEqual([1])
    expect(reports).toBeGreaterThan(1)
    const watch = source
      .watch({ ...context(), after: 'redisk1.0', onProgressRequest: () => {} })
      [Symbol.asyncIterator]()
    expect((await watch.next()).value).toEqual({ events: [], version: 'redisk1.0' })
    await watch.return?.()
  })

  test('fails if the values do not arrive in time', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.redis.port })
    const prefix = `moment-${++prefixes}:`
    await own.redis.client().set(`${prefix}a`, '1')
    let reads = 0
    const cut = async (): Promise<void> => {
      if (++reads === 2) proxy.halfOpen()
    }
    const client = steered([proxy.port, own.redis.port], cut, 'MGET')
    await expect(listed(sourceOf(client, prefix, { timeoutMs: 2_000 }))).rejects.toMatchObject(
      failure('UNAVAILABLE', /no response .*the values of 1 keys were requested/),
    )
  })

  test('is not delivered again if it equals the list', async () => {
    const prefix = `moment-${++prefixes}:`
    await own.redis.client().mset(`${prefix}a`, '1', `${prefix}b`, '2')
    const source = sourceOf(userClient('ioredis 6', own.redis.port), prefix)
    const { version } = await listed(source)
    const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    expect((await watch.next()).value).toEqual({ events: [], version })
    await watch.return?.()
  })

  test.each([
    ['that reads', 0],
    ['with the invalidation messages', 1],
  ])('fails if the connection %s is silent', async (_which, silent) => {
    await using proxy = await startFaultProxy({ targetPort: own.redis.port })
    const ports = silent === 0 ? [proxy.port, own.redis.port] : [own.redis.port, proxy.port]
    const watch = await watching(sourceOf(steered(ports), 'silent:', { timeoutMs: 300 }))
    proxy.halfOpen()
    const batches = (async () => {
      for (let n = 0; n < 5; n++) await watch.next()
    })()
    await expect(batches).rejects.toThrow('no response from')
  })

  test('is read again only once after FLUSHALL', async () => {
    await using redis = await RedisServer.start({ server })
    const admin = redis.client()
    const watch = await watching(sourceOf(userClient('ioredis 6', redis.port), 'a'))
    await admin.config('RESETSTAT')
    await admin.flushall()
    for (let n = 0; n < 4; n++) await watch.next()
    expect(await admin.info('commandstats')).toContain('cmdstat_scan:calls=1,')
    await watch.return?.()
  })

  test('is delivered after a second FLUSHALL also if it equals the list before the first', async () => {
    await using redis = await RedisServer.start({ server })
    const admin = redis.client()
    await admin.set('a', '1')
    const watch = await watching(sourceOf(userClient('ioredis 6', redis.port), 'a'))
    const nextEvents = async (): Promise<unknown> => {
      for (;;) {
        const { value } = await watch.next()
        if (value === undefined || value.events.length > 0) return value?.events
      }
    }
    await admin.flushall()
    expect(await nextEvents()).toEqual([{ type: 'replace', entries: [] }])
    await admin.multi().flushall().set('a', '1').exec()
    expect(await nextEvents()).toEqual([{ type: 'replace', entries: [{ type: 'put', key: 'a', object: 1 }] }])
    await watch.return?.()
  })
})
