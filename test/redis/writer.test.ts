import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type RedisChange,
  type RedisWriterOptions,
  redisCollectionSource,
  redisWriter,
} from '../../adapters/redis/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeRedis } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { context, listed } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { useRedis } from './support.js'

let names = 0

describeRedis('a writer', (server) => {
  const own = useRedis(server)
  /** A writer, which is closed at the end of the test, and the name of its collection. */
  const make = (
    options: Partial<RedisWriterOptions<unknown>> & { readonly name?: string; readonly port?: number } = {},
  ) => {
    const { name = `writer-${++names}`, port = own.redis.port, shardCount, ...rest } = options
    const all = { client: userClient('ioredis 6', port), collection: name, ...rest }
    const writer = shardCount === undefined ? redisWriter<unknown>(all) : redisWriter<unknown>({ ...all, shardCount })
    onTestFinished(() => writer.close())
    return [writer, name] as const
  }
  const contents = (name: string) => own.redis.client().hgetall(`{${name}}:h`)

  test('applies all changes of one call atomically, as one entry', async () => {
    const [writer, name] = make()
    await writer.apply([{ put: 'a', object: 1 }, { put: 'b', object: { deep: [2] } }, { delete: 'a' }])
    expect(await contents(name)).toEqual({ b: '{"deep":[2]}' })
    expect(await own.redis.client().xlen(`{${name}}:s`)).toBe(1)
  })

  test('applies at most the maximum number of changes', async () => {
    const [writer, name] = make()
    const changes = Array.from({ length: 3_500 }, (_, n) => ({ put: `k${n}`, object: n }))
    await writer.apply(changes)
    expect(await own.redis.client().hlen(`{${name}}:h`)).toBe(3_500)
    await expect(writer.apply([...changes, { delete: 'k0' }])).rejects.toThrow('at most 3500')
  })

  test('returns the current version for no changes, and creates a missing collection', async () => {
    const [writer, name] = make()
    const begun = await writer.apply([])
    expect(await writer.apply([])).toBe(begun)
    expect(await own.redis.client().xlen(`{${name}}:s`)).toBe(1)
  })

  test.each([
    ['writes only at ifVersion, and else rejects with the current version', {}],
    ['with shards writes only at the version of the shard', { shardCount: 2 }],
  ])('%s', async (_title, options) => {
    const [writer, name] = make(options)
    const first = await writer.apply([{ put: 'a', object: 1 }])
    const second = await writer.apply([{ put: 'a', object: 2 }], { ifVersion: first })
    await expect(writer.apply([{ put: 'a', object: 3 }], { ifVersion: first })).rejects.toMatchObject({
      code: 'CONFLICT',
      version: second,
    })
    if (!('shardCount' in options)) expect(await contents(name)).toEqual({ a: '2' })
  })

  test('deletes an absent key, and the collection can be listed', async () => {
    const [writer, name] = make()
    await writer.apply([{ put: 'a', object: 1 }, { delete: 'b' }])
    const source = redisCollectionSource({ client: userClient('ioredis 6', own.redis.port), collection: name })
    expect((await listed(source)).objects).toEqual(new Map([['a', 1]]))
  })

  test('wins alone if two writers write the same at the same version', async () => {
    const [one, name] = make()
    const [other] = make({ name })
    const ifVersion = await one.apply([{ put: 'job', object: 1 }])
    for (const writers of [
      [one, other],
      [one, one],
    ]) {
      const results = await Promise.allSettled(
        writers.map((writer) => writer.apply([{ delete: 'job' }], { ifVersion })),
      )
      expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
    }
  })

  test('continues after SCRIPT FLUSH', async () => {
    const [writer, name] = make()
    await writer.apply([{ put: 'a', object: 1 }])
    await own.redis.client().script('FLUSH')
    await writer.apply([{ put: 'b', object: 2 }])
    expect(await contents(name)).toEqual({ a: '1', b: '2' })
  })

  test('continues after its idle connection was closed', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.redis.port })
    const [writer, name] = make({ port: proxy.port })
    await writer.apply([{ put: 'a', object: 1 }])
    proxy.reset()
    // Until it has heard of it, it can only say that it does not know.
    const isBack = (): Promise<boolean> =>
      writer
        .apply([])
        .then(() => true)
        .catch(() => false)
    await waitUntil('the writer to be back', isBack)
    await writer.apply([{ put: 'b', object: 2 }])
    expect(await contents(name)).toEqual({ a: '1', b: '2' })
  })

  test('treats a delete with an undefined put as a delete', async () => {
    const [writer, name] = make()
    await writer.apply([{ put: 'a', object: 1 }])
    const change = { put: undefined, object: undefined, delete: 'a' }
    await writer.apply([change])
    expect(await contents(name)).toEqual({})
    const [shards] = make({ name, shardCount: 2 })
    await shards.apply([change])
  })

  test('rejects invalid changes before it writes', async () => {
    const [writer, name] = make()
    await expect(
      writer.apply([
        { put: 'a', object: 1 },
        { put: 'b', object: undefined },
      ]),
    ).rejects.toThrow('the object under "b" cannot be written')
    await expect(writer.apply([{ put: 'half \ud800', object: 1 }])).rejects.toThrow('contains an unpaired surrogate')
    const [texts] = make({ name, codec: 'string' })
    await expect(texts.apply([{ put: 'a', object: 'half \ud800' }])).rejects.toThrow(
      'the object under "a" cannot be written',
    )
    const loop: { self?: unknown } = {}
    loop.self = loop
    for (const object of [1n, { deep: 1n }, loop])
      await expect(writer.apply([{ put: 'c', object }])).rejects.toThrow(
        /^apply: the object under "c" cannot be written: \S/,
      )
    const codec = (): string => {
      throw new RangeError('no such unit')
    }
    const [broken] = make({ name, codec })
    await expect(broken.apply([{ put: 'd', object: 1 }])).rejects.toMatchObject({
      message: 'apply: the object under "d" cannot be written: no such unit',
      cause: expect.any(RangeError) as unknown,
    })
    expect(await contents(name)).toEqual({})
  })

  test.each([
    ['h', 'hash'],
    ['s', 'stream'],
    ['m', 'hash'],
  ])('does not change a key of another type, and names it: %s', async (part, kind) => {
    const [writer, name] = make()
    const key = `{${name}}:${part}`
    await own.redis.client().set(key, 'text')
    await expect(writer.apply([{ put: 'a', object: 1 }])).rejects.toMatchObject({
      code: 'NOT_WRITTEN',
      message: `nothing was written: WRONGTYPE ${key} is not a ${kind} (another kind of value is stored there: choose another name, or delete that key)`,
    })
    expect(await own.redis.client().keys(`{${name}}:*`)).toEqual([key])
  })

  test('that was closed writes nothing, and rejects', async () => {
    const [writer] = make()
    await writer.apply([])
    await writer.close()
    await expect(writer.apply([{ put: 'a', object: 1 }])).rejects.toMatchObject({
      code: 'NOT_WRITTEN',
      message: 'nothing was written: the writer was closed',
    })
  })

  test('keeps approximately the history of its option retention', async () => {
    const [writer, name] = make({ retention: 200 })
    for (let n = 0; n < 1_000; n++) await writer.apply([{ put: 'a', object: n }])
    expect(await own.redis.client().xlen(`{${name}}:s`)).toBeLessThan(400)
  })

  describe('whose response is lost', () => {
    for (const driver of driverNames) {
      test(`reports an unknown outcome, and writes nothing twice; the user's own client does (${driver})`, async () => {
        await using proxy = await startFaultProxy({ targetPort: own.redis.port })
        const [writer, name] = make({ port: proxy.port })
        const [other] = make({ name })
        // A delete that is sent again would remove the later put of another client.
        // Its command waits for as long as the proxy refuses it.
        const users = userClient(driver, proxy.port, { retryStrategy: () => 50, maxRetriesPerRequest: null })
        users.on('error', () => {})
        await other.apply([{ put: 'job', object: 1 }])
        await users.ping()
        const cut = proxy.cutAfter(1, 'toClient')
        const sentAgain = users.call('HDEL', `{${name}}:h`, 'job')
        await cut
        proxy.refuse()
        await other.apply([{ put: 'job', object: 2 }])
        proxy.pass()
        await sentAgain
        users.disconnect()
        expect(await contents(name)).toEqual({})
        await other.apply([{ put: 'job', object: 3 }])
        await writer.apply([])
        void proxy.cutAfter(1, 'toClient')
        await expect(writer.apply([{ delete: 'job' }])).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
        await other.apply([{ put: 'job', object: 4 }])
        await writer.apply([{ put: 'k', object: 1 }])
        expect(await contents(name)).toEqual({ job: '4', k: '1' })
      })
    }

    /** A writer that does not know what became of a change: its response, or the request, was lost. */
    async function severed(lost: 'toClient' | 'toServer', change: RedisChange<unknown> = { put: 'a', object: 2 }) {
      const proxy = await startFaultProxy({ targetPort: own.redis.port })
      onTestFinished(() => proxy[Symbol.asyncDispose]())
      const [writer, name] = make({ port: proxy.port })
      const ifVersion = await writer.apply([{ put: 'a', object: 1 }])
      const again = (by = writer): Promise<string> => by.apply([change], { ifVersion })
      void proxy.cutAfter(1, lost)
      await expect(again()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
      return { proxy, writer, name, again, other: make({ name })[0] }
    }

    test('returns the version of its own write when the same call is repeated', async () => {
      const { again, other } = await severed('toClient')
      await expect(again(other)).rejects.toMatchObject({ code: 'CONFLICT' })
      const reached = await other.apply([])
      await other.apply([{ put: 'b', object: 1 }])
      expect(await again()).toBe(reached)
      await expect(again()).rejects.toMatchObject({ code: 'CONFLICT' })
    })

    test('returns the version of its own write also if an attempt in between was not sent', async () => {
      const { proxy, writer, name, again } = await severed('toClient')
      proxy.refuse()
      await expect(again()).rejects.toMatchObject({ code: 'NOT_WRITTEN' })
      proxy.pass()
      const version = await again()
      expect(await contents(name)).toEqual({ a: '2' })
      expect(await writer.apply([])).toBe(version)
    })

    test('writes when the call is repeated, if the first one never arrived', async () => {
      const { name, again } = await severed('toServer')
      expect(await contents(name)).toEqual({ a: '1' })
      await again()
      expect(await contents(name)).toEqual({ a: '2' })
    })

    test('rejects with CONFLICT when the call is repeated, if another client made the same change first', async () => {
      const { again, other } = await severed('toServer', { delete: 'a' })
      await again(other)
      await expect(again()).rejects.toMatchObject({ code: 'CONFLICT' })
    })

    test('reports an unknown outcome when the call is repeated after the history was trimmed', async () => {
      const { name, again } = await severed('toClient')
      await own.redis.client().xtrim(`{${name}}:s`, 'MAXLEN', 0)
      await expect(again()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    })

    test('returns the version of its own write also for the first change of a collection', async () => {
      await using proxy = await startFaultProxy({ targetPort: own.redis.port })
      const [writer, name] = make({ port: proxy.port })
      const source = redisCollectionSource({ client: userClient('ioredis 6', own.redis.port), collection: name })
      const before = await source.head(context())
      await writer.apply([])
      await own.redis.client().del(`{${name}}:s`, `{${name}}:m`)
      void proxy.cutAfter(1, 'toClient')
      await expect(writer.apply([{ put: 'a', object: 2 }], { ifVersion: before })).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
      })
      expect(await writer.apply([{ put: 'a', object: 2 }], { ifVersion: before })).toBe(await source.head(context()))
    })

    test('waits no longer than timeoutMs', async () => {
      await using proxy = await startFaultProxy({ targetPort: own.redis.port })
      const [writer] = make({ port: proxy.port, timeoutMs: 300 })
      await writer.apply([])
      proxy.halfOpen()
      await expect(writer.apply([{ put: 'a', object: 2 }])).rejects.toMatchObject(
        failure('OUTCOME_UNKNOWN', 'for 300 ms'),
      )
      proxy.pass()
      await writer.apply([{ put: 'a', object: 3 }])
    })
  })
})
