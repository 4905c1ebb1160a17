import { describe, expect, test } from 'vitest'
import {
  redisCollectionSource,
  redisKeysSource,
  redisStreamSource,
  redisWriter,
  type StreamDecode,
} from '../../adapters/redis/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { describeRedis } from '../servers/index.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { useRedis } from './support.js'

let names = 0

describeRedis('a codec of the user', (server) => {
  const own = useRedis(server)
  const collection = (): { readonly collection: string; readonly client: ReturnType<typeof userClient> } => ({
    collection: `codec-${++names}`,
    client: userClient('ioredis 6', own.redis.port),
  })

  test('encodes objects and decodes values, and receives their keys', async () => {
    const of = collection()
    const codec = (at: Date, key: string): string => `${key}=${at.getTime()}`
    await using writer = redisWriter<Date>({ ...of, codec })
    await writer.apply([{ put: 'a', object: new Date(5) }])
    expect(await own.redis.client().hgetall(`{${of.collection}}:h`)).toEqual({ a: 'a=5' })
    const decode = (value: Uint8Array, key: string): Date =>
      new Date(
        Number(
          Buffer.from(value)
            .toString()
            .slice(key.length + 1),
        ),
      )
    const { objects } = await listed(redisCollectionSource<Date>({ ...of, codec: decode }))
    expect([...objects]).toEqual([['a', new Date(5)]])
  })

  test('that throws makes that object invalid in a mirror; apply rejects, and writes nothing', async () => {
    const of = collection()
    const broken = (): never => {
      throw new RangeError('no such object')
    }
    await using writer = redisWriter<string>({ ...of, codec: 'string' })
    await writer.apply([{ put: 'a', object: 'x' }])
    await using other = redisWriter<string>({ ...of, codec: broken })
    await expect(other.apply([{ put: 'b', object: 'x' }])).rejects.toThrow('no such object')
    expect((await listed(redisCollectionSource({ ...of, codec: broken }))).invalid).toEqual(['a'])
    expect(await own.redis.client().hlen(`{${of.collection}}:h`)).toBe(1)
  })

  test('may encode repeatedly into one buffer', async () => {
    const of = collection()
    const buffer = new Uint8Array(3)
    const codec = (text: string): Uint8Array => {
      buffer.set(Buffer.from(text))
      return buffer
    }
    await using writer = redisWriter<string>({ ...of, codec })
    await writer.apply([
      { put: 'a', object: 'one' },
      { put: 'b', object: 'two' },
    ])
    expect(await own.redis.client().hgetall(`{${of.collection}}:h`)).toEqual({ a: 'one', b: 'two' })
  })

  test('writes bytes as they were at the call, even if they are changed later', async () => {
    const of = collection()
    await using writer = redisWriter<Uint8Array>({ ...of, codec: 'bytes' })
    const object = new Uint8Array(Buffer.from('one'))
    const written = writer.apply([{ put: 'a', object }])
    object.set(Buffer.from('two'))
    await written
    expect(await own.redis.client().hgetall(`{${of.collection}}:h`)).toEqual({ a: 'one' })
  })

  describe('that is asynchronous by mistake', () => {
    const late = async (): Promise<never> => {
      throw new RangeError('nothing waits for it')
    }
    const unhandled = async (work: () => Promise<void>): Promise<unknown[]> => {
      const caught: unknown[] = []
      const note = (error: unknown): unknown => caught.push(error)
      process.on('unhandledRejection', note)
      await work()
      await new Promise((resolve) => setImmediate(resolve))
      process.off('unhandledRejection', note)
      return caught
    }
    const errorsOf = async (source: ListerWatcher<unknown>): Promise<unknown[]> => {
      const errors: unknown[] = []
      for await (const { events } of source.list({ ...context(), pageSize: 100 }))
        for (const event of events) if (event.type === 'invalid') errors.push(event.error)
      return errors
    }
    const promised = expect.objectContaining({ message: expect.stringContaining('returned a promise') })

    test('is rejected by a writer, and never ends the process', async () => {
      const of = collection()
      await using writer = redisWriter<unknown>({ ...of, codec: late as unknown as () => string })
      const caught = await unhandled(async () => {
        await expect(writer.apply([{ put: 'a', object: 1 }])).rejects.toThrow('returned a promise')
      })
      expect(caught).toEqual([])
      expect(await own.redis.client().exists(`{${of.collection}}:s`)).toBe(0)
    })

    type Of = ReturnType<typeof collection>
    const streamed =
      (decode: unknown) =>
      async ({ client, collection: stream }: Of) => {
        await own.redis.client().xadd(stream, '*', 'a', '1')
        return redisStreamSource<unknown>({ client, stream, decode: decode as StreamDecode<unknown> })
      }
    const sources: Readonly<Record<string, (of: Of) => Promise<ListerWatcher<unknown>>>> = {
      'objects of a collection': async (of) => {
        await using writer = redisWriter(of)
        await writer.apply([{ put: 'a', object: 1 }])
        return redisCollectionSource<unknown>({ ...of, codec: late })
      },
      'plain keys': async ({ client, collection: name }) => {
        await own.redis.client().set(`${name}:a`, '1')
        return redisKeysSource<unknown>({ client, prefix: `${name}:`, codec: late })
      },
      'entries of a stream': streamed(late),
      'one of several objects of an entry': streamed(() => [late()]),
      'the object of an entry': streamed(() => ({ key: 'a', object: late() })),
    }
    test.each(Object.entries(sources))('makes %s invalid, and never ends the process', async (_what, make) => {
      const source = await make(collection())
      const caught = await unhandled(async () => {
        expect(await errorsOf(source)).toEqual([promised])
      })
      expect(caught).toEqual([])
    })
  })
})
