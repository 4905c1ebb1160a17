import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { type FakeKubernetes, isPlainList, isStreamedList } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

describe('a list that is streamed', () => {
  /** The streamed list of three objects is requested, and not answered yet. */
  const requested = (act: (mirror: Mirror, list: Exchange) => Promise<void>): Promise<void> =>
    Mirror.with({ fill: 3 }, async (mirror) => {
      const list = mirror.fake.taken(isStreamedList)
      mirror.informer.start()
      await act(mirror, await mirror.soon(list))
    })

  test('shows nothing before its end, which is the bookmark of its end', () =>
    requested(async (mirror, list) => {
      const { collection } = mirror.fake
      const [first, ...others] = collection.at()
      await list.event('ADDED', first)
      await list.bookmark(collection.version)
      for (const object of others) await list.event('ADDED', object)
      const isEarly = mirror.informer.status.isSynced || mirror.delivered.count > 0
      await list.bookmark(collection.version, true)
      await mirror.until('the list to be there', () => mirror.informer.status.isSynced)
      expect([isEarly, mirror.informer.size]).toEqual([false, 3])
    }))

  test('is requested without a limit, at the newest version', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const query = mirror.fake.exchanges.find((exchange) => exchange.isStreamedList)?.query
      expect(query?.get('resourceVersionMatch')).toBe('NotOlderThan')
      expect([query?.get('allowWatchBookmarks'), query?.get('resourceVersion') ?? '']).toEqual(['true', ''])
    }))

  for (const code of [400, 403, 422])
    test(`is read in pages if the server refuses to stream (${code})`, () =>
      Mirror.with({ fill: 3 }, async (mirror) => {
        const refusal = { code, reason: 'Invalid', message: 'sendInitialEvents is forbidden for watch' }
        mirror.fake.rule(isStreamedList, (exchange) => exchange.refuse(refusal))
        await mirror.live()
        await mirror.healed()
        expect(mirror.errors).toEqual([])
      }))

  const WITHOUT_END: Readonly<Record<string, (fake: FakeKubernetes, exchange: Exchange) => void>> = {
    'is read in pages if the server ignores streaming, and watches from now': (_, exchange) => exchange.open(),
    'whose end never comes is read in pages': (fake, exchange) => {
      for (const object of fake.collection.at()) void exchange.event('ADDED', object)
    },
    'whose end never comes is read in pages also while objects are created': (fake, exchange) => {
      const [first] = fake.collection.at()
      const metadata = { ...first?.metadata, name: 'created', creationTimestamp: '2099-01-01T00:00:00Z' }
      void exchange.event('ADDED', first)
      const timer = setInterval(() => {
        if (exchange.isOpen) void exchange.event('ADDED', { ...first, metadata })
        else clearInterval(timer)
      }, 1)
    },
  }
  test.each(Object.entries(WITHOUT_END))('%s', (_, answer) =>
    Mirror.with({ fill: 3 }, async (mirror) => {
      mirror.fake.rule(isStreamedList, (exchange) => answer(mirror.fake, exchange))
      mirror.informer.start()
      await mirror.untilPassing('the list to be there', () => mirror.informer.status.isSynced)
      await mirror.healed()
      expect(mirror.fake.exchanges.some(isPlainList)).toBe(true)
    }),
  )

  test('that ends before its end is begun again', () =>
    Mirror.with({ fill: 3 }, async (mirror) => {
      mirror.fake.next(isStreamedList, (exchange) => {
        const [first] = mirror.fake.collection.at()
        void exchange.event('ADDED', first).then(() => exchange.end())
      })
      await mirror.live()
      await mirror.healed()
      expect(mirror.informer.size).toBe(3)
    }))

  const CUTS: readonly (readonly [how: string, cut: (exchange: Exchange) => void])[] = [
    ['with a reset', (exchange) => exchange.reset()],
    ['with an end of the connection', (exchange) => exchange.raw('', { isOver: true })],
  ]
  for (const [how, cut] of CUTS) {
    const halve = async ({ collection }: FakeKubernetes, exchange: Exchange): Promise<void> => {
      const objects = collection.at()
      for (const object of objects.slice(0, objects.length / 2)) await exchange.event('ADDED', object)
      cut(exchange)
    }

    test(`that is cut off ${how}, at each request, is read in pages`, () =>
      Mirror.with({ fill: 600 }, async (mirror) => {
        mirror.fake.rule(isStreamedList, (exchange) => void halve(mirror.fake, exchange))
        await mirror.live()
        await mirror.healed()
        const requested = mirror.fake.lists.map((list) => (list.isStreamedList ? 'streamed' : 'a page'))
        expect([requested, mirror.errors]).toEqual([['streamed', 'a page', 'a page'], []])
      }))

    test(`that is cut off ${how}, by a server that is gone then, is an error at once`, () =>
      Mirror.with({ fill: 4 }, async (mirror) => {
        mirror.fake.next(isStreamedList, (exchange) => void halve(mirror.fake, exchange))
        mirror.fake.next(isPlainList, (exchange) => exchange.reset())
        mirror.informer.start()
        await waitUntil('the error', () => mirror.errors.length > 0)
        expect([mirror.fake.lists.length, mirror.errors[0]]).toMatchObject([2, { code: 'UNAVAILABLE', phase: 'list' }])
        await mirror.live()
        await mirror.healed()
      }))
  }

  test('takes what happens before its end as part of it', () =>
    requested(async (mirror, list) => {
      const { collection } = mirror.fake
      const before = collection.at()
      for (const object of before) await list.event('ADDED', object)
      collection.put('k0', 'changed')
      collection.delete('k1')
      await list.event('MODIFIED', collection.at()[0])
      await list.event('DELETED', before[1])
      await list.bookmark(collection.version, true)
      await mirror.healed()
      expect(mirror.delivered.count).toBe(2)
    }))
})
