import { describe, expect, test } from 'vitest'
import { isAny } from './fake.js'
import { Mirror } from './mirror.js'

describe('a watch is open for maxWatchMs at most', () => {
  const options = { source: { maxWatchMs: 60_000 }, prepare: ({ collection }: Mirror['fake']) => collection.fill(1) }

  test('which the request says, half of it at least', () =>
    Mirror.with(options, async (mirror) => {
      await mirror.live()
      for (let times = 0; times < 4; times++) {
        const opened = mirror.fake.watches.length
        mirror.fake.collection.watching.at(-1)?.reset()
        await mirror.until('another watch', () => mirror.fake.watches.length > opened)
      }
      for (const { query } of mirror.fake.exchanges.filter(({ isWatch }) => isWatch)) {
        expect(Number(query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(30)
        expect(Number(query.get('timeoutSeconds'))).toBeLessThanOrEqual(60)
      }
    }))

  test('even if the server does not end it', () =>
    Mirror.with(options, async (mirror) => {
      await mirror.live()
      const [first] = mirror.fake.collection.watching
      await mirror.pass(61_000)
      await mirror.until('another watch', () => first?.isOpen === false && mirror.fake.collection.watching.length > 0)
      mirror.fake.collection.put('k0', 'after')
      await mirror.healed()
      expect([mirror.relists, mirror.errors]).toEqual([0, []])
    }))

  test('and the next one follows at once, even if one was refused before', () =>
    Mirror.with(options, async (mirror) => {
      await mirror.live()
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
})
