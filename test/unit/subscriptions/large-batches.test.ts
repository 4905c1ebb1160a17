import { expect, test } from 'vitest'
import { FeedController } from '../../../src/subscriptions/controller/controller.js'
import { HandlerSubscription } from '../../../src/subscriptions/delivery/handler-subscription.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { Mirror } from '../../support/feeds.js'

const KEYS = Array.from({ length: 640 }, (_, i) => `k${i}`)

/** An empty mirror at version 5, and a clock of which each read takes 10 ms. */
function slow(): Mirror<number> {
  const mirror = new Mirror<number>().list([], '5')
  const now = mirror.clock.now.bind(mirror.clock)
  let reads = 0
  Object.assign(mirror.clock, { now: () => now() + 10 * reads++ })
  return mirror
}

function fill(mirror: Mirror<number>): void {
  mirror.apply(
    KEYS.map((key, object) => ({ type: 'put', key, object }) as const),
    '6',
  )
}

/** Lets all promises settle, without a turn of the event loop. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10_000; i++) await Promise.resolve()
}

test.each([
  ['handlers that return nothing', 1, 'sync'],
  ['handlers whose promises settle at once', 1, 'async'],
  ['concurrent handlers that return nothing', 4, 'sync'],
  ['concurrent handlers whose promises settle at once', 4, 'async'],
] as const)('[W12] a large batch is delivered to %s in slices', async (_what, concurrency, kind) => {
  const mirror = slow()
  const told: string[] = []
  const add = ({ key }: { readonly key: string }): unknown => {
    told.push(key)
    return kind === 'async' ? Promise.resolve() : undefined
  }
  const subscription = new HandlerSubscription(mirror.feed(), { add }, { concurrency })
  await mirror.clock.advance(0)
  fill(mirror)
  await settle()
  expect(told).toHaveLength(16)
  expect(subscription.backlog.keys).toBe(KEYS.length - 16)
  expect(mirror.clock.sleeping).toBeGreaterThan(0)
  await mirror.clock.advance(0)
  expect([told, subscription.version, subscription.backlog.keys]).toEqual([KEYS, '6', 0])
})

test('[W12] a large batch of a controller is marked in slices, and run in slices', async () => {
  const mirror = slow()
  const runs: string[] = []
  /** The number of runs before each turn of the event loop. */
  const turns: number[] = []
  const sleep = mirror.clock.sleep.bind(mirror.clock)
  Object.assign(mirror.clock, {
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms === 0) turns.push(runs.length)
      return sleep(ms, signal)
    },
  })
  const controller = new FeedController(mirror.feed(), async (key) => void runs.push(key), {
    random: new SeededRandom(1),
  })
  await mirror.clock.advance(0)
  fill(mirror)
  await settle()
  expect([runs, controller.backlog.keys, controller.version]).toEqual([[], KEYS.length, '5'])
  await mirror.clock.advance(0)
  expect(runs).toEqual(KEYS)
  expect(turns.filter((count) => count === 0).length).toBeGreaterThan(10)
  const slices = turns.map((count, at) => count - (turns[at - 1] ?? 0))
  expect([Math.max(...slices), controller.version, controller.backlog.keys]).toEqual([16, '6', 0])
})

test('a large batch that a drained controller has not marked yet: a drained controller receives the deletion', async () => {
  const mirror = slow()
  const deleted: (number | undefined)[] = []
  const fn = async (key: string, context: { readonly lastObject: number | undefined }): Promise<void> => {
    if (key === 'k600') deleted.push(context.lastObject)
  }
  const controller = new FeedController(mirror.feed(), fn, { random: new SeededRandom(1) })
  await mirror.clock.advance(0)
  fill(mirror)
  await settle()
  const closed = controller.close({ drain: true })
  mirror.delete('k600', '7')
  await mirror.clock.advance(0)
  await closed
  expect(deleted).toEqual([600])
})
