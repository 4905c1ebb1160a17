import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { nodeListener } from '../../../adapters/http/index.js'
import { type Clock, systemClock } from '../../../src/index.js'
import { waitUntil } from '../../servers/wait-until.js'
import { listening } from '../../support/listening.js'
import { servedAccounts } from './mirror.js'

/** A watch over a connection that a test reads by hand. */
async function watching(url: string): Promise<{ pause(): void; resume(): void; count(): number }> {
  const { version } = (await (await fetch(`${url}/version`)).json()) as { version: string }
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => {
    socket.destroy()
  })
  let count = 0
  let rest = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    rest += text
    count += rest.split('"type":"put"').length - 1
    rest = rest.slice(rest.lastIndexOf('"type":"put"') + 12)
  })
  socket.write(`GET /watch?after=${encodeURIComponent(version)} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await once(socket, 'data')
  return { pause: () => socket.pause(), resume: () => socket.resume(), count: () => count }
}

async function serving(clock: Clock = systemClock) {
  const served = servedAccounts([], { heartbeatMs: 60_000, clock })
  const server = createServer(nodeListener(served.mirror))
  const url = await listening(server)
  await served.informer.synced()
  onTestFinished(async () => {
    await served[Symbol.asyncDispose]()
    server.closeAllConnections()
    server.close()
  })
  return { ...served, url }
}

test('a watch over a connection that does not drain receives the rest when it drains', async () => {
  const { source, informer, url } = await serving()
  const [slow, quick] = [await watching(url), await watching(url)]
  slow.pause()
  for (let i = 0; i < 400; i++) source.put(`${i}`, { tenant: 'x'.repeat(20_000), balance: i })
  await informer.fresh()
  await waitUntil('all changes at the quick reader', () => quick.count() === 400)
  expect(slow.count()).toBeLessThan(400)
  slow.resume()
  await waitUntil('all changes at the slow reader', () => slow.count() === 400, 4_000)
})

test('frames that arrive while earlier ones are sent in slices reach every follower', async () => {
  let now = 0
  const turns: (() => void)[] = []
  let isHeld = false
  /** Each slice is over at once, and the event loop turns when the test says so. */
  const clock: Clock = {
    now: () => (now += 10),
    sleep: (ms, signal) =>
      isHeld && ms === 0 ? new Promise((resolve) => turns.push(resolve)) : systemClock.sleep(ms, signal),
  }
  const { source, url } = await serving(clock)
  const readers = await Promise.all(Array.from({ length: 40 }, () => watching(url)))
  isHeld = true
  source.put('a', { tenant: 'acme', balance: 1 })
  await waitUntil('the first slice', () => turns.length === 1)
  source.put('b', { tenant: 'acme', balance: 2 })
  await waitUntil('the second frame', () => readers.some((reader) => reader.count() === 1))
  isHeld = false
  for (const turn of turns) turn()
  await waitUntil('both frames at all readers', () => readers.every((reader) => reader.count() === 2), 3_000)
})
