import { describe, expect, test, vi } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import type { Feed } from '../../../src/subscriptions/feed.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { usedHeap } from '../../soak/heap.js'
import { drain, type Mirror, tellAll, unlistedOrders } from '../../support/feeds.js'
import { Fold } from '../../support/fold.js'
import { type Order, order } from '../../support/informers.js'

const CLOSED = new SourceError('closed', { code: 'STOPPED' })

function orders(): Mirror<Order> {
  return unlistedOrders().list([], '1')
}

/** How often a feed has to look at a change. */
function looks(feed: Feed<Order>): () => number {
  const spy = vi.spyOn(feed, 'match')
  return () => spy.mock.calls.length
}

describe('a change reaches the feeds that it concerns, and no other', () => {
  test.each([
    ['its key', { key: 'mine' }, 'mine', order(1)],
    ['its value of an equal index', { where: { tenant: 'mine' } }, 'x', order(1, 'mine')],
    ['its value of a multi index', { where: { tag: 'mine' } }, 'x', order(1, 'acme', ['mine'])],
    ['its value of an ordered index', { where: { total: 77 } }, 'x', order(77)],
  ])('one that follows %s does not even look at others', (_what, options, key, object) => {
    const mirror = orders()
    const feed = mirror.feed(options)
    drain(feed)
    const count = looks(feed)
    for (let i = 0; i < 100; i++) mirror.put(`k${i}`, order(i % 10, `t${i}`, [`g${i}`]), `${i + 2}`)
    expect(count()).toBe(0)
    mirror.put(key, object, '200')
    expect([count(), drain(feed)]).toEqual([1, [`add ${key}, @200`]])
  })

  test('an object that keeps one of its values is delivered once', () => {
    const mirror = orders()
    const feed = mirror.feed({ where: { tag: 'x' } })
    mirror.put('a', order(1, 'acme', ['x', 'y']), '2')
    drain(feed)
    const count = looks(feed)
    mirror.put('a', order(2, 'acme', ['z', 'x']), '3')
    expect([count(), drain(feed)]).toEqual([1, ['update a, @3']])
  })
})

test('another uid under a key is a delete, then an add, in a scope too', () => {
  const mirror = orders()
  const feed = mirror.feed({ where: { tenant: 'acme' } })
  mirror.apply([{ type: 'put', key: 'a', object: order(1), uid: 'u1' }], '2')
  drain(feed)
  mirror.apply([{ type: 'put', key: 'a', object: order(2), uid: 'u2' }], '3')
  expect(drain(feed)).toEqual(['delete a, add a, @3'])
})

test.each([
  ['key', { key: 'a' }],
  ['value', { where: { tenant: 'acme' } }],
])('the close of a feed that has stopped accepting changes ends no other feed with its %s', (_what, options) => {
  const mirror = orders()
  const feed = mirror.feed(options)
  drain(feed)
  feed.stopAccepting()
  const other = mirror.feed(options)
  drain(other)
  feed.close(CLOSED)
  mirror.put('a', order(1), '2')
  expect(drain(other)).toEqual(['add a, @2'])
})

test.each([
  ['a key', (i: number) => ({ key: `k${i}` })],
  ['a value of an equal index', (i: number) => ({ where: { tenant: `t${i}` } })],
  ['a value of an ordered index', (i: number) => ({ where: { total: i } })],
])('feeds that follow %s and are closed leave no memory behind', async (_what, scope) => {
  const mirror = orders()
  const other = mirror.feed(scope(-1))
  // Each follows another key or value: what one leaves behind would be used again by the next one of the same.
  let scopes = 0
  const comeAndGo = (count: number): void => {
    for (let i = 0; i < count; i++) mirror.feed(scope(scopes++)).close(CLOSED)
  }
  comeAndGo(100)
  const growths: number[] = []
  for (let round = 0; round < 3; round++) {
    const before = await usedHeap()
    comeAndGo(5_000)
    growths.push((await usedHeap()) - before)
  }
  // Compiled code makes the heap grow too, but not in each round.
  expect(Math.min(...growths)).toBeLessThan(200_000)
  expect([...mirror.router.feeds]).toEqual([other])
})

test('after the last feed that follows an index was closed, changes are not looked up in it', () => {
  const mirror = orders()
  const feed = mirror.feed({ where: { tenant: 'acme' } })
  const index = feed.scope.where[0]?.[0]
  if (index === undefined) throw new Error('the feed has no index')
  const lookUp = vi.spyOn(index, 'scalarsOf')
  // It is found by its key, and its scope tracks the index.
  const other = mirror.feed({ key: 'a', where: { tenant: 'acme' } })
  feed.close(CLOSED)
  lookUp.mockClear()
  mirror.put('a', order(1), '2')
  expect([lookUp.mock.calls.length, drain(other)]).toEqual([0, ['@1', 'add a, @2']])
})

test('a feed that is added and closed during a commit does not affect others', () => {
  const mirror = orders()
  let extra: Feed<Order> | undefined
  const first = mirror.feed({
    filter: () => {
      extra ??= mirror.feed({ filter: () => true })
      return true
    },
  })
  const second = mirror.feed()
  drain(first)
  drain(second)
  mirror.put('a', order(1), '2')
  const fold = new Fold<Order>()
  if (extra !== undefined) tellAll(extra, fold)
  expect([drain(first), drain(second), fold.told]).toEqual([['add a, @2'], ['add a, @2'], ['add a']])
})

// I5
test('whatever is written, every scope folds to what it holds of the store', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new SeededRandom(seed)
    const mirror = orders()
    const scopes = [
      { options: { key: 'k1' }, isIn: (_o: Order, key: string) => key === 'k1' },
      { options: { where: { tenant: 't0' } }, isIn: (o: Order) => o.tenant === 't0' },
      { options: { where: { tag: 'g1' } }, isIn: (o: Order) => o.tags?.includes('g1') === true },
      {
        options: { where: { tag: 'g0', tenant: 't1' } },
        isIn: (o: Order) => o.tenant === 't1' && o.tags?.includes('g0') === true,
      },
      { options: { where: { both: ['t1', 2] } }, isIn: (o: Order) => o.tenant === 't1' && o.total === 2 },
      { options: { where: { total: 1 }, delivery: 'latest' as const }, isIn: (o: Order) => o.total === 1 },
      { options: { filter: (o: Order) => o.total > 1 }, isIn: (o: Order) => o.total > 1 },
      {
        options: { key: 'k2', where: { tenant: 't1' } },
        isIn: (o: Order, key: string) => key === 'k2' && o.tenant === 't1',
      },
    ]
    const followers = scopes.map((scope) => ({ ...scope, feed: mirror.feed(scope.options), fold: new Fold<Order>() }))
    for (let i = 2; i < 80; i++) {
      const key = `k${random.below(4)}`
      if (random.chance(0.2)) mirror.delete(key, `${i}`)
      else {
        const tags = ['g0', 'g1', 'g2'].filter(() => random.chance(0.4))
        mirror.put(key, order(random.below(4), `t${random.below(2)}`, tags), `${i}`)
      }
      for (const { feed, fold } of followers) if (random.chance(0.3)) tellAll(feed, fold)
    }
    for (const { feed, fold, isIn, options } of followers) {
      tellAll(feed, fold)
      const held = [...mirror.indexer.entries()].filter(([key, object]) => isIn(object, key))
      expect(fold.objects, `seed ${seed}, ${JSON.stringify(options)}`).toEqual(new Map(held))
    }
  }
})
