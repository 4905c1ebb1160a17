import { type Bucket, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import type { NatsClient } from '../../adapters/nats/connection/nats-client.js'
import { type NatsKvSourceOptions, natsKvSource } from '../../adapters/nats/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { describeServer } from '../servers/index.js'
import type { NatsServer } from '../servers/nats.js'
import { waitUntil } from '../servers/wait-until.js'
import { useNats } from './support.js'

/** Sends a message, now or later, perhaps as another one. */
type Send = (subject: string, payload: string) => void
type Stage = { readonly mirror: Informer<number, object>; erase(key: string): Promise<void> }

/** A connection whose messages pass through `onPublish`. */
function passingThrough(
  connection: NatsConnection,
  onPublish: (subject: string, payload: string, send: Send) => void,
): NatsClient & { readonly options: object; readonly info: object | undefined } {
  const { options } = connection as unknown as { readonly options: object }
  return {
    options,
    info: connection.info,
    publish: (subject: string, payload: string, more: { reply?: string } = {}): void =>
      onPublish(subject, payload, (to, body) => connection.publish(to, body, more)),
    subscribe: connection.subscribe.bind(connection),
    status: connection.status.bind(connection),
    isClosed: connection.isClosed.bind(connection),
    isDraining: connection.isDraining.bind(connection),
  }
}

/** A mirror of a new bucket with these keys, which searches for removed keys every 100 ms. */
async function stage(
  nats: NatsServer,
  bucket: string,
  keys: readonly string[],
  onPublish: (subject: string, payload: string, send: Send, erase: Stage['erase']) => void,
  options: Partial<NatsKvSourceOptions<number>> = {},
): Promise<Stage> {
  const admin = await nats.connect()
  const kv = (await new Kvm(admin).create(bucket)) as Bucket
  for (const key of keys) await kv.put(key, '1')
  const erase = async (key: string): Promise<void> => {
    const { revision: seq = 0 } = (await kv.get(key)) ?? {}
    await admin.request(`$JS.API.STREAM.MSG.DELETE.KV_${bucket}`, JSON.stringify({ seq }))
  }
  const connection = passingThrough(await nats.connect(), (subject, payload, send) =>
    onPublish(subject, payload, send, erase),
  )
  const times = { heartbeatMs: 1_000, timeoutMs: 1_000, verifyMs: 100 }
  const source = natsKvSource<number>({ client: connection, bucket, ...times, ...options })
  const mirror = createInformer({ source, audit: false })
  await mirror.start().synced()
  await waitUntil('the watch', () => mirror.status.state === 'live')
  onTestFinished(() => mirror.stop())
  return { mirror, erase }
}

describeServer('nats 2.15', 'a search for keys that were removed without a marker', (server) => {
  const shared = useNats(server)

  test.each([
    ['of a whole bucket', 'during', {}],
    ['of a part of a bucket', 'during-part', { subjects: '*' }],
  ])('[J11] %s is repeated if keys are removed while it reads', async (_title, bucket, part) => {
    // Many: the interval must not grow from search to search, as it does while a replica lags behind.
    const victims = Array.from({ length: 120 }, (_, at) => `v${at}`)
    let search: string | undefined
    const { mirror, erase } = await stage(
      shared.nats,
      bucket,
      ['a', ...victims, 'stays'],
      (subject, payload, send, eraseNow) => {
        const name = subject.split('.').at(-1)
        if (payload.includes('"headers_only":true')) search = name
        else if (subject.includes('CONSUMER.DELETE') && name === search) search = undefined
        const victim = search && subject.includes('STREAM.INFO') ? victims.shift() : undefined
        if (victim === undefined) send(subject, payload)
        else void eraseNow(victim).then(() => send(subject, payload))
      },
      { ...part, heartbeatMs: 100 },
    )
    await erase('a')
    await waitUntil('all removals', () => mirror.size === 1)
    expect([[...mirror.keys()], mirror.status.relists]).toEqual([['stays'], 0])
  })

  test('[J11] is repeated if its request is lost with a server, while the watch continues', async () => {
    let search = ''
    const { mirror, erase } = await stage(shared.nats, 'lost-pull', ['a', 'stays'], (subject, payload, send) => {
      const name = subject.split('.').at(-1) ?? ''
      if (payload.includes('"headers_only":true')) search ||= name
      if (name !== search || !subject.includes('MSG.NEXT')) send(subject, payload)
    })
    await erase('a')
    await waitUntil('a search', () => search !== '')
    await waitUntil('the removal', () => mirror.size === 1, 30_000)
    expect([...mirror.keys(), mirror.status.relists, mirror.status.reconnects]).toEqual(['stays', 0, 0])
  })

  test.each([
    ['of a whole bucket', 'lagging', {}],
    ['of a part of a bucket', 'lagging-part', { subjects: '*' }],
  ])('[J11] %s is repeated if it has read a replica that still has a removed key', async (_title, bucket, part) => {
    /** The searches that read the copy. */
    const redirected = new Set<string>()
    const stream = `KV_${bucket}`
    const onPublish = (subject: string, payload: string, send: Send): void => {
      const name = subject.split('.').at(-1) ?? ''
      if (payload.includes('"headers_only":true') && redirected.size < 3) redirected.add(name)
      if (redirected.has(name)) send(subject.replace(stream, 'COPY'), payload.replace(stream, 'COPY'))
      else send(subject, payload)
    }
    const { mirror, erase } = await stage(shared.nats, bucket, ['a', 'stays'], onPublish, part)
    // A mirror of a stream keeps messages that its origin erases, as a replica that lags behind does.
    const admin = await shared.nats.connect()
    const copy = { name: 'COPY', mirror: { name: stream } }
    await admin.request('$JS.API.STREAM.CREATE.COPY', JSON.stringify(copy))
    const copied = async (): Promise<boolean> => {
      const info = await admin.request('$JS.API.STREAM.INFO.COPY')
      return info.json<{ state: { messages: number } }>().state.messages === 2
    }
    await waitUntil('the copy', copied)
    await erase('a')
    await waitUntil('the removal', () => mirror.size === 1)
    await admin.request('$JS.API.STREAM.DELETE.COPY')
    expect([[...mirror.keys(), mirror.status.relists], redirected.size]).toEqual([['stays', 0], 3])
  })
})
