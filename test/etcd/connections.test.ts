import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { context } from '../support/source-calls.js'
import { listed } from './follow.js'
import { Stage } from './stage.js'
import { useEtcd } from './support.js'

const large = (n: number): string => JSON.stringify({ n, padding: 'x'.repeat(256_000) })

async function drained(iterator: AsyncIterator<unknown>): Promise<void> {
  while ((await iterator.next()).done !== true);
}

/** Revisions that etcd sends in one message. */
async function writeLarge({ writer, prefix }: Stage, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await writer.put(`${prefix}large${at}`).value(large(at))
}

describeEtcd('a connection that fails', (server) => {
  const own = useEtcd(server)
  const stage = (act: (stage: Stage) => Promise<void>, options: { readonly form?: 'client' } = {}): Promise<void> =>
    Stage.with({ etcd: own.etcd, ...options }, act)

  for (const options of [{}, { form: 'client' }] as const) {
    const form = options.form ?? 'endpoints'
    test(`by a reset is resumed, without a list (${form})`, () =>
      stage(async (mirror) => {
        await mirror.fill(20)
        await mirror.live()
        for (let times = 0; times < 3; times++) {
          mirror.proxy.reset()
          await mirror.put(['k1', times], ['k2', undefined], [`new${times}`, 1])
          await mirror.healed()
        }
        expect(mirror.relists).toBe(0)
        expect(mirror.reconnects).toBeGreaterThanOrEqual(3)
      }, options))

    test(`that is half open is noticed without traffic, and resumed (${form})`, () =>
      stage(async (mirror) => {
        await mirror.fill(20)
        await mirror.live()
        mirror.proxy.halfOpen()
        await mirror.put(['k1', 1])
        await mirror.healed()
        // One time-out: the next connection is a new one.
        expect([mirror.relists, mirror.errors.map(({ code }) => code)]).toEqual([0, ['UNAVAILABLE']])
      }, options))
  }

  test('[E4][E5] twice before a whole revision has arrived leads to a list', () =>
    stage(async (mirror) => {
      await mirror.fill(20)
      await mirror.live()
      mirror.proxy.reset()
      mirror.proxy.refuse()
      for (let at = 0; at < 20; at++) await mirror.writer.put(`${mirror.prefix}big`).value(large(at))
      mirror.proxy.pass()
      mirror.proxy.throttle(300_000)
      for (let times = 0; times < 2; times++) {
        const errors = mirror.errors.length
        await Promise.race([mirror.proxy.cutAfter(200_000, 'toClient'), sleep(10_000)])
        await mirror.until('the cut to be noticed', () => mirror.errors.length > errors)
      }
      mirror.proxy.throttle(0)
      await mirror.healed()
      expect(mirror.relists).toBe(1)
    }))

  // These mostly wait for a slow line.
  for (const options of [{}, { form: 'client' }] as const) {
    const form = options.form ?? 'endpoints'
    test.concurrent(`[E3][E5] that is slow carries a list (${form})`, () =>
      stage(async (mirror) => {
        await mirror.fill(20) // Small entries, whose pages are quick, come before the large ones.
        await writeLarge(mirror, 12)
        mirror.proxy.throttle(1_000_000)
        await mirror.live()
        await mirror.healed()
      }, options))

    test.concurrent(`[E3] that is slow carries a catch-up, though one message takes longer than any timeout (${form})`, () =>
      stage(async (mirror) => {
        await mirror.fill(20)
        await mirror.live()
        mirror.proxy.reset()
        mirror.proxy.refuse()
        await writeLarge(mirror, 12)
        mirror.proxy.pass()
        mirror.proxy.throttle(1_000_000)
        await mirror.healed()
        // The client does not show the bytes of an unfinished message: after two watches without progress, one list.
        expect(mirror.relists).toBeLessThanOrEqual(form === 'endpoints' ? 0 : 1)
      }, options))
  }

  test.concurrent('that was refused, and is no longer wanted, is not opened later', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.etcd.port })
    for (const ms of [10, 60, 110, 160, 260]) {
      proxy.refuse()
      const stop = new AbortController()
      const source = etcdSource({ endpoints: `127.0.0.1:${proxy.port}`, prefix: '/unwanted/' })
      const list = source
        .list({ ...context(stop.signal), pageSize: 100 })
        [Symbol.asyncIterator]()
        .next()
      list.catch(() => {})
      await sleep(ms)
      stop.abort()
      await expect(list).rejects.toThrow()
      proxy.pass()
      await sleep(1_500) // As long as between two attempts, and more.
      expect(proxy.counts.open, `after ${ms} ms`).toBe(0)
    }
  })

  test('is retried at another endpoint, if a host is dead or never responds', async () => {
    await using silent = await startFaultProxy({ targetPort: own.etcd.port })
    silent.hold()
    const dead = '127.0.0.1:1'
    await Stage.with(
      { etcd: own.etcd, source: { endpoints: [dead, `127.0.0.1:${silent.port}`, own.etcd.endpoint] } },
      async (mirror) => {
        await mirror.fill(5)
        await mirror.live()
        await mirror.put(['k1', 9])
        await mirror.healed()
        expect(mirror.errors).toEqual([])
      },
    )
  })

  test('for longer than the history is kept leads to one list', () =>
    stage(async (mirror) => {
      await mirror.fill(20)
      await mirror.live()
      mirror.proxy.reset()
      mirror.proxy.refuse()
      mirror.proxy.refuse()
      for (let at = 0; at < 10; at++) await mirror.put([`k${at}`, at === 5 ? undefined : 7])
      await mirror.compact()
      await mirror.put(['after', 1])
      mirror.proxy.pass()
      await mirror.healed()
      expect(mirror.relists).toBe(1)
      expect(mirror.errors.map(({ code }) => code)).toContain('VERSION_EXPIRED')
    }))

  test('for longer than maxCatchup leads to one list', () =>
    Stage.with({ etcd: own.etcd, source: { maxCatchup: 50 } }, async (mirror) => {
      await mirror.fill(20)
      await mirror.live()
      mirror.proxy.reset()
      mirror.proxy.refuse()
      for (let at = 0; at < 60; at++) await mirror.put([`k${at}`, at])
      mirror.proxy.pass()
      await mirror.healed()
      expect(mirror.relists).toBe(1)
      expect(mirror.errors.map(({ message }) => message).join()).toContain('maxCatchup')
    }))

  test('during a list whose revision is compacted leads to another list, which ends', () =>
    // By `endpoints`, etcd 3.7 has sent the whole list before it is compacted.
    Stage.with({ etcd: own.etcd, form: 'client', source: { pageSize: 100 } }, async (mirror) => {
      await mirror.fill(1_000)
      const pages = mirror.source.list({ ...context(), pageSize: 100 })[Symbol.asyncIterator]()
      await pages.next()
      await mirror.put(['k1', 1])
      await mirror.compact()
      await expect(drained(pages)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await mirror.live()
      await mirror.healed()
    }))

  test('whose peer is silent fails after timeoutMs', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.etcd.port })
    const endpoints = `127.0.0.1:${proxy.port}`
    const source = etcdSource({ endpoints, prefix: '/silent/', heartbeatMs: 400, timeoutMs: 1_000 })
    const stop = new AbortController()
    const from = await listed(source)
    const watch = source
      .watch({ ...context(stop.signal), after: from, onProgressRequest: () => {} })
      [Symbol.asyncIterator]()
    await watch.next() // The server has responded to a progress request once.
    proxy.halfOpen()
    await expect(drained(watch)).rejects.toMatchObject(failure('UNAVAILABLE', /^no (data for|response from) /))
    stop.abort()
  })

  test('that is aborted before it is open is not opened, at whichever time', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.etcd.port })
    const source = etcdSource({ endpoints: `127.0.0.1:${proxy.port}`, prefix: '/unwanted/' })
    const after = await listed(source)
    const calls = [
      (signal: AbortSignal) => source.list({ ...context(signal), pageSize: 100 }),
      (signal: AbortSignal) => source.watch({ ...context(signal), after, onProgressRequest: () => {} }),
    ]
    for (const call of calls) {
      for (let turns = 0; turns < 40; turns++) {
        const stop = new AbortController()
        const first = call(stop.signal)[Symbol.asyncIterator]().next()
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        stop.abort()
        await expect(first).rejects.toThrow()
      }
    }
    // A connection that opened later than this would stay open.
    await listed(source)
    await waitUntil('no connection to be left', () => proxy.counts.open === 0)
    await sleep(200)
    expect(proxy.counts.open).toBe(0)
  })

  test('that stands still while the history is compacted fails with VERSION_EXPIRED', () =>
    stage(async (mirror) => {
      const after = await listed(mirror.source)
      const stop = new AbortController()
      const watch = mirror.source
        .watch({ ...context(stop.signal), after, onProgressRequest: () => {} })
        [Symbol.asyncIterator]()
      await mirror.put(['k', 0])
      await watch.next()
      mirror.proxy.hold()
      const value = Buffer.alloc(4_000, 49)
      // More events than etcd buffers for one slow watch.
      const writing = Array.from({ length: 10 }, async (_, writer) => {
        for (let at = 0; at < 100; at++) await mirror.writer.put(`${mirror.prefix}${writer}`).value(value)
      })
      await Promise.all(writing)
      await mirror.compact()
      mirror.proxy.pass()
      await expect(drained(watch)).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
      stop.abort()
    }))

  test('with a slow reader delays the server, and keeps memory bounded', () =>
    stage(async (mirror) => {
      const from = await listed(mirror.source)
      const stop = new AbortController()
      const watch = mirror.source.watch({ ...context(stop.signal), after: from, onProgressRequest: () => {} })
      const batches = watch[Symbol.asyncIterator]()
      await mirror.put(['k', 0])
      await batches.next()
      const value = Buffer.alloc(1_000_000, 49)
      for (let at = 0; at < 60; at++) await mirror.writer.put(`${mirror.prefix}big`).value(value)
      const sent = (): number => mirror.proxy.bytes.get('toClient') ?? 0
      // What comes after a second without any is held up.
      for (let before = -1; sent() > before; await sleep(1_000)) before = sent()
      expect(sent()).toBeLessThan(40_000_000)
      let told = 0
      while (told < 60) told += (await batches.next()).value?.events.length ?? 0
      expect(told).toBe(60)
      stop.abort()
      await batches.return?.()
    }))
})
