import { describe, expect, test } from 'vitest'
import { isAny, isWatch } from './fake.js'
import { Mirror } from './mirror.js'

describe('a watch is open for maxWatchMs at most', () => {
  const options = { source: { maxWatchMs: 60_000 }, fill: 1 }

  test('which the request says, half of it at least, and not always the same', () =>
    Mirror.live(options, async (mirror) => {
      for (let times = 0; times < 4; times++) {
        const opened = mirror.fake.watches.length
        mirror.fake.collection.watching.at(-1)?.reset()
        await mirror.until('another watch', () => mirror.fake.watches.length > opened)
      }
      const ends = mirror.fake.watches.map(({ query }) => Number(query.get('timeoutSeconds')))
      expect([Math.min(...ends) >= 30, Math.max(...ends) <= 60, new Set(ends).size > 1]).toEqual([true, true, true])
    }))

  test('even if the server does not end it', () =>
    Mirror.live(options, async (mirror) => {
      const [first] = mirror.fake.collection.watching
      await mirror.pass(61_000)
      await mirror.until('another watch', () => first?.isOpen === false && mirror.fake.collection.watching.length > 0)
      await mirror.follows('k0', 'after')
      expect([mirror.relists, mirror.errors]).toEqual([0, []])
    }))

  test('and the next one follows at once, even if one was refused before', () =>
    Mirror.live(options, async (mirror) => {
      const over = mirror.fake.rule(isAny, (exchange) => exchange.refuse({ code: 403 }))
      mirror.fake.collection.watching.at(-1)?.reset()
      await mirror.until('it to be refused', () => mirror.informer.status.state === 'failed')
      over()
      for (let times = 0; times < 4; times++) {
        await mirror.until('a watch', () => mirror.informer.status.state === 'live')
        await mirror.untilPassing('its end', () => mirror.informer.status.state !== 'live')
        expect(mirror.informer.status.retryInMs ?? 0).toBe(0)
      }
    }))

  test('and is opened ever more rarely if the server ends each at once', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const at: number[] = []
      mirror.fake.rule(isWatch, (exchange) => {
        at.push(mirror.clock.now())
        exchange.open()
        exchange.end()
      })
      for (const watch of mirror.fake.collection.watching) watch.end()
      await mirror.until('eight attempts', () => at.length >= 8)
      expect((at[7] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(20_000)
      expect(mirror.relists).toBe(0)
    }))
})
