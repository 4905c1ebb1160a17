import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { natsRelayStore } from '../../adapters/nats/index.js'
import { systemClock as clock, type RelayStore, systemRandom as random, type Version } from '../../src/adapter.js'
import { describeServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'

const context = { signal: new AbortController().signal, clock, random, warn: () => {} }

/** Writes a text to some keys, in one write for each. Returns the last position. */
async function write(store: RelayStore, text: string, ...keys: string[]): Promise<Version> {
  let { position } = await store.read('header', context)
  for (const key of keys) position = await store.write([{ key, text }], position, context)
  return position
}

describeServer('nats 2.15', 'the store of a relay in NATS', (server) => {
  async function startServer(): Promise<NatsServer> {
    const nats = await NatsServer.start({ server })
    onTestFinished(() => nats[Symbol.asyncDispose]())
    return nats
  }

  test('[J16] refuses a write after a position that was lost, although the new history has reached the same sequence', async () => {
    const nats = await startServer()
    const [data, saved] = [join(nats.folder, 'data'), join(nats.folder, 'saved')]
    const open = async (): Promise<RelayStore> => natsRelayStore({ client: await nats.connect(), relay: 'orders' })
    await write(await open(), '1', 'a', 'header')
    await nats.kill()
    await cp(data, saved, { recursive: true })
    await nats.start()
    const store = await open()
    const lost = await write(store, '2', 'a', 'header')
    await nats.kill()
    await rm(data, { recursive: true })
    await cp(saved, data, { recursive: true })
    await nats.start()
    await write(await open(), '3', 'a', 'header')
    await expect(store.write([{ key: 'a', text: '2' }], lost, context)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await store.read('a', context)).toMatchObject({ text: '3' })
  })

  test('[J16] if the bucket was purged while the write was on its way', async () => {
    const nats = await startServer()
    const connection = await nats.connect()
    const store = natsRelayStore({ client: connection, relay: 'orders' })
    const before = await write(store, '1', 'a', 'header')
    const { publish } = connection
    connection.publish = (subject, ...rest) => {
      if (!subject.startsWith('$KV.')) return publish.call(connection, subject, ...rest)
      connection.publish = publish
      void nats.ask('STREAM.PURGE.KV_relay-orders').then(() => connection.publish(subject, ...rest))
    }
    const late = store.write([{ key: 'header', text: '2' }], before, context)
    await expect(late).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await store.read('header', context)).toMatchObject({ text: undefined })
  })
})
