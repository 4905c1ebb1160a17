import { describe, expect, test } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { Indexer } from '../../src/indexer.js'
import { Reflector } from '../../src/reflector.js'
import { RelistLimit } from '../../src/relist-limit.js'
import { SeededRandom } from '../../src/testing/seeded-random.js'
import { VirtualClock } from '../../src/testing/virtual-clock.js'

describe('a limit of relists', () => {
  test('lets them begin in the order in which they came, each when one is over', async () => {
    const limit = new RelistLimit(1)
    const { signal } = new AbortController()
    const begun: string[] = []
    const over = await limit.acquire(signal)
    const later = ['a', 'b'].map(async (name) => {
      const release = await limit.acquire(signal)
      begun.push(name)
      release()
      release()
    })
    expect(begun).toEqual([])
    over()
    await Promise.all(later)
    expect(begun).toEqual(['a', 'b'])
  })

  test('forgets who no longer waits', async () => {
    const limit = new RelistLimit(1)
    const control = new AbortController()
    const over = await limit.acquire(new AbortController().signal)
    const waiting = limit.acquire(control.signal)
    control.abort(new Error('no longer'))
    await expect(waiting).rejects.toThrow('no longer')
    await expect(limit.acquire(control.signal)).rejects.toThrow('no longer')
    over()
    expect(await limit.acquire(new AbortController().signal)).toBeTypeOf('function')
  })

  test('gets back a turn that comes to a reflector which has been stopped', async () => {
    const clock = new VirtualClock()
    const control = new AbortController()
    const turn = Promise.withResolvers<() => void>()
    const reflector = new Reflector(
      memorySource<number>(),
      new Indexer<number>(),
      { clock, random: new SeededRandom(1) },
      { admit: () => turn.promise },
    )
    const running = reflector.run({ signal: control.signal })
    await clock.advance(0)
    reflector.relist('to see')
    await clock.advance(2_000)
    expect(reflector.state.name).toBe('relisting')
    let isBack = false
    // The turn has come, and in the same moment it is not wanted any more.
    turn.resolve(() => {
      isBack = true
    })
    control.abort()
    await running
    await clock.advance(0)
    expect(isBack).toBe(true)
  })
})
