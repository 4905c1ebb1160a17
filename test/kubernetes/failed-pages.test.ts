import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { isPlainList } from './fake.js'
import { EXPIRED, type Exchange } from './fake-exchange.js'
import { Mirror, type MirrorOptions } from './mirror.js'

const BUSY = { code: 429, reason: 'TooManyRequests', message: 'the server is busy' }
const isLater = (exchange: Exchange): boolean => isPlainList(exchange) && exchange.query.has('continue')

/** A mirror reads ten objects, two by two. */
const PAGED: MirrorOptions = { source: { streamingLists: false, pageSize: 2 }, fill: 10 }

/** The page that each list requested, by its first object; 0 is the beginning of a list. */
const requested = ({ fake }: Mirror): number[] =>
  fake.lists.map(({ query }) => Number((query.get('continue') ?? '.0').split('.')[1]))

/** All is there, whatever time it took. */
async function read(mirror: Mirror): Promise<void> {
  mirror.informer.start()
  await mirror.untilPassing('the list to be there', () => mirror.informer.status.isSynced)
  await mirror.healed()
}

test('[K11] pages that break off again and again, as over a slow line, become smaller until they are complete', () =>
  Mirror.with({ source: { streamingLists: false, pageSize: 8 }, fill: 10 }, async (mirror) => {
    mirror.fake.rule(
      (exchange) => isPlainList(exchange) && Number(exchange.query.get('limit')) > 2,
      (exchange) => void exchange.write('{"items":[').then(() => exchange.reset()),
    )
    await read(mirror)
    expect(mirror.fake.lists.map(({ query }) => Number(query.get('limit'))).slice(0, 4)).toEqual([8, 8, 4, 2])
  }))

describe('a page after the first', () => {
  const FAILURES: readonly (readonly [how: string, fail: (exchange: Exchange) => void])[] = [
    ['is refused by a server that is busy', (exchange) => exchange.refuse(BUSY, { 'retry-after': '1' })],
    ['is refused by what stands before the server', (exchange) => exchange.text('Service Unavailable', 503)],
    ['is reset', (exchange) => exchange.reset()],
    ['is not answered', () => {}],
    ['ends in the middle', (exchange) => exchange.text('{"kind":"ConfigMapList","items":[', 200)],
    ['is cut off', (exchange) => void exchange.write('{"items":[').then(() => exchange.reset())],
    ['says no more', (exchange) => void exchange.write('{"items":[')],
  ]
  for (const [how, fail] of FAILURES)
    test(`and ${how} is requested again, and no earlier page`, () =>
      Mirror.with(PAGED, async (mirror) => {
        let at = 0
        mirror.fake.next((exchange) => isLater(exchange) && ++at === 2, fail)
        await read(mirror)
        expect([requested(mirror), mirror.errors]).toEqual([[0, 2, 4, 4, 6, 8], []])
      }))

  test('is delivered again if a part of it was delivered', () =>
    Mirror.with({ source: { streamingLists: false }, fill: 1_000 }, async (mirror) => {
      const { fake } = mirror
      fake.next(isLater, (exchange) => {
        const items = fake.collection.at().slice(500, 900)
        const body = JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', items })
        void exchange.write(body.slice(0, -2)).then(() => exchange.reset())
      })
      await read(mirror)
      expect([requested(mirror), mirror.informer.size, mirror.delivered.count]).toEqual([[0, 500, 500], 1_000, 1_000])
      expect(mirror.errors).toEqual([])
    }))

  test('is not requested before Retry-After, even if that is longer than the core waits for a page', () =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isLater, (exchange) => exchange.refuse(BUSY, { 'retry-after': '45' }))
      mirror.informer.start()
      await mirror.until('it to be refused', () => mirror.fake.lists.length === 2)
      await mirror.pass(44_000)
      const early = requested(mirror)
      await read(mirror)
      expect([early, requested(mirror), mirror.errors]).toEqual([[0, 2], [0, 2, 2, 4, 6, 8], []])
    }))

  test('is requested again five times in a row at most', () =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isLater, (exchange) => exchange.refuse({ ...BUSY, code: 503 }), 6)
      mirror.informer.start()
      await mirror.untilPassing('it to be given up', () => mirror.errors.length > 0)
      expect(requested(mirror)).toMatchObject([0, 2, 2, 2, 2, 2, 2])
      expect(mirror.errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'list' }])
      await read(mirror)
    }))

  test.each([
    ['is away for so long that it may have been restored', { ...BUSY, code: 503 }, 45],
    ['is busy for so long that it will have forgotten the snapshot', BUSY, 240],
  ])('is not requested again if the server %s', (_why, status, seconds) =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isLater, (exchange) => exchange.refuse(status, { 'retry-after': String(seconds) }))
      mirror.informer.start()
      await mirror.until('the error', () => mirror.errors.length > 0)
      expect(mirror.errors).toMatchObject([{ code: 'UNAVAILABLE', retryAfterMs: seconds * 1_000 }])
      await read(mirror)
      expect(requested(mirror)).toEqual([0, 2, 0, 2, 4, 6, 8])
    }),
  )

  test('[K9] of another version than the first leads to a list in one piece', () =>
    Mirror.with(PAGED, async (mirror) => {
      const { collection } = mirror.fake
      mirror.fake.next(isLater, (exchange) => {
        const resourceVersion = collection.put('k0', 'between')
        exchange.json({ metadata: { resourceVersion }, items: collection.at().slice(2) })
      })
      await read(mirror)
      expect([requested(mirror), mirror.errors]).toEqual([[0, 2, 0], []])
    }))

  test('that has expired at its retry leads to a list in one piece', () =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isLater, (exchange) => exchange.refuse(EXPIRED))
      mirror.fake.next(isLater, (exchange) => exchange.refuse(BUSY))
      await read(mirror)
      expect([requested(mirror), mirror.errors]).toEqual([[0, 2, 2, 0], []])
    }))

  test('of keys and versions is requested again', () =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isLater, (exchange) => exchange.reset())
      const keys: string[] = []
      void mirror.keys().then((read) => keys.push(...read))
      await mirror.untilPassing('them to be read', () => keys.length > 0)
      expect([requested(mirror), keys.length]).toEqual([[0, 2, 2, 4, 6, 8], 10])
    }))
})

test('the first page is not requested again by the list: its failure is an error at once', () =>
  Mirror.with(PAGED, async (mirror) => {
    mirror.fake.next(isPlainList, (exchange) => exchange.refuse(BUSY, { 'retry-after': '1' }))
    mirror.informer.start()
    await waitUntil('the error', () => mirror.errors.length > 0)
    expect([requested(mirror), mirror.errors]).toMatchObject([[0], [{ code: 'UNAVAILABLE', retryAfterMs: 1_000 }]])
    await read(mirror)
  }))
