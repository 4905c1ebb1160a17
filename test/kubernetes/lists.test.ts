import { describe, expect, test } from 'vitest'
import { isPlainList, isStreamedList } from './fake.js'
import { Mirror } from './mirror.js'

describe('a list that was given up', () => {
  test('while it was streamed leaves nothing behind that is gone when the pages are read', () =>
    Mirror.with(
      {
        prepare: (fake) => {
          fake.collection.fill(300) // More than one page.
          fake.next(isStreamedList, (exchange) => {
            const delivered = fake.collection.at().map((object) => exchange.event('ADDED', object))
            fake.collection.delete('k1')
            void Promise.all(delivered).then(() => exchange.end())
          })
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.informer.has('default/k1')).toBe(false)
        expect([mirror.informer.size, mirror.delivered.count]).toEqual([299, 299])
      },
    ))

  test('between its pages leaves nothing behind that is gone when all is read in one piece', () =>
    Mirror.with(
      {
        source: { streamingLists: false, pageSize: 2 },
        prepare: (fake) => {
          fake.collection.fill(5)
          fake.next(
            (exchange) => isPlainList(exchange) && exchange.query.has('continue'),
            (exchange) => {
              fake.collection.delete('k0')
              exchange.refuse({ code: 410, reason: 'Expired', message: 'the continue token has expired' })
            },
          )
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.informer.has('default/k0')).toBe(false)
        expect([mirror.informer.size, mirror.relists, mirror.errors]).toEqual([4, 0, []])
      },
    ))
})

test('streaming is tried again ten minutes after a server could not stream a list', () =>
  Mirror.with(
    {
      prepare: ({ collection }) => {
        collection.fill(2)
        collection.hasStreamedLists = false
      },
    },
    async (mirror) => {
      const requested = (): number => mirror.fake.exchanges.filter(isStreamedList).length
      const relisted = async (): Promise<void> => {
        const done = mirror.informer.relist().then(() => true)
        await mirror.soon(done)
      }
      await mirror.live()
      await relisted()
      const before = requested()
      await mirror.pass(601_000)
      await relisted()
      expect([before, requested()]).toEqual([1, 2])
    },
  ))

test('a list in pages is one snapshot, whatever is written between them', () =>
  Mirror.with(
    {
      source: { streamingLists: false, pageSize: 2 },
      prepare: ({ collection }) => collection.fill(5),
    },
    async ({ source, clock, fake: { collection } }) => {
      const { signal } = new AbortController()
      const { version } = collection
      const delivered: (string | undefined)[] = []
      const context = { signal, clock, random: { next: () => 0.5 }, pageSize: 2 }
      for await (const page of source.list(context)) {
        if (delivered.length === 0) {
          collection.put('a', 'before all')
          collection.put('k2', 'after')
          collection.delete('k1')
        }
        delivered.push(...page.events.map(({ key }) => key))
        if (page.version !== undefined) expect(page.version).toBe(version)
      }
      expect(delivered).toEqual([0, 1, 2, 3, 4].map((at) => `default/k${at}`))
    },
  ))

test('keys and versions are requested as metadata, in the namespace of the source only', () =>
  Mirror.with(
    {
      source: { pageSize: 2 },
      prepare: ({ collection }) => {
        collection.fill(5)
        collection.largestPage = 2
      },
    },
    async ({ source, clock, fake }) => {
      const { signal } = new AbortController()
      const keys: string[] = []
      const context = { signal, clock, random: { next: () => 0.5 }, pageSize: 2 }
      for await (const page of source.versions(context)) keys.push(...page.keys.map(({ key }) => key))
      const requested = fake.exchanges.filter(({ path }) => path !== '/api/v1' && path !== '/openapi/v3')
      expect(keys).toEqual([0, 1, 2, 3, 4].map((at) => `default/k${at}`))
      expect(requested.map(({ path, isMetadata }) => [path, isMetadata])).toEqual(
        Array.from({ length: 3 }, () => ['/api/v1/namespaces/default/configmaps', true]),
      )
    },
  ))

test('keys and versions are read in pages of the requested size', () =>
  Mirror.with(
    { source: { pageSize: 2 }, prepare: ({ collection }) => collection.fill(5) },
    async ({ source, clock, fake }) => {
      const { signal } = new AbortController()
      const context = { signal, clock, random: { next: () => 0.5 }, pageSize: 1_000 }
      for await (const _ of source.versions(context));
      expect(fake.exchanges.filter(isPlainList).map(({ query }) => query.get('limit'))).toEqual(['2', '2', '2'])
    },
  ))
