import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { RelistLimiter, SLOT_MS } from '../../../src/informer/relist-limiter.js'
import { Reflector } from '../../../src/reflector/reflector.js'
import { Indexer } from '../../../src/store/indexer.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'

describe('the limit of concurrent relists', () => {
  test('relists begin in the order of their requests, each when another one is over', async () => {
    const limit = new RelistLimiter(1)
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const begun: string[] = []
    const over = await limit.acquire(signal, clock)
    const later = ['a', 'b'].map(async (name) => {
      const release = await limit.acquire(signal, clock)
      begun.push(name)
      release()
      release()
    })
    expect(begun).toEqual([])
    over()
    await Promise.all(later)
    expect(begun).toEqual(['a', 'b'])
    expect(clock.sleeping).toBe(0)
  })

  test('[G3] the next relist begins if one takes longer than five minutes', async () => {
    const limit = new RelistLimiter(1)
    const clock = new VirtualClock()
    const { signal } = new AbortController()
    const late = await limit.acquire(signal, clock)
    const next = limit.acquire(signal, clock)
    await clock.advance(SLOT_MS - 1)
    expect(await outcomeOf(next, clock)).toBe('pending')
    await clock.advance(1)
    expect(await outcomeOf(next, clock)).toBe('resolved')
    late() // Its slot had expired: this frees no further slot.
    const third = limit.acquire(signal, clock)
    expect(await outcomeOf(third, clock)).toBe('pending')
    ;(await next)()
    ;(await third)()
    expect(clock.sleeping).toBe(0)
  })

  test('an aborted request for a slot leaves the queue', async () => {
    const limit = new RelistLimiter(1)
    const clock = new VirtualClock()
    const control = new AbortController()
    const over = await limit.acquire(new AbortController().signal, clock)
    const waiting = limit.acquire(control.signal, clock)
    control.abort(new Error('no longer'))
    await expect(waiting).rejects.toThrow('no longer')
    await expect(limit.acquire(control.signal, clock)).rejects.toThrow('no longer')
    over()
    expect(await limit.acquire(new AbortController().signal, clock)).toBeTypeOf('function')
  })

  test('a slot that arrives after the stop of its reflector is released', async () => {
    const clock = new VirtualClock()
    const control = new AbortController()
    const turn = Promise.withResolvers<() => void>()
    const reflector = new Reflector(
      memorySource<number>(),
      new Indexer<number>(),
      { clock, random: new SeededRandom(1) },
      { acquireRelistSlot: () => turn.promise },
    )
    const running = reflector.run({ signal: control.signal })
    await clock.advance(0)
    reflector.relist('to see')
    await clock.advance(2_000)
    expect(reflector.state.name).toBe('relisting')
    let isBack = false
    // The slot arrives, and the reflector is stopped before it continues.
    turn.resolve(() => {
      isBack = true
    })
    control.abort()
    await running
    await clock.advance(0)
    expect(isBack).toBe(true)
  })
})
