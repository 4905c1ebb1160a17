import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { etcdLeases, etcdSource } from '../../adapters/etcd/index.js'
import type { WatchBatch } from '../../src/contract/source.js'
import { waitUntil } from '../servers/wait-until.js'
import { context } from '../support/source-calls.js'
import { listed } from './follow.js'
import { ScriptedEtcd } from './scripted-etcd.js'

/** Servers that were released and had these bugs; what proxies and look-alikes say that speak etcd's language. */

/** A watch that has been opened, read batch by batch. */
async function watched(
  act: (etcd: ScriptedEtcd, next: () => Promise<WatchBatch<string>>, requestProgress: () => void) => Promise<void>,
  version = '3.6.16',
): Promise<void> {
  await using etcd = await ScriptedEtcd.start()
  etcd.version = version
  const times = { heartbeatMs: 400, timeoutMs: 1_000 }
  const source = etcdSource<string>({ endpoints: etcd.endpoint, prefix: '/a/', codec: 'string', ...times })
  const stop = new AbortController()
  const after = await listed(source)
  const listeners: (() => void)[] = []
  const onProgressRequest = (listener: () => void): void => void listeners.push(listener)
  const watch = source.watch({ ...context(stop.signal), after, onProgressRequest })[Symbol.asyncIterator]()
  /** The next batch that has events. */
  const next = async (): Promise<WatchBatch<string>> => {
    for (;;) {
      const { value } = await watch.next()
      if (value.events.length > 0) return value
    }
  }
  const first = next()
  await waitUntil('the watch to be opened', () => etcd.streams.size === 1)
  etcd.tell([{ key: '/a/first', value: '1', revision: 11 }])
  await first
  etcd.count = 1
  etcd.revision = 11
  try {
    await act(etcd, next, () => listeners.forEach((listener) => void listener()))
  } finally {
    stop.abort()
    await watch.return?.()
  }
}

const keysOf = ({ events }: WatchBatch<string>): (string | undefined)[] =>
  events.map((event) => (event.type === 'replace' ? undefined : event.key))

test('an event that the server sends twice is delivered once', () =>
  watched(async (etcd, next) => {
    etcd.tell([
      { key: '/a/first', value: '1', revision: 11 },
      { key: '/a/second', value: '2', revision: 12 },
    ])
    expect(keysOf(await next())).toEqual(['/a/second'])
    etcd.tell([{ key: '/a/second', value: '2', revision: 12 }])
    etcd.tell([{ key: '/a/third', value: '3', revision: 13 }])
    expect(keysOf(await next())).toEqual(['/a/third'])
  }))

test('an event outside of the range is not delivered', () =>
  watched(async (etcd, next) => {
    etcd.tell([
      { key: '/secret', value: 'x', revision: 12 },
      { key: '/a/k', value: '2', revision: 12 },
    ])
    expect(keysOf(await next())).toEqual(['/a/k'])
  }))

test('the revision in the header of a message with events is not a version to resume from', () =>
  watched(async (etcd, next) => {
    etcd.tell([{ key: '/a/k', value: '2', revision: 12 }], 5_000)
    expect((await next()).version.split('.')[3]).toBe('12')
  }))

test('another cluster behind the same address is another history', () =>
  watched(async (etcd, next) => {
    etcd.clusterId = 8
    etcd.tell([{ key: '/a/k', value: '2', revision: 12 }])
    await expect(next()).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  }))

test('a history that is replaced while the watch stays open is noticed, even after long silence', () =>
  watched(async (etcd, next) => {
    const end = next()
    end.catch(() => {})
    // It answers no question for progress, so the contents are compared once, and then only its revision is read.
    const before = etcd.ranges
    await waitUntil('the contents to have been compared', () => etcd.ranges >= before + 2)
    etcd.replaceNewest('/a/first', 'another', 11)
    await expect(end).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  }))

test('a pending delete is delivered, also if a reader waits at a server whose progress is not used', () =>
  watched(async (etcd, next, requestProgress) => {
    etcd.tell([{ key: '/a/second', value: '2', revision: 12 }])
    await next()
    const deleted = next()
    etcd.revision = 13
    const before = etcd.ranges
    requestProgress()
    await waitUntil('the contents to have been compared', () => etcd.ranges > before)
    etcd.tell([{ key: '/a/first', revision: 13 }])
    expect(keysOf(await deleted)).toEqual(['/a/first'])
  }, '3.4.20'))

test('an old server that names a later revision before its events loses none of them', () =>
  watched(async (etcd, next) => {
    etcd.tell([], 5_000)
    etcd.tell([{ key: '/a/k', value: '2', revision: 12 }])
    expect(keysOf(await next())).toEqual(['/a/k'])
  }, '3.4.20'))

test('each part of a large message has the version of its own last event', () =>
  watched(async (etcd, next) => {
    etcd.tell(Array.from({ length: 1_500 }, (_, at) => ({ key: `/a/${at}`, value: 'x', revision: 12 + at })))
    const parts = [await next(), await next()]
    expect(parts.map(({ version }) => version.split('.')[3])).toEqual(['1011', '1511'])
  }))

test('watches that fail at once are resumed at the same version, any number of times', async () => {
  await using etcd = await ScriptedEtcd.start()
  const source = etcdSource<string>({ endpoints: etcd.endpoint, prefix: '/a/', codec: 'string' })
  const after = await listed(source)
  etcd.revision = 11
  for (let times = 0; times < 4; times++) {
    const watch = source.watch({ ...context(), after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    await watch.next()
    etcd.cancel('shutting down')
    await expect(watch.next()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  }
})

test('a watch that the server ends without a reason is opened again', () =>
  watched(async (etcd, next) => {
    etcd.cancel('')
    await expect(next()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'the server canceled the watch' })
  }))

test('an invalid message ends the watch, and nothing else', () =>
  watched(async (etcd, next) => {
    etcd.garbage()
    await expect(next()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  }))

test('a watch that no longer responds, though its server does, fails', () =>
  watched(async (etcd, next) => {
    etcd.tell([])
    await expect(next()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/^no data for/) })
  }))

test('a watch that never responds to progress requests is healthy while it delivers all events', () =>
  watched(async (etcd, next) => {
    const batch = next()
    await sleep(3_000) // Three times as long as an answer may take.
    etcd.count = 2
    etcd.revision = 12
    etcd.tell([{ key: '/a/late', value: '2', revision: 12 }])
    expect(keysOf(await batch)).toEqual(['/a/late'])
    etcd.count = 3
    await expect(next()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/^no data for/) })
  }))

test('[E13] kine is named by the list, by the head and by leases, before a mirror is synced', async () => {
  await using etcd = await ScriptedEtcd.start()
  etcd.isKine = true
  const source = etcdSource({ endpoints: etcd.endpoint, prefix: '/a/' })
  const session = etcdLeases({ endpoints: etcd.endpoint, group: 'g' }).open()
  const record = { member: 'member000001', renewal: 0, members: [], holds: [] }
  const named = { code: 'PROTOCOL', message: expect.stringMatching(/not etcd but kine/) }
  await expect(listed(source)).rejects.toMatchObject(named)
  await expect(source.head(context())).rejects.toMatchObject(named)
  await expect(session.renew(record, [], new AbortController().signal)).rejects.toMatchObject(named)
  await session.close()
})
