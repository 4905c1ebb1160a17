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

describe('ready keys', () => {
  test('leave in the order in which they came', () => {
    const { queue } = setUp()
    for (const key of ['b', 'a', 'c']) queue.add(key)
    expect(takeAll(queue)).toEqual(['b', 'a', 'c'])
  })

  test('are there once, and keep their place', () => {
    const { queue } = setUp()
    for (const key of ['a', 'b', 'a']) queue.add(key)
    expect(takeAll(queue)).toEqual(['a', 'b'])
  })

  test('are announced once each', () => {
    const { queue, wakes } = setUp()
    queue.add('a')
    queue.add('a')
    expect(wakes()).toBe(1)
  })

  test('an empty queue returns undefined', () => {
    expect(setUp().queue.dequeue()).toBeUndefined()
  })
})

describe('a key that is worked on', () => {
  test('is not given out a second time', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.add('a')
    expect(queue.dequeue()).toBeUndefined()
  })

  test('is ready again as soon as it is done, if it was added meanwhile', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.add('a')
    queue.done('a')
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('is not ready again if it was not added', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.done('a')
    expect(queue.dequeue()).toBeUndefined()
  })

  test('is not ready again if done is called with false, though it was added meanwhile', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.add('a')
    queue.done('a', false)
    expect(queue.dequeue()).toBeUndefined()
  })

  test('counts as active and as running until it is done', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.add('b')
    queue.dequeue()
    expect([queue.active, queue.running, queue.isRunning('a'), queue.isRunning('b')]).toEqual([2, 1, true, false])
    queue.done('a')
    expect([queue.active, queue.running]).toEqual([1, 0])
  })
})

describe.each(['addAt', 'addBy'] as const)('a key with a time, set by %s', (set) => {
  test('is ready at that time, and not before', async () => {
    const { clock, queue, wakes } = setUp()
    queue[set]('a', 100)
    await clock.advance(99)
    expect(queue.dequeue()).toBeUndefined()
    await clock.advance(1)
    expect([wakes(), queue.dequeue()]).toEqual([1, 'a'])
  })

  test('is ready at once if the time is past', () => {
    const { queue } = setUp()
    queue[set]('a', 0)
    expect(queue.dequeue()).toBe('a')
  })

  test('is ready again if its time came while it was processed', async () => {
    const { clock, queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue[set]('a', 10)
    await clock.advance(10)
    expect([queue.dequeue(), queue.delayed]).toEqual([undefined, 0])
    queue.done('a')
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('keeps an earlier time that was set before', async () => {
    const { clock, queue } = setUp()
    queue[set]('a', 100)
    queue[set]('a', 200)
    await clock.advance(100)
    expect(takeAll(queue)).toEqual(['a'])
  })

  test('takes an earlier time that is set later, and is ready once', async () => {
    const { clock, queue, wakes } = setUp()
    queue[set]('a', 200)
    queue[set]('a', 100)
    await clock.advance(100)
    expect(takeAll(queue)).toEqual(['a'])
    queue.done('a')
    await clock.advance(200)
    expect(wakes()).toBe(1)
  })

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

  test('needs one timer, however many keys wait', () => {
    const { clock, queue } = setUp()
    for (let i = 1; i <= 50; i++) queue[set](`k${i}`, i)
    expect([clock.sleeping, queue.delayed]).toEqual([1, 50])
    queue.close()
  })

  test('does not count as active', () => {
    const { queue } = setUp()
    queue[set]('a', 100)
    expect(queue.active).toBe(0)
    queue.close()
  })

  test('leaves no timer after close', async () => {
    const { clock, queue, wakes } = setUp()
    queue[set]('a', 100)
    queue.close()
    await clock.advance(200)
    expect([clock.sleeping, queue.delayed, wakes()]).toEqual([0, 0, 0])
  })

  // I12
  test('what is kept of times is bounded by the keys that wait, however often they are set earlier', () => {
    const { queue } = setUp()
    for (let i = 0; i < 10_000; i++) queue[set](`k${i % 4}`, 1_000_000 - i)
    expect(queue.heapSize).toBeLessThan(100)
    queue.close()
  })
})

describe('a time by which a key is ready', () => {
  test('is forgotten when the key is added before', async () => {
    const { clock, queue, wakes } = setUp()
    queue.addBy('a', 100)
    queue.add('a')
    queue.dequeue()
    queue.done('a')
    await clock.advance(200)
    expect([wakes(), queue.delayed]).toEqual([1, 0])
  })

  test('is dropped if the key is ready already', async () => {
    const { clock, queue, wakes } = setUp()
    queue.add('a')
    queue.addBy('a', 100)
    expect(queue.delayed).toBe(0)
    queue.dequeue()
    queue.done('a')
    await clock.advance(200)
    expect(wakes()).toBe(1)
  })

  test('is forgotten when the time comes at which the key is added', async () => {
    const { clock, queue } = setUp()
    queue.addBy('a', 200)
    queue.addAt('a', 100)
    await clock.advance(100)
    expect([queue.dequeue(), queue.delayed]).toEqual(['a', 0])
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

describe('a time at which a key is added', () => {
  test('is kept when the key is added before', async () => {
    const { clock, queue } = setUp()
    queue.addAt('a', 100)
    queue.add('a')
    queue.done(queue.dequeue() ?? '')
    await clock.advance(99)
    expect(queue.dequeue()).toBeUndefined()
    await clock.advance(1)
    expect(queue.dequeue()).toBe('a')
  })

  test('is kept if the key is ready already', async () => {
    const { clock, queue } = setUp()
    queue.add('a')
    queue.addAt('a', 100)
    queue.done(queue.dequeue() ?? '')
    await clock.advance(100)
    expect(queue.dequeue()).toBe('a')
  })

  test('is kept when the time comes by which the key is ready', async () => {
    const { clock, queue } = setUp()
    queue.addAt('a', 200)
    queue.addBy('a', 100)
    await clock.advance(100)
    queue.done(queue.dequeue() ?? '')
    await clock.advance(100)
    expect(queue.dequeue()).toBe('a')
  })
})

describe('once it is sealed', () => {
  test.each(['addAt', 'addBy'] as const)('a time that was set by %s before does not come', async (set) => {
    const { clock, queue } = setUp()
    queue[set]('a', 100)
    queue.drain()
    await clock.advance(200)
    expect([queue.dequeue(), queue.delayed, clock.sleeping]).toEqual([undefined, 0, 0])
  })

  test.each(['addAt', 'addBy'] as const)('a time that is set by %s after it does not come', async (set) => {
    const { clock, queue } = setUp()
    queue.drain()
    queue[set]('a', 100)
    await clock.advance(200)
    expect([queue.dequeue(), queue.delayed, clock.sleeping]).toEqual([undefined, 0, 0])
  })

  test('what is added is ready all the same, during a run as well', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.drain()
    queue.dequeue()
    queue.add('a')
    queue.done('a')
    queue.addBy('b', 0)
    expect(takeAll(queue)).toEqual(['a', 'b'])
  })
})

describe('close', () => {
  test('leaves no ready key', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.close()
    expect(queue.dequeue()).toBeUndefined()
  })

  test('leaves none that was added while it was worked on', () => {
    const { queue } = setUp()
    queue.add('a')
    queue.dequeue()
    queue.add('a')
    queue.close()
    queue.done('a')
    expect(queue.active).toBe(0)
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

  test('nothing is added after it', () => {
    const { queue } = setUp()
    queue.close()
    queue.add('a')
    expect(queue.dequeue()).toBeUndefined()
  })
})
