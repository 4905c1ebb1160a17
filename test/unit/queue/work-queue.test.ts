import { describe, expect, test } from 'vitest'
import { WorkQueue } from '../../../src/queue/work-queue.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { AllKeyRecords } from '../../support/key-records.js'

function setUp(): { clock: VirtualClock; queue: WorkQueue; wakes: () => number } {
  const clock = new VirtualClock(0)
  let wakes = 0
  const queue = new WorkQueue(clock, new AllKeyRecords(), () => {
    wakes++
  })
  return { clock, queue, wakes: () => wakes }
}

function takeAll(queue: WorkQueue): string[] {
  const taken: string[] = []
  for (let key = queue.dequeue(); key !== undefined; key = queue.dequeue()) taken.push(key)
  return taken
}

describe.each(['addAt', 'addBy'] as const)('a key with a time, set by %s', (set) => {
  test('a time that was overtaken takes no later one with it', async () => {
    const { clock, queue } = setUp()
    queue[set]('b', 100)
    queue[set]('a', 100)
    queue[set]('a', 50)
    await clock.advance(50)
    queue.dequeue()
    queue[set]('a', 200)
    await clock.advance(50)
    expect(takeAll(queue)).toEqual(['b'])
    queue.done('a')
    await clock.advance(100)
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('times are kept in order, however many there are', async () => {
    const { clock, queue } = setUp()
    const random = new SeededRandom(7)
    const dues = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}`, due: 1 + random.below(100) }))
    for (const { key, due } of dues) queue[set](key, due)
    const taken: { key: string; at: number }[] = []
    for (let now = 1; now <= 100; now++) {
      await clock.advance(1)
      for (const key of takeAll(queue)) taken.push({ key, at: now })
    }
    expect(new Map(taken.map(({ key, at }) => [key, at]))).toEqual(new Map(dues.map(({ key, due }) => [key, due])))
  })

  // I12
  test('what is kept of times is bounded by the keys that wait, however often they are set earlier', () => {
    const { queue } = setUp()
    for (let i = 0; i < 10_000; i++) queue[set](`k${i % 4}`, 1_000_000 - i)
    expect(queue.heapSize).toBeLessThan(100)
    queue.close()
  })

  test.each(['before', 'after'])('does not come once the queue is sealed, if its time was set %s', async (when) => {
    const { clock, queue } = setUp()
    if (when === 'after') queue.drain()
    queue[set]('a', 100)
    queue.drain()
    await clock.advance(200)
    expect([queue.dequeue(), queue.delayed, clock.sleeping]).toEqual([undefined, 0, 0])
  })
})

describe('a time by which a key is ready', () => {
  test.each<[string, (queue: WorkQueue) => void]>([
    ['is forgotten when the key is added before', (queue) => void [queue.addBy('a', 100), queue.add('a')]],
    ['is dropped if the key is ready already', (queue) => void [queue.add('a'), queue.addBy('a', 100)]],
    ['is forgotten when the key is added at its time', (queue) => void [queue.addBy('a', 200), queue.addAt('a', 100)]],
  ])('%s', async (_, act) => {
    const { clock, queue, wakes } = setUp()
    act(queue)
    await clock.advance(100)
    expect([takeAll(queue), queue.delayed]).toEqual([['a'], 0])
    queue.done('a')
    await clock.advance(200)
    expect([wakes(), queue.delayed]).toEqual([1, 0])
  })

  // I12
  test('leaves nothing behind if it is dropped repeatedly', () => {
    const { queue } = setUp()
    for (let i = 0; i < 10_000; i++) {
      queue.addBy(`k${i % 4}`, 1_000_000 + i)
      queue.add(`k${i % 4}`)
      queue.done(queue.dequeue() ?? '')
    }
    expect(queue.heapSize).toBeLessThan(100)
    queue.close()
  })
})

test('what is added to a sealed queue is ready all the same, during a run as well', () => {
  const { queue } = setUp()
  queue.add('a')
  queue.drain()
  queue.dequeue()
  queue.add('a')
  queue.done('a')
  queue.addBy('b', 0)
  expect(takeAll(queue)).toEqual(['a', 'b'])
})

describe('close', () => {
  test('leaves no ready key, none that was added while it was worked on, and none that is added after it', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.add('a')
    queue.add('b')
    queue.close()
    queue.done('a')
    queue.add('c')
    expect([queue.active, queue.dequeue()]).toEqual([0, undefined])
  })

  test('leaves none whose priority has closed the queue', () => {
    const queue = new WorkQueue(
      new VirtualClock(),
      new AllKeyRecords(),
      () => {},
      () => {},
      (key) => {
        if (key === 'b') queue.close()
        return 1
      },
    )
    for (const key of ['a', 'b', 'c']) queue.add(key)
    expect([queue.active, queue.dequeue()]).toEqual([0, undefined])
  })
})
