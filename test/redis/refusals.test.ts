import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { redisCollectionSource, redisKeysSource, redisStreamSource, redisWriter } from '../../adapters/redis/index.js'
import { createInformer, type ListerWatcher } from '../../src/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { failure } from '../support/failure.js'
import { portOf } from '../support/listening.js'
import { context, listed, refusal } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { Stage } from './stage.js'
import { useRedis } from './support.js'

/** What a mirror's user needs, as the guide has it. */
const READER = ['+hmget', '+hlen', '+hscan', '+xread', '+xrevrange', '+multi', '+exec', '+time', '+role', '+info']

const ANOTHER_KIND = '(another kind of value is stored there: choose another name, or delete that key)'
const STREAM_READER = ['%R~prices', '+xread', '+xrange', '+xinfo|stream', '+multi', '+exec', '+role', '+info', '+eval']
const KEYS_READER = [
  '%R~user:*',
  '&__redis__:invalidate',
  '+scan',
  '+mget',
  '+subscribe',
  '+ping',
  '+client|id',
  '+client|tracking',
  '+role',
  '+info',
]

describeRedis('what is wrong is said in one line, with what to do', (server) => {
  const own = useRedis(server)
  const user = async (name: string, ...rules: string[]): Promise<void> => {
    await own.redis.client().call('ACL', 'SETUSER', name, 'reset', 'on', `>secret-${name}`, ...rules)
  }

  const refuses = async (source: ListerWatcher<unknown>, code: string, says: string): Promise<void> =>
    expect(await refusal(source)).toMatchObject({ code, message: expect.stringContaining(says) })

  for (const driver of driverNames) {
    describe(driver, () => {
      const collectionAt = (port: number) =>
        redisCollectionSource({ client: userClient(driver, port), collection: 'a' })
      const source = (options: object = {}, name = 'refusals'): ListerWatcher<unknown> =>
        redisCollectionSource({
          client: userClient(driver, own.redis.port, options),
          collection: name,
          timeoutMs: 2_000,
        })

      test('a wrong password, which is in no part of the error, until the client has another one', async () => {
        await user('known', '~*', '+@all')
        const client = userClient(driver, own.redis.port, { username: 'known', password: 'wrong-word' })
        const collection = redisCollectionSource({ client, collection: 'refusals' })
        const error = await refusal(collection)
        expect(error.code).toBe('UNAUTHORIZED')
        expect(error.message).toContain("check the client's username and password")
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('wrong-word')
        client.options.password = 'secret-known'
        expect((await listed(collection)).objects.size).toBe(0)
      })

      test('a missing password', async () => {
        await using redis = await RedisServer.start({ server, args: ['--requirepass', 'word'] })
        await refuses(collectionAt(redis.port), 'UNAUTHORIZED', "check the client's username and password")
      })

      test('a database that is not there', async () => {
        await refuses(source({ db: 99 }), 'PROTOCOL', "check the client's option db")
      })

      test('an address without a server', async () => {
        await refuses(collectionAt(1), 'UNAVAILABLE', 'no server listens there')
      })

      test.each([
        ['closes the connection', '', "check the client's port and option tls"],
        ['speaks HTTP', 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n', 'the server is not Redis'],
        ['wants TLS', '\x15\x03\x01\x00\x02\x02\x0a', 'the server is not Redis'],
      ])('something that listens, and %s', async (_what, answer, says) => {
        const other = createServer((socket) => {
          if (answer === '') socket.end()
          else socket.once('data', () => socket.end(answer, 'latin1'))
        })
        await refuses(collectionAt(await portOf(other)), 'UNAVAILABLE', says)
      })

      test('a server that has as many clients as it may', async () => {
        await using redis = await RedisServer.start({ server, args: ['--maxclients', '1'] })
        await redis.client().ping()
        await refuses(collectionAt(redis.port), 'UNAVAILABLE', 'maxclients')
      })

      test.each(['h', 'm'])('a key of another type, by its name: %s', async (part) => {
        const key = `{typed-${part}}:${part}`
        await own.redis.client().set(key, 'text')
        await refuses(source({}, `typed-${part}`), 'PROTOCOL', `WRONGTYPE ${key} is not a hash ${ANOTHER_KIND}`)
        await own.redis.client().del(key)
      })

      test('a key that is not a stream, with its name', async () => {
        await own.redis.client().set('typed-stream', 'text')
        const client = userClient(driver, own.redis.port)
        const decode = (fields: unknown, key: string) => ({ key, object: fields })
        const typed = redisStreamSource<unknown>({ client, stream: 'typed-stream', decode })
        await refuses(typed, 'PROTOCOL', `WRONGTYPE typed-stream is not a stream ${ANOTHER_KIND}`)
      })

      test('a user with the permissions of the guide mirrors streams and plain keys, also if memory is short', async () => {
        await using redis = await RedisServer.start({ server })
        const admin = redis.client()
        const mirrorAs = async (source: ListerWatcher<unknown>, write: () => Promise<unknown>): Promise<unknown[]> => {
          const { objects, version } = await listed(source)
          const watch = source
            .watch({ ...context(), after: version, onProgressRequest: () => {} })
            [Symbol.asyncIterator]()
          await watch.next()
          await write()
          const { value } = await watch.next()
          await watch.return?.()
          await source.head?.(context())
          return [objects.size, value?.events.length]
        }
        await admin.xadd('prices', '*', 'a', '1')
        await admin.set('user:a', '1')
        for (const [name, rules] of Object.entries({ streams: STREAM_READER, keys: KEYS_READER }))
          await admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>word', ...rules)
        const client = (username: string) => userClient(driver, redis.port, { username, password: 'word' })
        const stream = redisStreamSource<unknown>({
          client: client('streams'),
          stream: 'prices',
          decode: (fields, key) => ({ key, object: fields }),
        })
        const keys = redisKeysSource({ client: client('keys'), prefix: 'user:' })
        expect(await mirrorAs(stream, () => admin.xadd('prices', '*', 'a', '2'))).toEqual([1, 1])
        expect(await mirrorAs(keys, () => admin.set('user:b', '1'))).toEqual([1, 1])
        await admin.config('SET', 'maxmemory', '1')
        expect(await mirrorAs(stream, () => admin.xtrim('prices', 'MAXLEN', 0))).toEqual([2, 0])
        expect(await mirrorAs(keys, () => admin.del('user:b'))).toEqual([2, 1])
      })

      test('the logger of an informer gets the warnings, each once, and the process none', async () => {
        const [warnings, logged]: [Error[], string[]] = [[], []]
        const note = (warning: Error): unknown => warnings.push(warning)
        process.on('warning', note)
        await user('logged', '~*', ...READER, '-role', '-info')
        const informer = createInformer({
          source: source({ username: 'logged', password: 'secret-logged' }, 'logged'),
          logger: { debug() {}, info() {}, warn: (message) => void logged.push(message), error() {} },
        })
        const fresh = informer.fresh({ timeoutMs: 20_000 }) // It reads before the first list does.
        await informer.start().synced()
        await fresh
        await expect.poll(() => logged.length, { timeout: 20_000 }).toBe(3) // After a silent heartbeat.
        await informer.stop()
        await new Promise((resolve) => setImmediate(resolve))
        process.off('warning', note)
        expect(warnings.filter(({ name }) => name === 'ListwatchWarning')).toEqual([])
        expect(logged).toEqual([
          expect.stringMatching(/^redis:logged: ROLE is not allowed/),
          expect.stringMatching(/^redis:logged: INFO is not allowed/),
          'redis:logged: no redisWriter has written the collection "logged" yet',
        ])
      })

      test('a replica', async () => {
        await using replica = await RedisServer.start({ server })
        await replica.follow(own.redis)
        await refuses(collectionAt(replica.port), 'UNAVAILABLE', 'is a replica')
        const writer = redisWriter({ client: userClient(driver, replica.port), collection: 'a' })
        await expect(writer.apply([])).rejects.toMatchObject(failure('NOT_WRITTEN', 'is a replica'))
      })

      test('a server that evicts anything, but not one that keeps keys without a time to live', async () => {
        await using redis = await RedisServer.start({ server })
        for (const policy of ['allkeys-lru', 'allkeys-lfu', 'allkeys-random']) {
          await redis.client().config('SET', 'maxmemory-policy', policy)
          await refuses(collectionAt(redis.port), 'PROTOCOL', 'CONFIG SET maxmemory-policy noeviction')
        }
        for (const policy of ['volatile-lru', 'noeviction']) {
          await redis.client().config('SET', 'maxmemory-policy', policy)
          expect((await listed(collectionAt(redis.port))).objects.size).toBe(0)
        }
      })
    })
  }

  test('one entry that does not decode is named, and all others are mirrored', async () => {
    await using stage = await Stage.open({ redis: own.redis })
    const raw = redisWriter<string>({
      client: userClient('ioredis 6', own.redis.port),
      collection: stage.name,
      codec: 'string',
    })
    await stage.fill(5)
    await raw.apply([{ put: 'bad', object: '{' }])
    await stage.live()
    await raw.apply([
      { put: 'k1', object: 'nonsense' },
      { put: 'k2', object: '{"n":7}' },
    ])
    await stage.until('the good one to be there', () => stage.informer.get('k2')?.n === 7)
    expect([...stage.informer.invalid.keys()].sort()).toEqual(['bad', 'k1'])
    expect(stage.informer.get('k1')).toEqual({ n: 0 })
    await stage.put(['k1', 8], ['bad', undefined])
    await stage.healed()
    expect(stage.informer.invalid.size).toBe(0)
    await raw.close()
  })

  test('a key that is not UTF-8 is one invalid object; with keys: "bytes" it is a key', async () => {
    const client = userClient('ioredis 6', own.redis.port)
    const writer = redisWriter<Uint8Array>({ client, collection: 'bytes', codec: 'bytes', keys: 'bytes' })
    await writer.apply([
      { put: '\xff\x00', object: Buffer.from([0, 255]) },
      { put: 'a', object: Buffer.from('x') },
    ])
    await writer.close()
    const { objects, invalid } = await listed(redisCollectionSource({ client, collection: 'bytes', codec: 'string' }))
    expect([[...objects], invalid]).toEqual([[['a', 'x']], ['\ud800ff00']])
    const bytes = await listed(
      redisCollectionSource<Uint8Array>({ client, collection: 'bytes', codec: 'bytes', keys: 'bytes' }),
    )
    expect(bytes.objects.get('\xff\x00')).toEqual(new Uint8Array([0, 255]))
  })

  test("the client's prefix is before the collection's keys", async () => {
    const client = userClient('ioredis 6', own.redis.port, { keyPrefix: 'app:' })
    const writer = redisWriter({ client, collection: 'prefixed' })
    await writer.apply([{ put: 'a', object: 1 }])
    await writer.close()
    expect(await own.redis.client().exists('app:{prefixed}:h', 'app:{prefixed}:s', 'app:{prefixed}:m')).toBe(3)
    expect((await listed(redisCollectionSource({ client, collection: 'prefixed' }))).objects.size).toBe(1)
  })
})
