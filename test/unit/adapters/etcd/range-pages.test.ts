import { expect, test } from 'vitest'
import { PageLimit } from '../../../../adapters/etcd/page-limit.js'
import { firstPage, type PagesOptions, rangePages } from '../../../../adapters/etcd/range-pages.js'
import {
  type KeyValue,
  NO_HEADER,
  type RangeRequest,
  type RangeResponse,
} from '../../../../adapters/etcd/transport/etcd-messages.js'
import { prefixRange } from '../../../../adapters/etcd/transport/key-range.js'
import type { Session } from '../../../../adapters/etcd/transport/session.js'
import { systemClock } from '../../../../src/contract/clock.js'

const COUNT = 5

/**
 * A session over five keys, with the requests that it received. `onRequest` is called with each. From the request
 * `failsAt` on, it fails.
 */
function scripted(
  failsAt = Infinity,
  onRequest: (request: RangeRequest) => void = () => {},
  rangeStream: Session['rangeStream'] = () => undefined,
) {
  const requests: RangeRequest[] = []
  const range = async (request: RangeRequest): Promise<RangeResponse> => {
    requests.push(request)
    onRequest(request)
    if (requests.length > failsAt) throw new Error('the connection was closed')
    const from = request.key.length === 1 ? 0 : Number(request.key.toString('latin1', 1, 2)) + 1
    const last = Math.min(COUNT, from + (request.limit ?? COUNT))
    const kvs = Array.from({ length: last - from }, (_, at) => {
      const [key, value] = [Buffer.from(`k${from + at}`), Buffer.from('{}')]
      return { key, value, createRevision: 1, modRevision: 1 }
    })
    return { header: { clusterId: '1', revision: 9, term: 1 }, kvs, hasMore: last < COUNT, count: COUNT - from }
  }
  const unlimited = { acceptedKeys: Infinity, timelyKeys: Infinity, mostTimelyKeys: Infinity }
  const limit = new PageLimit(2, 1e9, { ...unlimited, hasStreams: true })
  const options: PagesOptions = { range: prefixRange('k'), isKeysOnly: false, limit, clock: systemClock }
  const session = { range, rangeStream, canReconnect: false } as unknown as Session
  return { requests, pages: async () => rangePages(session, await firstPage(session, options), options) }
}

test('the next page of a list is requested before the previous one is taken, at the same revision', async () => {
  const { requests, pages } = scripted()
  const seen: (readonly [keys: number, sent: number])[] = []
  for await (const { kvs } of await pages()) seen.push([kvs.length, requests.length])
  expect(seen.flat()).toEqual([2, 2, 2, 3, 1, 3])
  expect(requests.map(({ revision }) => revision)).toEqual([0, 9, 9])
})

test('the next page is requested one turn of the event loop before the previous one is taken', async () => {
  let written = 0
  const { requests, pages } = scripted(Infinity, () => setImmediate(() => written++))
  for await (const _page of await pages()) expect(written).toBe(requests.length)
  expect(written).toBe(3)
})

test('if the next page fails, the list delivers the previous one and then the error', async () => {
  const all = await scripted(1)
    .pages()
    .then((pages) => pages[Symbol.asyncIterator]())
  expect((await all.next()).value?.kvs).toHaveLength(2)
  await expect(all.next()).rejects.toThrow('the connection was closed')
})

test('a list that stops after a page does not report the failure of the next one', async () => {
  const rejections: unknown[] = []
  const listener = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', listener)
  for await (const _page of await scripted(1).pages()) break
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', listener)
  expect(rejections).toEqual([])
})

const entry = (at: number): KeyValue => ({ ...EMPTY, key: Buffer.from(`k${at}`) })
const EMPTY = { value: Buffer.from('{}'), createRevision: 1, modRevision: 1 }
const part = (...kvs: readonly KeyValue[]): RangeResponse => ({ header: NO_HEADER, kvs, hasMore: false, count: 0 })
const lastPart = (count: number, clusterId: string, ...kvs: readonly KeyValue[]): RangeResponse => ({
  header: { clusterId, revision: 12, term: 1 },
  ...{ kvs, hasMore: false, count },
})

/** The keys of a list whose later pages are these parts of a stream, and the requests for other pages. */
async function streamed(...parts: readonly (RangeResponse | Error)[]): Promise<[keys: string[], requests: number]> {
  const left = [...parts]
  const next = async (): Promise<RangeResponse | undefined> => {
    const one = left.shift()
    if (one instanceof Error) throw one
    return one
  }
  const { requests, pages } = scripted(
    Infinity,
    () => {},
    () => next,
  )
  const keys: string[] = []
  for await (const { kvs } of await pages()) keys.push(...kvs.map(({ key }) => key.toString()))
  return [keys, requests.length]
}

test('[E14] a list has the parts of a stream after its first page, without further requests', async () => {
  const all = ['k0', 'k1', 'k2', 'k3', 'k4']
  expect(await streamed(part(entry(2)), part(entry(3)), lastPart(3, '1', entry(4)))).toEqual([all, 1])
  expect(await streamed(lastPart(3, '1', entry(2), entry(3), entry(4)))).toEqual([all, 1])
})

test('a list requests its pages if the server has no streams', async () => {
  const [keys, requests] = await streamed(new Error('12 UNIMPLEMENTED: unknown method RangeStream'))
  expect([keys.length, requests]).toEqual([5, 3])
})

test.each([
  ['ends before its last part', [part(entry(2))], 'ended too early'],
  ['counts more keys than it has', [part(entry(2)), lastPart(4, '1', entry(3), entry(4))], 'do not fit together'],
  ['has fewer keys than the first page counted', [lastPart(2, '1', entry(2), entry(3))], 'do not fit together'],
  ['is of another cluster', [lastPart(3, '2', entry(2), entry(3), entry(4))], 'do not fit together'],
  ['fails later', [part(entry(2)), new Error('12 UNIMPLEMENTED: unknown method')], 'UNIMPLEMENTED'],
])('[E14] a list fails if its stream %s', async (_how, parts, message) => {
  await expect(streamed(...parts)).rejects.toThrow(message)
})
