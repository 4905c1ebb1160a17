import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import type { Change, Handlers } from '../../../src/index.js'
import { HandlerSubscription } from '../../../src/subscriptions/delivery/handler-subscription.js'
import type { FeedOptions } from '../../../src/subscriptions/subscription-types.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { numbers } from '../../support/controllers.js'
import type { Mirror } from '../../support/feeds.js'
import { Fold } from '../../support/fold.js'
import { outcomeOf } from '../../support/informers.js'

type Options = FeedOptions<number>

function subscribe(mirror: Mirror<number>, handlers: Handlers<number>, options: Options = {}) {
  return new HandlerSubscription(mirror.feed(options), handlers, options)
}

/** One of which the key `stuck` is never done. */
function subscribeStuck(mirror: Mirror<number>, options: Options): HandlerSubscription<number> {
  const tell = ({ key }: { readonly key: string }): unknown =>
    key === 'stuck' ? new Promise(() => {}) : mirror.clock.sleep(3)
  return subscribe(mirror, { add: tell, update: tell, delete: tell }, options)
}

/** A handler that waits for the test: what has begun, and how to let it end. */
class Gates {
  readonly begun: string[] = []
  readonly ended: string[] = []
  readonly #open: (() => void)[] = []

  readonly handle = async ({ key, object }: { readonly key: string; readonly object: number }): Promise<void> => {
    const what = `${key}=${object}`
    this.begun.push(what)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open.push(resolve)
    await promise
    this.ended.push(what)
  }

  get handlers(): Handlers<number> {
    return { add: this.handle, update: this.handle, delete: this.handle }
  }

  /** Lets the one that began first end. */
  next(): void {
    this.#open.shift()?.()
  }
}

test('handlers get each change once, with all there is to know, and never inside its commit', async () => {
  const mirror = numbers(['a', 1], ['b', 1], ['c', 1])
  const fold = new Fold<number>()
  const [subscription, without] = [subscribe(mirror, fold.handlers), subscribe(mirror, {})]
  await mirror.clock.advance(0)
  mirror
    .put('a', 2, '6')
    .delete('a', '7')
    .list([['b', 2]], '8')
  expect(fold.changes).toHaveLength(3)
  await mirror.clock.advance(0)
  const update = { type: 'update', object: 2, previous: 1 }
  expect(fold.changes).toEqual([
    ...['a', 'b', 'c'].map((key) => ({
      type: 'add',
      key,
      object: 1,
      previous: undefined,
      version: undefined,
      origin: 'initial',
    })),
    { ...update, key: 'a', version: '6', origin: 'watch' },
    { type: 'delete', key: 'a', object: 2, previous: 2, version: '7', origin: 'watch', finalState: 'known' },
    { type: 'delete', key: 'c', object: 1, previous: 1, version: '8', origin: 'relist', finalState: 'unknown' },
    { ...update, key: 'b', version: '8', origin: 'relist' },
  ])
  // A change without a handler counts as handled.
  expect([subscription.version, without.version]).toEqual(['8', '8'])
})

test('handlers may be an instance of a class with fields of its own', async () => {
  class Totals {
    #sum = 0

    add({ object }: { readonly object: number }): void {
      this.#sum += object
    }

    get sum(): number {
      return this.#sum
    }
  }
  const mirror = numbers(['a', 3])
  const totals = new Totals()
  subscribe(mirror, totals)
  await mirror.clock.advance(0)
  expect([totals.sum, mirror.errors]).toEqual([3, []])
})

test('a thenable that is not a promise is awaited too', async () => {
  const mirror = numbers(['a', 1])
  let resolve = (): void => {}
  const thenable = {
    // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable.
    then: (done: () => void) => (resolve = done),
  }
  const subscription = subscribe(mirror, { add: () => thenable })
  await mirror.clock.advance(0)
  expect(subscription.version).toBeUndefined()
  resolve()
  await mirror.clock.advance(0)
  expect(subscription.version).toBe('5')
})

test.each(['every', 'latest'] as const)(
  '[I12] behind a stuck key nothing is kept of what others have done, with delivery %s',
  async (delivery) => {
    const mirror = numbers()
    const subscription = subscribeStuck(mirror, { concurrency: 4, delivery })
    const [feed] = mirror.router.feeds
    mirror.put('stuck', 1, '6')
    let most = 0
    for (let i = 0; i < 1_000; i++) {
      mirror.put(`k${i % 20}`, i, `${7 + i}`)
      await mirror.clock.advance(1)
      most = Math.max(most, feed?.trackedBatches ?? Infinity)
    }
    await mirror.clock.advance(100)
    expect(most).toBeLessThanOrEqual(4)
    expect([feed?.trackedBatches, subscription.backlog.keys, subscription.version]).toEqual([1, 0, '5'])
  },
)

test.each([1, 2, 5])(
  '[I4] with %i at a time every history is legal, and the version is never ahead of what handlers have finished',
  async (concurrency) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new SeededRandom(seed)
      const mirror = numbers()
      const fold = new Fold<number>()
      const busy = new Set<string>()
      const overlaps: string[] = []
      /** The writes from version 6 on, and the last change of each key whose handler has finished. */
      const written: { readonly key: string; readonly isThere: boolean }[] = []
      const finished = new Map<string, { readonly version: number; readonly isThere: boolean }>()
      const finish = ({ key, type, version }: Change<number>): void => {
        busy.delete(key)
        finished.set(key, { version: Number(version), isThere: type !== 'delete' })
      }
      const handleSlowly = async (change: Change<number>): Promise<void> => {
        await mirror.clock.sleep(random.below(60))
        finish(change)
        if (random.chance(0.1)) throw new Error('now and then')
      }
      const handle = (change: Change<number>): unknown => {
        if (busy.has(change.key)) overlaps.push(change.key)
        if (busy.size >= concurrency) overlaps.push(`${busy.size} at a time`)
        fold.tell(change)
        busy.add(change.key)
        return random.chance(0.4) ? finish(change) : handleSlowly(change)
      }
      const subscription = subscribe(
        mirror,
        { add: handle, update: handle, delete: handle },
        { concurrency, capacity: 20, delivery: random.chance(0.5) ? 'every' : 'latest' },
      )
      await mirror.clock.advance(0)
      /** Keys of which a handler has finished neither the state at the version nor a later one. */
      const unfinished = (): string[] => {
        const upTo = Number(subscription.version) - 5
        const keys = new Set(written.slice(0, upTo).map(({ key }) => key))
        return [...keys].filter((key) => {
          const last = finished.get(key)
          const since = written.findLastIndex((write, i) => write.key === key && i < upTo)
          return !written.some(
            (write, i) =>
              write.key === key &&
              i >= since &&
              ((last?.version ?? 0) >= i + 6 || (!write.isThere && last?.isThere !== true)),
          )
        })
      }
      for (let i = 6; i < 100; i++) {
        const key = `k${random.below(5)}`
        const isThere = !random.chance(0.3)
        if (isThere) mirror.put(key, i, `${i}`)
        else mirror.delete(key, `${i}`)
        written.push({ key, isThere })
        if (random.chance(0.4)) await mirror.clock.advance(random.below(20))
        expect(unfinished(), `seed ${seed}, version ${subscription.version}`).toEqual([])
      }
      await mirror.clock.advance(10_000)
      expect([subscription.version, unfinished(), overlaps], `seed ${seed}`).toEqual(['99', [], []])
      expect(fold.objects, `seed ${seed}`).toEqual(new Map(mirror.indexer.entries()))
      expect(subscription.backlog.keys, `seed ${seed}`).toBe(0)
    }
  },
)

test('[B9] a handler that never settles is reported once, after 10 s, with how many keys wait', async () => {
  const mirror = numbers(['a', 1])
  subscribe(mirror, { add: () => new Promise(() => {}) }, { name: 'mine' })
  await mirror.clock.advance(0)
  mirror.put('b', 1, '6')
  await mirror.clock.advance(9_999)
  expect(mirror.errors).toEqual([])
  await mirror.clock.advance(60_000)
  expect(mirror.errors).toMatchObject([{ code: 'HANDLER', phase: 'handle', key: 'a' }])
  expect(mirror.errors[0]?.message).toBe(
    'a handler of "mine" on mirror has not settled for 10 s at key "a"; 1 key waits',
  )
})

test('the backlog counts the rest of a transaction whose first change is being handled', async () => {
  const mirror = numbers()
  const gates = new Gates()
  const subscription = subscribe(mirror, gates.handlers)
  await mirror.clock.advance(0)
  mirror.apply(
    ['a', 'b', 'c'].map((key) => ({ type: 'put', key, object: 1 }) as const),
    '6',
  )
  await mirror.clock.advance(0)
  expect(subscription.backlog.keys).toBe(2)
  gates.next()
  await mirror.clock.advance(0)
  expect(subscription.backlog.keys).toBe(1)
})

test.each([
  [1, 'every', 'b=1', { keys: 2, oldestMs: 530 }],
  [3, 'latest', 'a=2', { keys: 1, oldestMs: 30 }],
] as const)(
  'what waits has the age of the oldest change, with %i at a time',
  async (concurrency, delivery, last, backlog) => {
    const mirror = numbers()
    const gates = new Gates()
    const subscription = subscribe(mirror, gates.handlers, { concurrency, delivery })
    mirror.put('a', 1, '6').put('b', 1, '7')
    await mirror.clock.advance(0)
    mirror.put('a', 2, '8')
    await mirror.clock.advance(500)
    mirror.put('b', 2, '9')
    await mirror.clock.advance(30)
    expect(subscription.backlog.oldestMs).toBe(530)
    gates.next()
    await mirror.clock.advance(0)
    expect([gates.begun.at(-1), subscription.backlog]).toMatchObject([last, backlog])
  },
)

test.each([1, 2])(
  '[F10] close waits for handlers that run, and delivers no queued change (%i at a time)',
  async (concurrency) => {
    const mirror = numbers(['a', 1], ['b', 1], ['c', 1])
    const gates = new Gates()
    const subscription = subscribe(mirror, gates.handlers, { concurrency })
    await mirror.clock.advance(0)
    const running = ['a=1', 'b=1'].slice(0, concurrency)
    const closed = subscription.close()
    expect(await outcomeOf(closed, mirror.clock)).toBe('pending')
    for (const _ of running) gates.next()
    expect(await outcomeOf(closed, mirror.clock)).toBe('resolved')
    mirror.put('d', 1, '8')
    await mirror.clock.advance(0)
    expect([gates.begun, gates.ended, mirror.clock.sleeping]).toEqual([running, running, 0])
  },
)

test('an option that it does not know is a TypeError', async () => {
  const subscription = subscribe(numbers(), {})
  await expect(Reflect.apply(subscription.close, subscription, [{ drian: true }])).rejects.toThrow(
    expect.objectContaining({ message: 'close: unknown option "drian"; allowed are drain' }),
  )
})

test.each<[string, (subscription: HandlerSubscription<number>, control: AbortController) => unknown]>([
  ['close', (subscription) => subscription.close()],
  ['two closes', (subscription) => Promise.all([subscription.close(), subscription.close()])],
  ['dispose', (subscription) => subscription[Symbol.asyncDispose]()],
  ['its signal', (_, control) => control.abort()],
  ['an overflow', () => {}],
])('[I15] after %s nothing is delivered, and no listener of its signal is left', async (_how, end) => {
  const mirror = numbers(['a', 1])
  const fold = new Fold<number>()
  const control = new AbortController()
  const subscription = subscribe(mirror, fold.handlers, { signal: control.signal, capacity: 1, onOverflow: 'fail' })
  await mirror.clock.advance(0)
  expect(getEventListeners(control.signal, 'abort')).toHaveLength(1)
  await end(subscription, control)
  // If it was not ended before, this is an overflow.
  mirror.put('a', 2, '6').put('a', 3, '7').put('a', 4, '8')
  await mirror.clock.advance(0)
  expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
  expect([fold.told, mirror.router.feeds.size, mirror.released.size]).toEqual([['add a'], 0, 1])
})
