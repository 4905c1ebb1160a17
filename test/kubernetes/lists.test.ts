import { expect, test } from 'vitest'
import { isPlainList, isStreamedList } from './fake.js'
import { Mirror } from './mirror.js'

test('a list that was given up while it was streamed leaves nothing behind that is gone when the pages are read', () =>
  Mirror.with({ fill: 300 }, async (mirror) => {
    const { fake } = mirror
    fake.next(isStreamedList, (exchange) => {
      const delivered = fake.collection.at().map((object) => exchange.event('ADDED', object))
      fake.collection.delete('k1')
      void Promise.all(delivered).then(() => exchange.end())
    })
    await mirror.live()
    await mirror.healed()
    expect(mirror.informer.has('default/k1')).toBe(false)
    expect([mirror.informer.size, mirror.delivered.count]).toEqual([299, 299])
  }))

test('a list that was given up between its pages leaves nothing behind that is gone when all is read in one piece', () =>
  Mirror.with({ source: { streamingLists: false, pageSize: 2 }, fill: 5 }, async (mirror) => {
    mirror.fake.next(
      (exchange) => isPlainList(exchange) && exchange.query.has('continue'),
      (exchange) => {
        mirror.fake.collection.delete('k0')
        exchange.refuse({ code: 410, reason: 'Expired', message: 'the continue token has expired' })
      },
    )
    await mirror.live()
    await mirror.healed()
    expect(mirror.informer.has('default/k0')).toBe(false)
    expect([mirror.informer.size, mirror.relists, mirror.errors]).toEqual([4, 0, []])
  }))

test('streaming is tried again ten minutes after a server could not stream a list', () =>
  Mirror.with({ fill: 2, streams: false }, async (mirror) => {
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
  }))

test('a list in pages is one snapshot, whatever is written between them', () =>
  Mirror.with({ source: { streamingLists: false, pageSize: 2 }, fill: 5 }, async (mirror) => {
    const { collection } = mirror.fake
    const { version } = collection
    const delivered: (string | undefined)[] = []
    for await (const page of mirror.source.list(mirror.context())) {
      if (delivered.length === 0) {
        collection.put('a', 'before all')
        collection.put('k2', 'after')
        collection.delete('k1')
      }
      delivered.push(...page.events.map(({ key }) => key))
      if (page.version !== undefined) expect(page.version).toBe(version)
    }
    expect(delivered).toEqual([0, 1, 2, 3, 4].map((at) => `default/k${at}`))
  }))

test('keys and versions are requested as metadata, in the namespace and the page size of the source', () =>
  Mirror.with({ source: { pageSize: 2 }, fill: 5 }, async (mirror) => {
    expect(await mirror.keys()).toEqual([0, 1, 2, 3, 4].map((at) => `default/k${at}`))
    const requested = mirror.fake.exchanges.filter(({ path }) => path !== '/api/v1' && path !== '/openapi/v3')
    expect(requested.map(({ path, isMetadata, query }) => [path, isMetadata, query.get('limit')])).toEqual(
      Array.from({ length: 3 }, () => ['/api/v1/namespaces/default/configmaps', true, '2']),
    )
  }))

test('200 000 objects of one namespace are listed, by requests for their collection, its name and its schema', () =>
  Mirror.live({ fill: 200_000 }, async (mirror) => {
    expect(mirror.informer.list()).toHaveLength(200_000)
    const paths = mirror.fake.exchanges.map(({ path }) => path)
    expect(new Set(paths)).toEqual(new Set(['/api/v1', '/openapi/v3', '/api/v1/namespaces/default/configmaps']))
  }))
