import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { memoryLeases } from '../../adapters/memory/index.js'
import { httpSource, nodeListener, serveHttp } from '../../serving/http/index.js'
import { createInformer, type Informer, type ReconcileContext } from '../../src/index.js'
import { memorySource } from '../../testing/index.js'
import { describeServer, type FoundServer } from '../servers/index.js'
import { Nginx, type NginxOptions } from '../servers/nginx.js'
import { waitUntil } from '../servers/wait-until.js'
import { listening } from '../support/listening.js'
import { Load } from '../support/load.js'

type Order = { readonly text: string }

/** Servers that mirror one collection, and nginx in front of them. */
async function balanced(server: FoundServer, count: number, options: Partial<NginxOptions>) {
  const source = memorySource<Order>({ heartbeatMs: 200 })
  for (let i = 0; i < 3_000; i++) source.put(`${i}`, { text: 'x'.repeat(1_000) })
  const servers: { readonly http: Server; readonly port: number; readonly stop: () => Promise<void> }[] = []
  for (let i = 0; i < count; i++) {
    const informer = createInformer({ source })
    await informer.start().synced()
    const mirror = serveHttp(informer, { heartbeatMs: 200, watchMs: 3_000 })
    const listener = nodeListener(mirror)
    let isStopping = false
    const http = createServer((request, response) => {
      if (isStopping) response.setHeader('connection', 'close')
      if (request.url !== '/ready') listener(request, response)
      else response.writeHead(isStopping ? 503 : 200).end()
    })
    /** In the order of the guide. */
    const stop = async (): Promise<void> => {
      isStopping = true
      await sleep(500)
      const closed = new Promise((resolve) => http.close(resolve))
      await mirror.close()
      await closed
      await informer.stop()
    }
    servers.push({ http, port: Number(new URL(await listening(http)).port), stop })
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
  return { source, servers, url: nginx.url, follow }
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
  ])('[V22] that selects servers %s list, follow and are fresh', async (_how, balancing) => {
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
  })

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

  test('[L10][V22] lose nothing under load when a server stops, and then one of two that share the keys of a controller', async () => {
    const { source, servers, url, follow } = await balanced(server, 2, {
      parameters: 'max_fails=1 fail_timeout=10s',
      location: 'proxy_next_upstream error timeout http_503;',
    })
    const probes = setInterval(() => void fetch(`${url}/ready`).catch(() => {}), 50)
    onTestFinished(() => clearInterval(probes))
    const leases = memoryLeases({ group: 'workers', leaseMs: 1_000 })
    const handled = new Map<string, string | undefined>()
    const running = new Set<string>()
    const flaws: string[] = []
    const followers = [follow(), follow()]
    for (const each of followers) {
      const run = async (key: string, { object, signal }: ReconcileContext<Order>): Promise<void> => {
        if (running.has(key)) flaws.push(`${key} is run twice at a time`)
        running.add(key)
        await sleep(20)
        if (signal.aborted) flaws.push(`the run of ${key} was aborted`)
        handled.set(key, object?.text)
        running.delete(key)
      }
      each.reconcile(run, { leases, concurrency: 50 })
    }
    const [leaving, staying] = followers
    const wanted = new Map<string, string>()
    await Promise.all(followers.map((each) => each.synced({ timeoutMs: 20_000 })))
    await waitUntil('the first run of each key', () => handled.size === 3_000)
    {
      await using load = new Load(async (n) => {
        source.put(`${n % 500}`, { text: `${n}` })
        wanted.set(`${n % 500}`, `${n}`)
        if (!followers.every((each) => each.size === 3_000)) flaws.push('a read finds fewer objects')
      })
      await load.more(200)
      await servers[0]?.stop()
      await load.more(200)
      await leaving?.stop({ drainMs: 5_000 })
      await load.more(200)
    }
    await waitUntil('all to be handled', () => [...wanted].every(([key, text]) => handled.get(key) === text))
    expect([...wanted].filter(([key, text]) => staying?.get(key)?.text !== text)).toEqual([])
    expect(flaws).toEqual([])
  })
})
