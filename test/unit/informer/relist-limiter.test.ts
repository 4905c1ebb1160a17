import { describe, expect, test } from 'vitest'
import { RelistLimiter, SLOT_MS } from '../../../src/informer/relist-limiter.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'

describe('the limit of concurrent relists', () => {
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
})
