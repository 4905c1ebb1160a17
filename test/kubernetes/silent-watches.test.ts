import { describe, expect, test } from 'vitest'
import { isHead, isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const BUSY = { code: 429, reason: 'TooManyRequests', message: 'too many requests' }

describe('a watch of what is quiet', () => {
  test('is kept if the server sends one bookmark a minute, and a little late', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      for (let minute = 0; minute < 3; minute++) {
        await mirror.pass(65_000)
        const version = mirror.fake.collection.pass()
        await mirror.fake.collection.bookmark()
        await mirror.until('the bookmark to be there', () => mirror.hasReached(version))
      }
      expect(mirror.fake.watches).toHaveLength(1)
    }))

  test('requests bookmarks, and advances with them past other resources', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const { collection } = mirror.fake
      expect(collection.watching[0]?.query.get('allowWatchBookmarks')).toBe('true')
      const version = collection.pass()
      await collection.bookmark()
      await mirror.until('the bookmark to be there', () => mirror.hasReached(version))
      collection.compact()
      collection.watching[0]?.reset()
      collection.put('k0', 'after')
      await mirror.healedAfter(0)
    }))

  test('is not given up before another has taken its place', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const [watch] = mirror.fake.collection.watching
      let next: Exchange | undefined
      mirror.fake.next(isWatch, (exchange) => (next = exchange))
      await mirror.untilPassing('a request for another', () => next !== undefined)
      expect(watch?.isOpen).toBe(true)
      next?.open()
      await mirror.until('the old one to be given up', () => watch?.isOpen === false)
    }))

  test('outlives a server that is too busy for another, and delivers later events', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      let refused = 0
      const over = mirror.fake.rule(isHead, (exchange) => {
        refused++
        exchange.refuse(BUSY, { 'retry-after': '1' })
      })
      await mirror.untilPassing('it to be refused', () => refused > 0)
      const version = mirror.fake.collection.put('k0', 'after')
      await mirror.until('the event to be there', () => mirror.hasReached(version))
      over()
      expect([mirror.fake.watches.length, mirror.errors]).toEqual([1, []])
    }))

  test.each([503, 403])('is kept if it receives data again, although another is refused (%i)', (code) =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      let held: Exchange | undefined
      mirror.fake.next(isHead, (exchange) => (held = exchange))
      await mirror.untilPassing('a request for another', () => held !== undefined)
      await mirror.follows('k0', 'meanwhile')
      held?.refuse({ code })
      await mirror.until('the answer to be there', () => held?.isOpen === false)
      await mirror.follows('k0', 'after')
      expect([mirror.fake.watches.length, mirror.errors]).toEqual([1, []])
    }),
  )

  test.each([
    ['', {}],
    [', for a while', { 'retry-after': '60' }],
  ])('ends if it stays silent, and another is refused (503)%s', (_forHowLong, headers) =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const [watch] = mirror.fake.collection.watching
      mirror.fake.collection.forget(watch)
      mirror.fake.next(isHead, (exchange) => exchange.refuse({ code: 503 }, headers))
      await mirror.untilPassing('it to be noticed', () => mirror.errors.length > 0)
      await mirror.follows('k0', 'after')
      expect(mirror.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE'])
    }),
  )

  test('of a busy server is reopened after Retry-After if it stays silent', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      mirror.fake.next(isHead, (exchange) => exchange.refuse(BUSY, { 'retry-after': '1' }))
      const [watch] = mirror.fake.collection.watching
      await mirror.untilPassing('another', () => mirror.fake.watches.length === 2 && watch?.isOpen === false)
      await mirror.follows('k0', 'after')
      expect(mirror.errors).toEqual([])
    }))
})

test('[K5] a half-open watch is noticed within 25 s by default, by a probe over another connection', () =>
  Mirror.live({ fill: 1, source: { probeMs: undefined } }, async (mirror) => {
    const [watch] = mirror.fake.collection.watching
    mirror.fake.collection.forget(watch)
    const since = mirror.clock.now()
    const version = mirror.fake.collection.put('k0', 'after')
    await mirror.untilPassing('the event', () => mirror.hasReached(version))
    expect(mirror.clock.now() - since).toBeLessThan(25_000)
    await mirror.untilPassing('another watch', () => watch?.isOpen === false)
    expect([mirror.errors, mirror.relists]).toEqual([[], 0])
  }))

test('[K5] a half-open watch is left within 25 s also if the server cannot resume at its version any more', () =>
  Mirror.live({ fill: 1, source: { probeMs: undefined } }, async (mirror) => {
    const [watch] = mirror.fake.collection.watching
    mirror.fake.collection.forget(watch)
    const since = mirror.clock.now()
    mirror.fake.collection.put('k0', 'after')
    mirror.fake.collection.compact()
    await mirror.untilPassing('the list', () => mirror.relists === 1)
    expect(mirror.clock.now() - since).toBeLessThan(25_000)
    await mirror.healed()
  }))

test('a half-open watch is probed about once in probeMs, and not more often', () =>
  Mirror.live({ fill: 1, source: { probeMs: 10_000 } }, async (mirror) => {
    mirror.fake.rule(
      (exchange) => isWatch(exchange) && exchange.query.get('timeoutSeconds') === '3',
      (exchange) => {
        exchange.open()
        exchange.end()
      },
    )
    await mirror.pass(58_000)
    expect(mirror.fake.watches.length).toBeGreaterThanOrEqual(5)
    expect(mirror.fake.watches.length).toBeLessThanOrEqual(7)
    expect([mirror.errors, mirror.relists]).toEqual([[], 0])
  }))
