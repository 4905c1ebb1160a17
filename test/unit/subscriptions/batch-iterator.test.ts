import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { BatchIterator } from '../../../src/subscriptions/batch-iterator.js'
import type { FeedOptions } from '../../../src/subscriptions/subscription-types.js'
import { Mirror } from '../../support/feeds.js'
import { outcomeOf } from '../../support/informers.js'

function stream(mirror: Mirror<number>, options: FeedOptions<number> = {}): BatchIterator<number> {
  return new BatchIterator(mirror.feed(options, { bookmarks: true, initialAdds: true }), options.signal)
}

function numbers(...entries: (readonly [string, number])[]): Mirror<number> {
  return new Mirror<number>().list(entries, '5')
}

/** Reads a stream to its end, and remembers what came. */
function read(changes: BatchIterator<number>, onBatch: () => void | Promise<void> = () => {}) {
  const told: string[] = []
  const end = (async () => {
    for await (const { changes: each, version } of changes) {
      told.push([...each.map(({ type, key }) => `${type} ${key}`), `@${version}`].join(', '))
      await onBatch()
    }
  })()
  return { told, end }
}

describe('a change stream', () => {
  test('is the replay of the store, and then every change, batch by batch, with bookmarks', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    const { told } = read(changes)
    await mirror.clock.advance(0)
    mirror.put('a', 2, '6')
    await mirror.clock.advance(0)
    mirror.apply([], '7')
    await mirror.clock.advance(0)
    expect(told).toEqual(['add a, @5', 'update a, @6', '@7'])
    await changes.close()
  })

  test('its batches say whether the replay is complete', async () => {
    const mirror = new Mirror<number>().list(
      Array.from({ length: 300 }, (_, i) => [`k${i}`, i] as const),
      '5',
    )
    const changes = stream(mirror)
    mirror.put('a', 1, '6')
    const batches = [await changes.next(), await changes.next(), await changes.next()]
    expect(batches.map(({ value }) => [value?.isSynced, value?.version])).toEqual([
      [false, undefined],
      [true, '5'],
      [true, '6'],
    ])
    await changes.close()
  })

  test('of an empty store begins with a batch without changes', async () => {
    const changes = stream(numbers())
    expect(await changes.next()).toMatchObject({ value: { changes: [], version: '5', isSynced: true }, done: false })
    await changes.close()
  })

  test('waits for the first list', async () => {
    const mirror = new Mirror<number>()
    const changes = stream(mirror)
    const first = changes.next()
    expect(await outcomeOf(first, mirror.clock)).toBe('pending')
    mirror.list([['a', 1]], '5')
    expect((await first).value).toMatchObject({ changes: [{ key: 'a' }] })
    await changes.close()
  })
})

describe('backpressure', () => {
  test('changes wait until the next read, and are merged with delivery latest', async () => {
    const mirror = numbers()
    const changes = stream(mirror, { delivery: 'latest' })
    await changes.next()
    for (let i = 0; i < 100; i++) mirror.put('a', i, `${6 + i}`)
    expect(changes.backlog.keys).toBe(1)
    expect((await changes.next()).value).toMatchObject({ changes: [{ type: 'add', object: 99 }], version: '105' })
    await changes.close()
  })

  // I7
  test('a batch counts as handled when the next one is read', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    const waited = changes.waitFor('5')
    await changes.next()
    expect([changes.version, await outcomeOf(waited, mirror.clock)]).toEqual([undefined, 'pending'])
    const next = changes.next()
    expect([changes.version, await outcomeOf(waited, mirror.clock)]).toEqual(['5', 'resolved'])
    await changes.close()
    await next
  })

  test('a batch that is being handled holds the version back, bookmarks too', async () => {
    const mirror = numbers()
    const changes = stream(mirror)
    await changes.next()
    mirror.put('a', 1, '6')
    await changes.next()
    mirror.apply([], '7')
    expect(changes.version).toBe('5')
    await changes.close()
  })

  test('two reads without waiting return two batches', async () => {
    const mirror = numbers()
    const changes = stream(mirror)
    await changes.next()
    const [one, two] = [changes.next(), changes.next()]
    mirror.put('a', 1, '6').put('b', 1, '7')
    expect(await outcomeOf(Promise.all([one, two]), mirror.clock)).toBe('resolved')
    expect([(await one).value?.version, (await two).value?.version]).toEqual(['6', '7'])
    await changes.close()
  })
})

describe('the end', () => {
  test('comes without an error when it is closed', async () => {
    const mirror = numbers()
    const changes = stream(mirror)
    const { end } = read(changes)
    await mirror.clock.advance(0)
    await changes.close()
    await expect(end).resolves.toBeUndefined()
  })

  test('comes without an error when its signal aborts', async () => {
    const mirror = numbers()
    const control = new AbortController()
    const { end } = read(stream(mirror, { signal: control.signal }))
    await mirror.clock.advance(0)
    control.abort(new Error('gone'))
    await expect(end).resolves.toBeUndefined()
  })

  test('a signal that has aborted already ends it without a batch', async () => {
    const { told, end } = read(stream(numbers(['a', 1]), { signal: AbortSignal.abort() }))
    await end
    expect(told).toEqual([])
  })

  test('leaving the loop closes it', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    for await (const _batch of changes) break
    expect([mirror.router.feeds.size, mirror.released.size]).toEqual([0, 1])
    expect(await changes.next()).toEqual({ value: undefined, done: true })
  })

  test('leaving it by an error closes it too', async () => {
    const mirror = numbers(['a', 1])
    const { end } = read(stream(mirror), () => {
      throw new Error('mine')
    })
    await expect(end).rejects.toThrow('mine')
    expect(mirror.router.feeds.size).toBe(0)
  })

  test('an overflow is an error, once; then it is over', async () => {
    const mirror = numbers()
    const changes = stream(mirror, { capacity: 1, onOverflow: 'fail' })
    await changes.next()
    mirror.put('a', 1, '6').put('b', 1, '7')
    await expect(changes.next()).rejects.toMatchObject({ code: 'HANDLER' })
    expect(await changes.next()).toEqual({ value: undefined, done: true })
  })

  test('a stream that is closed rejects who waits', async () => {
    const mirror = new Mirror<number>()
    const changes = stream(mirror)
    const waits = [changes.synced(), changes.waitFor('9')]
    await changes.close()
    for (const wait of waits) await expect(wait).rejects.toMatchObject({ code: 'STOPPED' })
  })

  test('its version stays at what was handled', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    await changes.next()
    mirror.put('a', 2, '6')
    await changes.next()
    await changes.close()
    expect(changes.version).toBe('5')
  })

  test('with drain it comes when everything has been handled', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    mirror.put('a', 2, '6')
    const closed = changes.close({ drain: true })
    expect(await outcomeOf(closed, mirror.clock)).toBe('pending')
    const { told, end } = read(changes)
    await end
    expect(told).toEqual(['add a, @5', 'update a, @6'])
    expect(await outcomeOf(closed, mirror.clock)).toBe('resolved')
  })

  test.each(['leaves its loop', 'aborts its signal'])(
    'with drain it comes when the reader %s with a batch in hand',
    async (how) => {
      const mirror = numbers(['a', 1])
      const control = new AbortController()
      const changes = stream(mirror, { signal: control.signal })
      await changes.next()
      const closed = changes.close({ drain: true })
      expect(await outcomeOf(closed, mirror.clock)).toBe('pending')
      if (how === 'leaves its loop') await changes.return()
      else control.abort()
      expect(await outcomeOf(closed, mirror.clock)).toBe('resolved')
    },
  )

  test('with drain it comes when the batch in hand has been handled, though nothing else waits', async () => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror)
    await changes.next()
    const closed = changes.close({ drain: true })
    expect([await outcomeOf(closed, mirror.clock), changes.version]).toEqual(['pending', undefined])
    const end = changes.next()
    expect(await outcomeOf(closed, mirror.clock)).toBe('resolved')
    expect([await end, changes.version]).toEqual([{ value: undefined, done: true }, '5'])
  })

  test('disposing of it closes it', async () => {
    const mirror = numbers()
    await stream(mirror)[Symbol.asyncDispose]()
    expect(mirror.router.feeds.size).toBe(0)
  })

  // I15
  test.each([
    ['close', (changes: BatchIterator<number>) => changes.close()],
    ['leaving the loop', (changes: BatchIterator<number>) => changes.return()],
    [
      'an overflow',
      async (changes: BatchIterator<number>, mirror: Mirror<number>) => {
        mirror.put('a', 1, '6').put('b', 1, '7')
        await expect(changes.next()).rejects.toMatchObject({ code: 'HANDLER' })
      },
    ],
  ])('leaves no listener on its signal: %s', async (_how, end) => {
    const mirror = numbers()
    const { signal } = new AbortController()
    const changes = stream(mirror, { signal, capacity: 1, onOverflow: 'fail' })
    await changes.next()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await end(changes, mirror)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
