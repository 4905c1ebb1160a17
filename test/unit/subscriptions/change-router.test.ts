import { describe, expect, test, vi } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import type { Feed } from '../../../src/subscriptions/feed.js'
import { usedHeap } from '../../soak/heap.js'
import { drain, type Mirror, unlistedOrders } from '../../support/feeds.js'
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
