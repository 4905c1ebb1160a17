import { expect, test } from 'vitest'
import {
  type RedisStreamSourceOptions,
  redisStreamSource,
  type StreamDecode,
  type StreamSnapshot,
} from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { type Item, Mirror } from './mirror.js'
import { useRedis } from './support.js'

/** A stream of its own, who writes it, and a mirror of it. */
async function streamOf(redis: RedisServer, options: Partial<RedisStreamSourceOptions<Item>> = {}) {
  const stream = `stream-${++streams}`
  const mirror = await Mirror.open(redis, (port) =>
    redisStreamSource<Item>({
      client: userClient('ioredis 6', port),
      stream,
      decode: (fields) => Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : { n: Number(n) } })),
      heartbeatMs: 500,
      ...options,
    }),
  )
  const client = redis.client()
  const add = async (changes: Readonly<Record<string, number | undefined>>, id = '*'): Promise<string> => {
    const fields = Object.entries(changes).flatMap(([key, n]) => [key, n === undefined ? '' : String(n)])
    return (await client.xadd(stream, id, ...fields)) ?? ''
  }
  return Object.assign(mirror, { stream, add })
}
let streams = 0

describeRedis('a stream', (server) => {
  const own = useRedis(server)

  test.concurrent('an entry may change several keys, and delete a key', async () => {
    await using mirror = await streamOf(own.redis)
    await mirror.add({ a: 1, b: 1 })
    await mirror.add({ a: undefined, b: 2 })
    await mirror.live()
    await mirror.shows({ b: 2 })
    await mirror.add({ b: undefined, c: 3 })
    await mirror.shows({ c: 3 })
  })

  test.concurrent('the end of the stream is reached if its newest entry was deleted before it was read', async () => {
    await using mirror = await streamOf(own.redis, { whenTrimmed: 'fold' })
    await mirror.add({ a: 1 })
    const id = await mirror.add({ b: 1 })
    await own.redis.client().xdel(mirror.stream, id)
    await mirror.live()
    await mirror.informer.fresh({ timeoutMs: 60_000 })
    await mirror.shows({ a: 1 })
  })

  test.concurrent('if 200 000 entries are trimmed at once, a mirror lists once, and only if it had not read them', async () => {
    await using mirror = await streamOf(own.redis, { whenTrimmed: 'fold', timeoutMs: 60_000 })
    const admin = own.redis.client()
    const addMany = async (): Promise<void> => {
      const script = `for i = 1, 20000 do redis.call('XADD', KEYS[1], '*', 'k' .. (i % 10), i) end`
      for (let times = 0; times < 10; times++) await admin.eval(script, 1, mirror.stream)
    }
    await addMany()
    await mirror.live()
    await admin.xtrim(mirror.stream, 'MAXLEN', 10)
    await mirror.informer.waitFor(await mirror.add({ k1: 0 }), { timeoutMs: 20_000 })
    expect(mirror.codes).toEqual([])
    mirror.cut()
    await addMany()
    await admin.xtrim(mirror.stream, 'MAXLEN', 10)
    mirror.proxy.pass()
    await mirror.shows(Object.fromEntries(Array.from({ length: 10 }, (__, n) => [`k${n}`, 19_990 + (n || 10)])))
    expect(mirror.codes).toEqual(['VERSION_EXPIRED'])
  })

  test.concurrent('if entries were trimmed before they were read', async () => {
    const state = new Map<string, Item>()
    let after = '0-0'
    const snapshot = async (): Promise<StreamSnapshot<Item>> => ({ entries: new Map(state), after })
    await using mirror = await streamOf(own.redis, { snapshot })
    await mirror.add({ a: 1 })
    await mirror.live()
    mirror.cut()
    await mirror.add({ lost: 1 })
    after = await mirror.add({ b: 1 })
    state.set('lost', { n: 1 }).set('a', { n: 1 }).set('b', { n: 1 })
    await own.redis.client().xtrim(mirror.stream, 'MAXLEN', 1)
    mirror.proxy.pass()
    await mirror.shows({ a: 1, b: 1, lost: 1 })
    expect(mirror.codes).toEqual(['VERSION_EXPIRED'])
  })

  test.concurrent('is listed again from its snapshot but not if the snapshot is older than the oldest entry: it waits for a newer one', async () => {
    const state = new Map<string, Item>()
    let after = '0-0'
    const snapshot = async (): Promise<StreamSnapshot<Item>> => ({ entries: new Map(state), after })
    await using mirror = await streamOf(own.redis, { snapshot })
    await mirror.add({ a: 1 })
    const second = await mirror.add({ b: 1 })
    await mirror.add({ c: 1 })
    await own.redis.client().xtrim(mirror.stream, 'MAXLEN', 1)
    mirror.informer.start()
    await mirror.until('it to be reported', () => mirror.codes.includes('VERSION_EXPIRED'))
    state.set('a', { n: 1 }).set('b', { n: 1 })
    after = second
    // The entry after this one exists, but this cannot be proved.
    await mirror.until('it to be reported again', () => mirror.codes.length > 1)
    after = await mirror.add({ d: 1 })
    state.set('c', { n: 1 }).set('d', { n: 1 })
    await mirror.shows({ a: 1, b: 1, c: 1, d: 1 })
  })

  test.concurrent('with removed entries is not listed: the removed changes are unknown', async () => {
    await using mirror = await streamOf(own.redis)
    await mirror.add({ a: 1 })
    await mirror.add({ b: 1 })
    await own.redis.client().xtrim(mirror.stream, 'MAXLEN', 1)
    mirror.informer.start()
    await mirror.until('it to be reported', () => mirror.errors.length > 0)
    const [{ code, message } = { code: '', message: '' }] = mirror.errors
    expect([code, message]).toEqual(['PROTOCOL', expect.stringContaining('1 of 2 entries')])
    expect(message).toContain("add the option snapshot, or whenTrimmed: 'fold'")
  })

  test.concurrent('with removed entries is folded during continuous writes and trimming', async () => {
    const stream = `stream-${++streams}`
    const admin = own.redis.client()
    for (let n = 0; n < 300; n++) await admin.xadd(stream, '*', `k${n % 20}`, n)
    const client = userClient('ioredis 6', own.redis.port)
    const decode: StreamDecode<string> = (fields) => Array.from(fields, ([key, object]) => ({ key, object }))
    const source = redisStreamSource<string>({ client, stream, decode, whenTrimmed: 'fold' })
    const objects = new Map<string, string>()
    let version = ''
    let pages = 0
    for await (const page of source.list({ ...context(), pageSize: 10 })) {
      for (const event of page.events) if (event.type === 'put') objects.set(event.key, event.object)
      version = page.version ?? version
      // Trimmed faster than it is read, for a while.
      if (pages++ < 5)
        for (let n = 0; n < 20; n++) await admin.xadd(stream, 'MAXLEN', 300, '*', `k${n}`, `of page ${pages}`)
    }
    expect([objects.size, objects.get('k1')]).toEqual([20, 'of page 5'])
    expect(source.hasReached(version, '0-1')).toBe(true)
    await admin.xadd(stream, '*', 'k1', 'later')
    const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    expect((await watch.next()).value?.events).toEqual([{ type: 'put', key: 'k1', object: 'later' }])
    await watch.return?.()
  })

  test.concurrent('that was replaced by FLUSHALL, and written again at once', async () => {
    await using redis = await RedisServer.start({ server })
    await using mirror = await streamOf(redis)
    await mirror.add({ ghost: 1 })
    await mirror.live()
    await redis.client().flushall()
    await mirror.add({ a: 1 })
    await mirror.shows({ a: 1 })
    expect(mirror.codes).toEqual(['EPOCH_CHANGED'])
  })

  test.each([null, [null], 'text', 7, [[]], Promise.resolve()])(
    'if decode returns %j for an entry, which is then invalid, and later entries are delivered',
    async (nonsense) => {
      const stream = `stream-${++streams}`
      const admin = own.redis.client()
      await admin.xadd(stream, '*', 'odd', '1')
      await admin.xadd(stream, '*', 'a', '1')
      const decode = ((fields: ReadonlyMap<string, string>) =>
        fields.has('odd') ? nonsense : { key: 'a', object: 1 }) as unknown as StreamDecode<number>
      const client = userClient('ioredis 6', own.redis.port)
      const { objects, invalid } = await listed(redisStreamSource<number>({ client, stream, decode }))
      expect([[...objects], invalid]).toEqual([[['a', 1]], ['']])
    },
  )

  test.concurrent('if an entry cannot be decoded: it is reported, and the others are mirrored', async () => {
    await using mirror = await streamOf(own.redis, {
      decode: (fields) => {
        const [[key = '', n] = []] = [...fields]
        if (n === '13') throw new Error('unlucky')
        if (n === '14') return { key, error: new Error('unlucky, too') }
        return { key, object: { n: Number(n) } }
      },
    })
    await mirror.add({ a: 1 })
    await mirror.add({ b: 13 })
    await mirror.add({ c: 14 })
    await mirror.live()
    await mirror.shows({ a: 1 })
    expect([...mirror.informer.invalid.keys()]).toContain('c')
  })

  test.concurrent('a list is stopped while it waits for a snapshot that never resolves', async () => {
    const stop = new AbortController()
    const asked = Promise.withResolvers<void>()
    const source = redisStreamSource<Item>({
      client: userClient('ioredis 6', own.redis.port),
      stream: 'unread',
      decode: () => undefined,
      snapshot: () => {
        asked.resolve()
        return new Promise(() => {})
      },
    })
    const list = source.list({ ...context(stop.signal), pageSize: 10 })[Symbol.asyncIterator]()
    const first = list.next()
    await asked.promise
    stop.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
  })

  test.concurrent('a field that is not UTF-8 makes its entry invalid, and a replacement character does not', async () => {
    await using mirror = await streamOf(own.redis)
    await mirror.add({ 'odd \ufffd': 1 })
    await mirror.live()
    await mirror.shows({ 'odd \ufffd': 1 })
    await own.redis.client().xadd(mirror.stream, '*', Buffer.from([0x62, 0xff]), '2')
    await mirror.add({ a: 1, 'odd \ufffd': 2 })
    await mirror.shows({ 'odd \ufffd': 2, a: 1 })
    await mirror.until('it to be reported', () => mirror.codes.includes('DECODE'))
  })

  test.concurrent('consumer groups and their readers have no effect: all entries are delivered', async () => {
    await using mirror = await streamOf(own.redis)
    const worker = own.redis.client()
    await mirror.add({ a: 1 })
    await worker.xgroup('CREATE', mirror.stream, 'workers', '0')
    await mirror.live()
    await worker.xreadgroup('GROUP', 'workers', 'one', 'COUNT', 10, 'STREAMS', mirror.stream, '>')
    await worker.xgroup('DESTROY', mirror.stream, 'workers')
    const late = worker.xreadgroup('GROUP', 'workers', 'one', 'COUNT', 10, 'STREAMS', mirror.stream, '>')
    await expect(late).rejects.toThrow('NOGROUP')
    await mirror.add({ b: 1 })
    await mirror.shows({ a: 1, b: 1 })
    expect(mirror.errors).toEqual([])
  })

  test.concurrent('the key prefix of the client is added to the key of the stream', async () => {
    const client = userClient('ioredis 6', own.redis.port, { keyPrefix: 'app:' })
    const source = redisStreamSource<Item>({
      client,
      stream: 'prefixed',
      decode: (fields) => ({ key: 'k', object: { n: Number(fields.get('n')) } }),
    })
    await own.redis.client().xadd('app:prefixed', '*', 'n', '7')
    expect((await listed(source)).objects).toEqual(new Map([['k', { n: 7 }]]))
  })
})
