import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { BatchIterator } from '../../../src/subscriptions/delivery/batch-iterator.js'
import type { FeedOptions } from '../../../src/subscriptions/subscription-types.js'
import { numbers } from '../../support/controllers.js'
import type { Mirror } from '../../support/feeds.js'
import { outcomeOf } from '../../support/informers.js'

function stream(mirror: Mirror<number>, options: FeedOptions<number> = {}): BatchIterator<number> {
  return new BatchIterator(mirror.feed(options, { bookmarks: true, initialAdds: true }), options.signal)
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

test('[I7] a batch counts as handled when the next one is read', async () => {
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

describe('the end', () => {
  test.each<[string, (changes: BatchIterator<number>, control: AbortController) => unknown]>([
    ['close', (changes) => changes.close()],
    ['dispose', (changes) => changes[Symbol.asyncDispose]()],
    ['its signal', (_, control) => control.abort(new Error('gone'))],
    ['leaving the loop', (changes) => changes.return()],
    ['an overflow', (changes) => expect(changes.next()).rejects.toMatchObject({ code: 'HANDLER' })],
  ])('[I15] comes with %s, without an error or another batch, and leaves no listener', async (how, end) => {
    const mirror = numbers(['a', 1])
    const control = new AbortController()
    const changes = stream(mirror, { signal: control.signal, capacity: 1, onOverflow: 'fail' })
    await changes.next()
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(1)
    mirror.put('a', 2, '6')
    if (how === 'an overflow') mirror.put('a', 3, '7')
    await end(changes, control)
    expect(await changes.next()).toEqual({ value: undefined, done: true })
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
    // The batch in hand counts as handled if another one was read.
    const version = how === 'an overflow' ? '5' : undefined
    expect([changes.version, mirror.router.feeds.size, mirror.released.size]).toEqual([version, 0, 1])
  })

  test.each<[string, string[], AbortSignal, boolean]>([
    ['comes to a loop that waits', ['add a, @5'], new AbortController().signal, false],
    ['comes without a batch if its signal has aborted already', [], AbortSignal.abort(), false],
    ['comes with an error of the loop', ['add a, @5'], new AbortController().signal, true],
  ])('%s', async (_what, expected, signal, throws) => {
    const mirror = numbers(['a', 1])
    const changes = stream(mirror, { signal })
    const { told, end } = read(changes, () => {
      if (throws) throw new Error('mine')
    })
    const outcome = throws ? expect(end).rejects.toThrow('mine') : expect(end).resolves.toBeUndefined()
    await mirror.clock.advance(0)
    if (!throws) await changes.close()
    await outcome
    expect([told, mirror.router.feeds.size]).toEqual([expected, 0])
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
})
