import { createServer, type Server } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { httpSource, nodeListener, serveMirror } from '../../adapters/http/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { memorySource } from '../../testing/index.js'
import { describeServer, type FoundServer } from '../servers/index.js'
import { Nginx, type NginxOptions } from '../servers/nginx.js'
import { waitUntil } from '../servers/wait-until.js'
import { listening } from '../support/listening.js'

interface Order {
  readonly text: string
}

/** Servers that mirror one collection, and nginx in front of them. */
async function balanced(server: FoundServer, count: number, options: Partial<NginxOptions>) {
  const source = memorySource<Order>({ heartbeatMs: 200 })
  for (let i = 0; i < 3_000; i++) source.put(`${i}`, { text: 'x'.repeat(1_000) })
  const servers: { readonly http: Server; readonly port: number }[] = []
  for (let i = 0; i < count; i++) {
    const informer = createInformer({ source })
    await informer.start().synced()
    const mirror = serveMirror(informer, { heartbeatMs: 200, watchMs: 3_000 })
    const http = createServer(nodeListener(mirror))
    servers.push({ http, port: Number(new URL(await listening(http)).port) })
    onTestFinished(async () => {
      await mirror.close()
      await informer.stop()
      http.closeAllConnections()
      http.close()
    })
  }
  const nginx = await Nginx.start({ server, targets: servers.map(({ port }) => port), ...options })
  onTestFinished(() => nginx[Symbol.asyncDispose]())
  const follow = (): Informer<Order> => {
    const follower = createInformer({ source: httpSource<Order>({ url: nginx.url, heartbeatMs: 200 }) })
    follower.on('error', () => {})
    onTestFinished(() => follower.stop())
    return follower.start()
  }
  return { source, servers, follow }
}

/** A follower that its balancer has moved to another server rejects, because that has another history. */
async function freshOrMoved(follower: Informer<Order>): Promise<void> {
  const wait = { timeoutMs: 10_000 }
  await follower.fresh(wait).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'EPOCH_CHANGED' })
    return follower.fresh(wait)
  })
}

describeServer('nginx', 'followers behind nginx', (server) => {
  test.each([
    ['one after the other', ''],
    ['at random', 'random;'],
    ['by the address of the client', 'ip_hash;'],
  ])(
    '[V22] that selects servers %s list, follow and are fresh',
    async (_how, balancing) => {
      const { source, servers, follow } = await balanced(server, 3, { balancing })
      const followers = [follow(), follow()]
      await Promise.all(followers.map((each) => each.synced({ timeoutMs: 20_000 })))
      const relists = (): number => followers.reduce((sum, { status }) => sum + status.relists, 0)
      const before = relists()
      // Watches end after 3 s, and are resumed at the server of their feed.
      for (let i = 0; i < 70; i++) {
        source.put(`new ${i}`, { text: 'new' })
        source.delete(`${i}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
        await Promise.all(followers.map(freshOrMoved))
        for (const each of followers) expect([each.has(`new ${i}`), each.has(`${i}`)]).toEqual([true, false])
      }
      // A watch that misses its server as often as that is one list.
      expect(relists() - before).toBeLessThan(5)
      servers[0]?.http.close().closeAllConnections()
      source.put('last', { text: 'last' })
      await Promise.all(followers.map((each) => waitUntil('the last order', () => each.has('last'), 30_000)))
    },
    120_000,
  )

  test('[V24] that compresses receive each change', async () => {
    const location = 'gzip on; gzip_types *; gzip_proxied any;'
    const { source, follow } = await balanced(server, 1, { location })
    const follower = follow()
    await follower.synced({ timeoutMs: 10_000 })
    source.put('new', { text: 'new' })
    await waitUntil('the change', () => follower.has('new'), 2_000)
  })

  test('[V23] with a cache that repeats responses report it, and show no earlier state', async () => {
    const location =
      'proxy_cache cached; proxy_cache_key $uri; proxy_cache_valid any 1m; proxy_ignore_headers Cache-Control X-Accel-Buffering;'
    const { source, follow } = await balanced(server, 1, { location })
    const first = follow()
    await waitUntil('the first list', () => first.size > 0, 10_000)
    source.delete('0')
    const second = follow()
    await waitUntil('a message', () => second.status.lastError !== undefined, 10_000)
    expect(second.status).toMatchObject({ isSynced: false, lastError: { code: 'PROTOCOL' } })
    expect(second.status.lastError?.message).toContain('received the answer to another request: a proxy')
  })
})
