import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { directBodyOf, Follower } from '../../../../serving/http/follower.js'
import { nodeListener, serveHttp } from '../../../../serving/http/index.js'
import { type Clock, systemClock } from '../../../../src/adapter.js'
import { createInformer } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'
import { waitUntil } from '../../../servers/wait-until.js'
import { listening } from '../../../support/listening.js'
import type { Account } from './mirror.js'

async function versionOf(url: string): Promise<string> {
  const { version } = (await (await fetch(`${url}/version`)).json()) as { version: string }
  return version
}

/** A watch over a connection that a test reads by hand. */
async function watching(url: string, version: string): Promise<{ pause(): void; resume(): void; count(): number }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
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

/** Serves a collection without bookmarks, which would send what an earlier delivery has left out. */
async function serving(clock: Clock = systemClock) {
  const source = memorySource<Account>({ heartbeatMs: 60_000 })
  const informer = createInformer({ source }).start()
  const mirror = serveHttp(informer, { heartbeatMs: 60_000, clock })
  const server = createServer(nodeListener(mirror))
  const url = await listening(server)
  await informer.synced()
  onTestFinished(async () => {
    await mirror.close()
    await informer.stop()
    server.closeAllConnections()
    server.close()
  })
  return { source, informer, url }
}

test('a watch over a connection that does not drain receives the rest when it drains', async () => {
  const { source, informer, url } = await serving()
  const version = await versionOf(url)
  const [slow, quick] = [await watching(url, version), await watching(url, version)]
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
  const version = await versionOf(url)
  const readers = await Promise.all(Array.from({ length: 40 }, () => watching(url, version)))
  isHeld = true
  source.put('a', { tenant: 'acme', balance: 1 })
  await waitUntil('the first slice', () => turns.length === 1)
  source.put('b', { tenant: 'acme', balance: 2 })
  // A watch that begins receives at once what the log has.
  await waitUntil('the second frame', async () => (await watching(url, version)).count() === 2)
  isHeld = false
  for (const turn of turns) turn()
  await waitUntil('both frames at all readers', () => readers.every((reader) => reader.count() === 2), 3_000)
})

test('[V12] a watch ends when its signal aborts, also after the garbage collector has run', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const informer = createInformer({ source: memorySource<Account>() }).start()
  const mirror = serveHttp(informer)
  onTestFinished(async () => {
    await mirror.close()
    await informer.stop()
  })
  const { version } = (await (await mirror(new Request('http://mirror.test/version'))).json()) as { version: string }
  const closing = new AbortController()
  const { signal } = closing
  const ended = vi.fn()
  const begin = async (): Promise<void> => {
    const address = `http://mirror.test/watch?after=${encodeURIComponent(version)}`
    const body = directBodyOf(await mirror(new Request(address, { signal })))
    if (body instanceof Follower) body.attach({ write: () => true, end: ended })
  }
  await begin()
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(ended).not.toHaveBeenCalled()
  closing.abort()
  expect(ended).toHaveBeenCalledTimes(1)
})
