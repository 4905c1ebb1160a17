import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bucket, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { type NatsKvSourceOptions, natsKvSource } from '../../adapters/nats/index.js'
import { createInformer, type SourceError } from '../../src/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeServer } from '../servers/index.js'
import type { NatsServer } from '../servers/nats.js'
import { waitUntil } from '../servers/wait-until.js'
import { context, listed } from '../support/source-calls.js'
import { useNats } from './support.js'

let buckets = 0

/** A mirror of a new bucket with the keys `a`, `b` and `c`, behind a proxy. */
async function stage(
  nats: NatsServer,
  { bucket = `bucket-${++buckets}`, ...options }: Partial<NatsKvSourceOptions<number>> = {},
  config: Parameters<Kvm['create']>[1] = {},
) {
  const proxy = await startFaultProxy({ targetPort: nats.port })
  const admin = await nats.connect()
  const kv = (await new Kvm(admin).create(bucket, config)) as Bucket
  for (const key of ['a', 'b', 'c']) await kv.put(key, '1')
  const connection = await nats.connect({ port: proxy.port })
  const source = natsKvSource<number>({ client: connection, bucket, heartbeatMs: 1_000, verifyMs: 100, ...options })
  let count = 0
  const list = (each: Parameters<typeof source.list>[0]): ReturnType<typeof source.list> => {
    count++
    return source.list(each)
  }
  const counted = { ...methodsOf(source), list }
  const mirror = createInformer({ source: counted, audit: false })
  const errors: SourceError[] = []
  mirror.on('error', (error) => errors.push(error))
  await mirror.start().synced()
  onTestFinished(async () => {
    await mirror.stop()
    await connection.close()
    await proxy[Symbol.asyncDispose]()
  })
  return { proxy, kv, admin, connection, mirror, errors, lists: () => count }
}

function methodsOf<T>(source: ReturnType<typeof natsKvSource<T>>): ReturnType<typeof natsKvSource<T>> {
  return {
    name: source.name,
    heartbeatMs: source.heartbeatMs,
    list: (each) => source.list(each),
    watch: (each) => source.watch(each),
    versions: (each) => source.versions(each),
    head: (each) => source.head(each),
    hasReached: (at, mark) => source.hasReached(at, mark),
  }
}

async function consumersOf(admin: NatsConnection, bucket: string): Promise<number> {
  const info = await admin.request(`$JS.API.CONSUMER.NAMES.KV_${bucket}`)
  return info.json<{ total: number }>().total
}

describeServer('nats 2.15', 'a mirror of a NATS bucket', (server) => {
  const shared = useNats(server)

  test('[J7] a header that nats.js cannot read, and keys that are not UTF-8, leave the connection and the mirror as they are', async () => {
    const { admin, kv, mirror, lists } = await stage(shared.nats)
    const { bucket } = await kv.status()
    // As a program in Go may write it.
    const publish = (key: string, payload: string, header: string): void =>
      admin.publish(`$KV.${bucket}.${key}`, payload, {
        headers: { encode: () => Buffer.from(`NATS/1.0\r\nMy Header: x\r\n${header}\r\n`) } as never,
      })
    publish('d', '4', '')
    await waitUntil('the value', () => mirror.get('d') === 4)
    publish('a', '', 'KV-Operation: DEL\r\n')
    await kv.put('b', '7')
    await waitUntil('the next value', () => mirror.get('b') === 7)
    expect(mirror.get('a')).toBeUndefined()
    const puts = ['\xfe', '\xff'].map((key) => `PUB $KV.${bucket}.${key} 1\r\n8\r\n`)
    connect(shared.nats.port).end(Buffer.from(`CONNECT {}\r\n${puts.join('')}`, 'latin1'))
    await waitUntil('a key that is not UTF-8', () => mirror.invalid.size > 0)
    expect([mirror.size, mirror.invalid.size, lists()]).toEqual([3, 1, 1])
  })

  test('[J11] deletes whose markers were purged while the connection was down are found, without a list', async () => {
    const { proxy, kv, mirror, lists } = await stage(shared.nats)
    proxy.refuse()
    proxy.reset()
    await kv.delete('a')
    await kv.put('b', '2')
    await kv.purgeDeletes(-1)
    proxy.pass()
    await waitUntil('the delete', () => mirror.get('a') === undefined && mirror.get('b') === 2)
    expect([mirror.size, lists()]).toEqual([2, 1])
  })

  test.each([
    ['keys whose values expire', { ttl: 2_000 }],
    ['a purge of the whole bucket', {}],
  ])('[J11] %s, and the mirror is empty, without a list', async (_what, config) => {
    const { admin, kv, mirror, lists } = await stage(shared.nats, {}, config)
    if (!('ttl' in config)) await admin.request(`$JS.API.STREAM.PURGE.KV_${(await kv.status()).bucket}`)
    await waitUntil('the end of all values', () => mirror.size === 0)
    await kv.put('a', '5')
    await waitUntil('the next value', () => mirror.get('a') === 5)
    expect(lists()).toBe(1)
  })

  test('[J11] a message that is erased is a delete, also with a filter', async () => {
    const { admin, kv, mirror } = await stage(shared.nats, { subjects: ['b', 'c.*'] })
    expect([...mirror.keys()]).toEqual(['b'])
    const { revision = 0 } = (await kv.get('b')) ?? {}
    const { bucket } = await kv.status()
    await admin.request(`$JS.API.STREAM.MSG.DELETE.KV_${bucket}`, JSON.stringify({ seq: revision }))
    await waitUntil('the delete', () => mirror.size === 0)
  })

  test('a mirror shows only states that the bucket had, though it has one revision of each key', async () => {
    const { kv, mirror } = await stage(shared.nats, { bucket: 'states' })
    const connection = await shared.nats.connect()
    const source = natsKvSource<number>({ client: connection, bucket: 'states' })
    const begin = await listed(source)
    const stop = new AbortController()
    const seen: [number, number][] = []
    const watching = (async () => {
      const state = new Map(begin.objects)
      const watch = source.watch({ ...context(stop.signal), after: begin.version, onProgressRequest: () => {} })
      for await (const { events } of watch) {
        for (const event of events) if (event.type === 'put') state.set(event.key, event.object)
        seen.push([state.get('a') ?? 0, state.get('b') ?? 0])
      }
    })().catch(() => {}) // It was aborted.
    const lists: [number, number][] = []
    let isDone = false
    const listing = (async () => {
      while (!isDone) {
        const { objects } = await listed(source, 1)
        lists.push([objects.get('a') ?? 0, objects.get('b') ?? 0])
      }
    })()
    for (let n = 2; n <= 400; n++) {
      await kv.put('a', String(n))
      await kv.put('b', String(n))
    }
    isDone = true
    await listing
    await waitUntil('the last value', () => mirror.get('b') === 400)
    stop.abort()
    await watching
    expect(seen.at(-1)).toEqual([400, 400])
    expect(lists.length).toBeGreaterThan(10)
    for (const [a, b] of [...seen, ...lists]) expect([b, b + 1]).toContain(a)
  })

  test('a bucket that was created again is another history, also with a later revision', async () => {
    const { kv, admin, mirror, errors } = await stage(shared.nats)
    const { bucket } = await kv.status()
    await kv.destroy()
    const again = await new Kvm(admin).create(bucket)
    for (let n = 0; n < 5; n++) await again.put('z', String(n))
    await waitUntil('the new content', () => mirror.size === 1 && mirror.get('z') === 4)
    expect(errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
  })

  test('a value larger than a response of the server is delivered', async () => {
    const { kv, mirror } = await stage(shared.nats, { codec: (value) => value.length })
    await kv.put('a', 'x'.repeat(5 * 1024 * 1024))
    await kv.put('b', '22')
    await waitUntil('the values', () => mirror.get('a') === 5 * 1024 * 1024 && mirror.get('b') === 2)
  })

  test('a connection that is silent is noticed, and a slow one loses nothing', async () => {
    const { proxy, kv, mirror, lists, errors } = await stage(shared.nats, { timeoutMs: 1_000 })
    proxy.halfOpen()
    await kv.put('a', '2')
    await waitUntil('an error', () => errors.some(({ code }) => code === 'UNAVAILABLE'))
    proxy.reset()
    proxy.pass()
    proxy.throttle(20_000)
    for (let n = 0; n < 300; n++) await kv.put(`key-${n}`, String(n))
    await waitUntil('all values', () => mirror.size === 303 && mirror.get('a') === 2)
    expect(lists()).toBe(1)
  })

  test('a third of a second as heartbeatMs needs few requests; stop leaves no consumer, and the connection open', async () => {
    const { kv, admin, connection, mirror } = await stage(shared.nats, { heartbeatMs: 1_000 / 3 })
    const { bucket } = await kv.status()
    await waitUntil('one consumer', async () => (await consumersOf(admin, bucket)) === 1)
    const { outMsgs } = connection.stats()
    await sleep(1_000)
    expect(connection.stats().outMsgs - outMsgs).toBeLessThan(100)
    await mirror.stop()
    await waitUntil('no consumer', async () => (await consumersOf(admin, bucket)) === 0, 5_000)
    await sleep(100)
    expect(await consumersOf(admin, bucket)).toBe(0)
  })

  test('a bucket that does not exist is NOT_FOUND, and a closed connection a mistake in the program', async () => {
    const client = await shared.nats.connect()
    const source = natsKvSource({ client, bucket: 'missing' })
    await expect(source.head(context())).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await client.close()
    await expect(source.head(context())).rejects.toMatchObject({ name: 'OptionError', option: 'client' })
  })

  test.each([
    ['that others are copied into', { sources: [{ name: 'KV_origin' }] }],
    ['that is a mirror of a mirror', { mirror: { name: 'KV_copy' } }],
    [
      'that is a mirror with other subjects',
      { mirror: { name: 'KV_origin', subject_transforms: [{ src: '$KV.origin.>', dest: '$KV.other.>' }] } },
    ],
  ])('[J18] a bucket %s is PROTOCOL, because its messages have subjects of another bucket', async (title, config) => {
    const admin = await shared.nats.connect()
    const create = async (name: string, more: object): Promise<void> => {
      const response = await admin.request(`$JS.API.STREAM.CREATE.${name}`, JSON.stringify({ name, ...more }))
      expect(response.json<object>()).not.toHaveProperty('error.description')
    }
    await (await new Kvm(admin).create('origin')).put('a', '1')
    await create('KV_copy', { mirror: { name: 'KV_origin' } }).catch(() => {}) // An earlier case has created it.
    const bucket = title.replaceAll(' ', '-')
    await create(`KV_${bucket}`, config)
    const source = natsKvSource<number>({ client: admin, bucket })
    let error: unknown
    const isRefused = async (): Promise<boolean> => {
      error = await listed(source).catch((thrown: unknown) => thrown)
      return error instanceof Error
    }
    await waitUntil('the copied message', isRefused)
    expect(error).toMatchObject({ code: 'PROTOCOL', message: expect.stringMatching(/\.a, and/) })
    expect((await listed(natsKvSource<number>({ client: admin, bucket: 'copy' }))).objects.size).toBe(1)
  })
})
