import { describe, expect, test } from 'vitest'
import { type RedisWriter, redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { followRotations } from '../support/load.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { kinds, plainKeys } from './kinds.js'
import { Mirror } from './mirror.js'
import { useRedis } from './support.js'

/** What a mirror's user needs, as the guide has it. */
const READER = ['+hmget', '+hlen', '+hscan', '+xread', '+xrevrange', '+multi', '+exec', '+time']
const WRITER = ['+eval', '+evalsha', '+hmget', '+hset', '+hdel', '+hlen', '+xadd', '+xrange', '+xinfo|stream', '+time']
const BOTH = ['+role', '+info']

let names = 0

describeRedis('a user of the server', (server) => {
  const own = useRedis(server)

  /** A client of a user who may do this with the keys of a collection of its own. */
  const clientOf = async (keys: (name: string) => string, ...rules: string[]) => {
    const name = `rights-${++names}`
    await own.redis.client().call('ACL', 'SETUSER', name, 'reset', 'on', '>word', ...keys(name).split(' '), ...rules)
    return { name, client: userClient('ioredis 6', own.redis.port, { username: name, password: 'word' }) }
  }
  const all = (name: string): string => `~{${name}}:*`
  const dump = async (name: string): Promise<unknown> => {
    const keys = ['h', 's', 'm'].map((part) => `{${name}}:${part}`)
    const [hash = '', stream = '', meta = ''] = keys
    const client = own.redis.client()
    return [await client.hgetall(hash), await client.xrange(stream, '-', '+'), await client.hgetall(meta)]
  }

  test.each([...kinds, plainKeys])(
    '[A7] whose password is replaced twice while a writer writes $name is followed by a mirror',
    async (kind) => {
      const name = `rights-${++names}`
      const passwords = ['first', 'second', 'third']
      const admin = own.redis.client()
      const accept = (number: number): Promise<unknown> =>
        admin.call('ACL', 'SETUSER', name, 'reset', 'on', `>${passwords[number]}`, '~*', '&*', '+@all')
      await accept(0)
      const user = userClient('ioredis 6', own.redis.port, { username: name, password: passwords[0] })
      await using mirror = await Mirror.open(own.redis, () => kind.source(user, name))
      const values: Record<string, number> = {}
      await followRotations(mirror, {
        write: async (n) => {
          await kind.write(admin, name, `k${n % 7}`, n)
          values[`k${n % 7}`] = n
          mirror.wanted = kind.shown(values, name)
        },
        rotate: async (number) => {
          await accept(number)
          await admin.call('CLIENT', 'KILL', 'USER', name)
        },
        adopt: (number) => Object.assign(user.options, { password: passwords[number] }),
      })
    },
  )

  describe('that writes, and lacks a right', () => {
    const outcome = async (writer: RedisWriter<unknown>): Promise<unknown> =>
      await writer.apply([{ put: 'b', object: 2 }, { delete: 'a' }]).then(
        () => 'written',
        (error: unknown) => error,
      )
    const refused = failure('NOT_WRITTEN', /^[^\r\n]+see the guide for the ACL that is needed[^\r\n]+$/)

    for (const right of ['+evalsha', '+hmget', '+hset', '+hdel', '+hlen', '+xadd', '+time'])
      test(`${right}: nothing is written, and it says what it needs`, async () => {
        const { name, client } = await clientOf(all, ...BOTH, ...WRITER.filter((each) => each !== right))
        await using master = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: name })
        await master.apply([{ put: 'a', object: 1 }])
        const before = await dump(name)
        await using writer = redisWriter({ client, collection: name })
        expect(await outcome(writer)).toMatchObject(refused)
        expect(await dump(name)).toEqual(before)
      })

    for (const right of ['+hset', '+hdel', '+xadd', '+xinfo|stream'])
      test(`${right}, with which it would begin a collection: nothing is written`, async () => {
        const { name, client } = await clientOf(all, ...BOTH, ...WRITER.filter((each) => each !== right))
        await using writer = redisWriter({ client, collection: name })
        expect(await outcome(writer)).toMatchObject(refused)
        expect(await dump(name)).toEqual([{}, [], {}])
      })

    for (const part of ['h', 's', 'm'])
      test(`to the key ${part}: nothing is written`, async () => {
        const { name, client } = await clientOf(
          (of) => `${all(of).replace('*', `[${'hsm'.replace(part, '')}]`)} %R~{${of}}:${part}`,
          ...BOTH,
          ...WRITER,
        )
        await using writer = redisWriter({ client, collection: name })
        expect(await outcome(writer)).toMatchObject(refused)
        expect(await dump(name)).toEqual([{}, [], {}])
      })
  })

  describe('that reads', () => {
    test('with the rights of the guide lists, watches, and meets an absent collection', async () => {
      const { name, client } = await clientOf((of) => `%R~{${of}}:*`, ...BOTH, ...READER)
      const source = redisCollectionSource({ client, collection: name, heartbeatMs: 100 })
      const { version, objects } = await listed(source)
      expect(objects.size).toBe(0)
      const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      await watch.next()
      await watch.next() // It has proved once that there is nothing.
      await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: name })
      await writer.apply([{ put: 'a', object: 1 }])
      const told: unknown[] = []
      while (told.length === 0) told.push(...((await watch.next()).value?.events ?? []))
      expect(told).toEqual([{ type: 'put', key: 'a', object: 1 }])
      await watch.return?.()
      expect((await listed(source)).objects.size).toBe(1)
    })

    for (const right of READER)
      test(`and lacks ${right}: it says what it needs`, async () => {
        const { name, client } = await clientOf(
          (of) => `%R~{${of}}:*`,
          ...BOTH,
          ...READER.filter((each) => each !== right),
        )
        // Some are needed for a collection that is there, and some for one that is not.
        const source = redisCollectionSource({ client, collection: name, heartbeatMs: 100 })
        const errors: unknown[] = []
        const note = (error: unknown): unknown => errors.push(error)
        const watched = async (): Promise<void> => {
          const after = (
            await listed(redisCollectionSource({ client: userClient('ioredis 6', own.redis.port), collection: name }))
          ).version
          for await (const { events } of source.watch({ ...context(), after, onProgressRequest: () => {} }))
            if (events.length === 0) break
        }
        await listed(source).catch(note)
        await watched().catch(note)
        await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: name })
        await writer.apply([{ put: 'a', object: 1 }])
        await listed(source).catch(note)
        await watched().catch(note)
        expect(errors.length).toBeGreaterThan(0)
        for (const error of errors) expect(error).toMatchObject(failure('UNAUTHORIZED', 'see the guide for the ACL'))
      })
  })
})
