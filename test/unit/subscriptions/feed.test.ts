import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import type { FeedOptions } from '../../../src/subscriptions/subscription-types.js'
import { numbers } from '../../support/controllers.js'
import { drain, Mirror, tellAll, unlistedOrders } from '../../support/feeds.js'
import { Fold } from '../../support/fold.js'
import { type Order, order, outcomeOf } from '../../support/informers.js'

const CLOSED = new SourceError('closed', { code: 'STOPPED' })

/** A feed that has taken these objects, and waits for changes. */
function drained(entries: readonly (readonly [string, number])[] = [], options: FeedOptions<number> = {}) {
  const mirror = numbers(...entries)
  const feed = mirror.feed(options)
  drain(feed)
  return { mirror, feed }
}

function orders(...entries: (readonly [string, Order])[]): Mirror<Order> {
  return unlistedOrders().list(entries, '5')
}

test('[I13] changes during the replay are delivered after it, in order', () => {
  const mirror = numbers(...Array.from({ length: 300 }, (_, i) => [`k${i}`, i] as const))
  const feed = mirror.feed()
  const fold = new Fold<number>()
  const first = feed.dequeue()
  mirror.put('k0', -1, '6').delete('k299', '7').put('new', 1, '8').delete('k1', '9').put('k1', 7, '10')
  for (const change of first?.changes ?? []) fold.tell(change)
  tellAll(feed, fold)
  expect(fold.objects).toEqual(new Map(mirror.indexer.entries()))
})

describe('a scope', () => {
  test('a change outside of the scope is not delivered, and advances the version and waits', async () => {
    const mirror = orders(['a', order(1)])
    const feed = mirror.feed({ where: { tenant: 'acme' } })
    drain(feed)
    const waited = feed.waitFor('7')
    mirror.put('b', order(1, 'other'), '6').put('b', order(2, 'other'), '7').delete('b', '8')
    expect([feed.dequeue(), feed.version, await outcomeOf(waited, mirror.clock)]).toEqual([undefined, '8', 'resolved'])
  })

  test('a filter that throws is reported once, and the objects that it throws for are out of scope', () => {
    const mirror = numbers(['a', 1], ['b', 2], ['c', 3])
    const filter = (n: number): boolean => {
      if (n > 1) throw new Error(`not ${n}`)
      return true
    }
    const feed = mirror.feed({ filter, name: 'mine' })
    mirror.put('d', 4, '6').put('a', 9, '7')
    expect(drain(feed)).toEqual(['add a, @5', 'delete a, @7'])
    expect(mirror.errors).toMatchObject([{ code: 'HANDLER', phase: 'handle', key: 'b' }])
    expect(mirror.errors[0]?.message).toBe(
      'the filter of "mine" on mirror failed: not 2; such objects are out of scope',
    )
  })
})

test('batches that are acknowledged together advance it to the last of them', () => {
  const { mirror, feed } = drained([['a', 1]])
  mirror.put('a', 2, '6').put('a', 3, '7')
  feed.dequeue()
  const two = feed.dequeue()
  expect(feed.version).toBe('5')
  if (two !== undefined) feed.ackThrough(two.position, 2)
  expect(feed.version).toBe('7')
  mirror.apply([], '8')
  expect(feed.version).toBe('8')
})

test('users see nothing of the position that a batch keeps', () => {
  const batch = numbers(['a', 1]).feed().dequeue()
  expect(batch?.position).toEqual({ commit: 1, version: '5', history: 1 })
  const visible = { changes: batch?.changes, version: '5', isSynced: true }
  expect(JSON.stringify(batch)).toBe(JSON.stringify(visible))
  expect({ ...batch }).toEqual(visible)
  expect(inspect(batch, { showHidden: true })).not.toContain('history')
})

test('bookmarks are delivered in order to feeds that want them', () => {
  const mirror = numbers(['a', 1])
  const feed = mirror.feed({}, { bookmarks: true, initialAdds: true })
  mirror.put('a', 2, '6').apply([], '7').apply([], '8').put('a', 3, '9')
  expect(drain(feed)).toEqual(['add a, @5', 'update a, @6', '@8', 'update a, @9'])
})

test('[law 8d] the objects of the replay do not count towards the capacity', () => {
  const mirror = numbers(...Array.from({ length: 50 }, (_, i) => [`k${i}`, i] as const))
  const feed = mirror.feed({ capacity: 1, onOverflow: 'fail' })
  mirror.put('k0', 7, '6')
  expect(feed.closed).toBeUndefined()
  expect(drain(feed)).toHaveLength(2)
})

test('the close of a feed leaves no pinned snapshot and no tracked index behind', () => {
  const mirror = orders(['a', order(1)])
  const [all, some] = [mirror.feed(), mirror.feed({ where: { tenant: 'acme' } })]
  expect([mirror.indexer.store.pinCount, [...mirror.indexer.writer.tracked].length]).toEqual([1, 1])
  all.close(CLOSED)
  some.close(CLOSED)
  expect([mirror.indexer.store.pinCount, [...mirror.indexer.writer.tracked].length]).toEqual([0, 0])
})

describe('[B1a] invalid options are TypeErrors that name the option', () => {
  const WHERE = 'where'
  const PLAIN = `option "${WHERE}" must be a plain object, got an object`

  test.each([
    [{ where: { tennant: 'x' } }, 'where: there is no index "tennant"; allowed are tenant, tag, total, both'],
    [{ where: { tenant: {} } }, `${WHERE} "tenant" must be a string, number, bigint, boolean or Date`],
    [{ where: { tenant: null } }, `${WHERE} "tenant" must be a string, number, bigint, boolean or Date`],
    [{ where: { tag: ['x'] } }, `${WHERE} "tag" must be a string, number, bigint, boolean or Date`],
    [{ where: { both: 'acme' } }, `${WHERE} "both" must be an array of scalars`],
    [{ where: { both: ['acme', null] } }, `${WHERE} "both" must be an array of scalars`],
    [{ where: 5 }, `option "${WHERE}" must be a plain object, got 5`],
    [{ where: new Map([['tenant', 'x']]) }, PLAIN],
    [{ where: Object.defineProperty({}, 'tenant', { get: () => 'x' }) }, PLAIN],
    [{ where: { tenant: undefined } }, `option "${WHERE}" has no value for the index "tenant", got an object`],
    [{ where: { both: [] } }, `${WHERE} "both" must be an array of scalars`],
    [{ resyncMs: 0 }, 'option "resyncMs" must be a finite number above 0, got 0'],
    [{ key: 5 }, 'option "key" must be a string, got 5'],
    [{ filter: 5 }, 'option "filter" must be a function, got 5'],
    [{ name: '' }, 'option "name" must be a string that is not empty, got ""'],
    [{ concurrency: 0 }, 'option "concurrency" must be a whole number of at least 1, got 0'],
    [{ capacity: 1.5 }, 'option "capacity" must be a whole number of at least 1, got 1.5'],
    [{ delivery: 'last' }, 'option "delivery" must be one of "every", "latest", got "last"'],
    [{ onOverflow: 'drop' }, 'option "onOverflow" must be one of "coalesce", "fail", got "drop"'],
    [{ signal: {} }, 'option "signal" must be an AbortSignal, got an object'],
    [
      { delivry: 'latest' },
      `unknown option "delivry"; allowed are name, signal, concurrency, timeoutMs, resyncMs, key, ${WHERE}, filter, when, delivery, capacity, onOverflow`,
    ],
  ])('%j', (options, message) => {
    const mirror = orders()
    expect(() => Reflect.apply(mirror.feed, mirror, [options])).toThrow(
      expect.objectContaining({ message: `subscribe: ${message}` }),
    )
    expect([mirror.router.feeds.size, [...mirror.indexer.writer.tracked].length]).toEqual([0, 0])
  })

  test('`where` without any declared index throws an error that names the missing index', () => {
    const mirror = new Mirror<number>().list([], '1')
    const message = 'subscribe: where: there is no index "n"; no index is declared'
    expect(() => mirror.feed({ where: { n: 1 } })).toThrow(message)
  })
})
