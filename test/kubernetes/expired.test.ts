import { describe, expect, test } from 'vitest'
import { isPlainList, isWatch } from './fake.js'
import { EXPIRED, type Exchange, type FakeStatus, statusObject, TOO_LARGE } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const BROKEN: FakeStatus = { code: 500, reason: 'InternalError', message: 'etcd event received with PrevKv=nil' }

describe('a version that has expired', () => {
  const answers: Readonly<Record<string, (exchange: Exchange) => void>> = {
    'as the answer': (exchange) => exchange.refuse(EXPIRED),
    'as the answer of old servers': (exchange) => exchange.refuse({ code: 410, reason: 'Gone', message: 'too old' }),
    'as the answer of a proxy': (exchange) => exchange.text('Gone', 410),
    'as an event': (exchange) => void exchange.error(EXPIRED).then(() => exchange.end()),
    'as an event without a code': (exchange) =>
      void exchange.event('ERROR', { kind: 'Status', reason: 'Expired' }).then(() => exchange.end()),
    'as a bare failure instead of an event': (exchange) =>
      void exchange.write(`${JSON.stringify(statusObject(EXPIRED))}\n`).then(() => exchange.end()),
    'as an event in a stream that stays open': (exchange) => void exchange.error(EXPIRED),
  }
  for (const [name, answer] of Object.entries(answers))
    test(`is followed by one list: ${name}`, () =>
      Mirror.live({ fill: 3 }, async (mirror) => {
        mirror.fake.next(isWatch, answer)
        const { collection } = mirror.fake
        const lists = mirror.fake.lists.length
        for (const watch of collection.watching) {
          collection.forget(watch)
          watch.reset()
        }
        collection.put('k0', 'after')
        collection.delete('k1')
        await mirror.healedAfter(1)
        expect(mirror.fake.lists.length).toBe(lists + 1)
        expect(mirror.errors.map(({ code }) => code)).toContain('VERSION_EXPIRED')
      }))

  test('of a silent watch that was to be replaced for a joining informer leads that one to a list and a watch of its own', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      const { fake, clock } = mirror
      const { version } = fake.collection
      await clock.advance(20_000)
      fake.collection.pass()
      fake.rule(
        (exchange) => isWatch(exchange) && exchange.query.get('resourceVersion') === version,
        (exchange) => exchange.refuse(EXPIRED),
      )
      await using other = mirror.beside()
      await mirror.untilPassing('it to be open', () => fake.collection.watching.length === 2)
      await mirror.until('both to be live', () => other.status.state === 'live')
      const { state, relists } = mirror.informer.status
      expect([state, relists, other.status.relists]).toEqual(['live', 0, 1])
    }))

  // A server without a watch cache whose etcd was compacted within the requested history.
  test('and that the server does not report, while each watch from it fails, is followed by a list', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      const { collection } = mirror.fake
      const version = collection.version
      mirror.fake.rule(
        (exchange) => isWatch(exchange) && exchange.query.get('resourceVersion') === version,
        (exchange) => void exchange.error(BROKEN).then(() => exchange.end()),
      )
      for (const watch of collection.watching) {
        collection.forget(watch)
        watch.reset()
      }
      collection.put('k0', 'after')
      await mirror.healedAfter(1)
    }))

  test('is not assumed when watches fail from different versions', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      const { collection } = mirror.fake
      for (let at = 0; at < 5; at++) {
        const [watch] = collection.watching
        await mirror.follows('k0', at)
        const errors = mirror.errors.length
        await watch?.error(BROKEN)
        watch?.end()
        await mirror.until('it to be reported', () => mirror.errors.length > errors)
        await mirror.until('another watch', () => collection.watching.length > 0)
      }
      expect(mirror.relists).toBe(0)
    }))

  test('between the pages, again and again, leads to a list in one piece', () =>
    Mirror.with({ fill: 2_500, streams: false }, async (mirror) => {
      mirror.fake.rule(
        ({ query }) => query.has('continue'),
        (exchange) => exchange.refuse(EXPIRED),
      )
      await mirror.live()
      await mirror.healed()
      expect(mirror.informer.size).toBe(2_500)
    }))
})

describe('a server that is behind the mirror', () => {
  const forms: readonly (readonly [age: string, status: FakeStatus])[] = [
    ['now', { ...TOO_LARGE, retryAfterSeconds: 12 }],
    ['1.18', { ...TOO_LARGE, retryAfterSeconds: 12, causes: [{ message: 'Too large resource version' }] }],
    ['1.17', { code: 504, reason: 'Timeout', message: 'Timeout: Too large resource version: 2000, current: 1000' }],
  ]

  /** Answers the next two requests of a kind in this way; returns the times of all requests of the kind. */
  function refused({ fake, clock }: Mirror, isMeant: (exchange: Exchange) => boolean, status: FakeStatus): number[] {
    const at: number[] = []
    fake.rule(isMeant, (exchange) => {
      if (at.push(clock.now()) > 2) fake.collection.answer(exchange)
      else exchange.refuse(status)
    })
    return at
  }

  function assertWaited([first = 0, second = 0, third = 0]: readonly number[], { retryAfterSeconds = 0 }: FakeStatus) {
    const wishMs = Math.max(1, retryAfterSeconds * 1_000)
    expect([second - first, third - second].map((ms) => ms >= wishMs)).toEqual([true, true])
  }

  for (const [age, status] of forms) {
    test(`is waited for, by a watch until Retry-After, without a list (servers of ${age})`, () =>
      Mirror.live({ fill: 3 }, async (mirror) => {
        const at = refused(mirror, isWatch, status)
        for (const watch of mirror.fake.collection.watching) watch.reset()
        mirror.fake.collection.put('k0', 'after')
        await mirror.healedAfter(0)
        assertWaited(at, status)
      }))

    test(`is waited for, by a list until Retry-After (servers of ${age})`, () =>
      Mirror.with({ fill: 3 }, async (mirror) => {
        // It is refused when streamed, and requested in pages at once.
        mirror.fake.collection.hasStreamedLists = false
        const at = refused(mirror, isPlainList, status)
        await mirror.live()
        await mirror.healed()
        assertWaited(at, status)
      }))

    test(`says so within a stream, and is waited for (servers of ${age})`, () =>
      Mirror.live({ fill: 3 }, async (mirror) => {
        const watch = mirror.fake.collection.watching[0]
        const since = mirror.clock.now()
        await watch?.error(status)
        watch?.end()
        await mirror.until('it to be reported', () => mirror.errors.length > 0)
        mirror.fake.collection.put('k0', 'after')
        await mirror.healedAfter(0)
        expect(mirror.clock.now() - since).toBeGreaterThanOrEqual((status.retryAfterSeconds ?? 0) * 1_000)
      }))
  }

  test('answers with a list older than the mirror: the list is rejected', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      const { fake } = mirror
      const stale = { items: fake.collection.at(), version: fake.collection.version }
      fake.collection.hasStreamedLists = false
      fake.collection.put('k0', 'newer')
      fake.collection.delete('k2')
      await mirror.healed()
      const delivered = mirror.delivered.count
      fake.next(isPlainList, (exchange) =>
        exchange.json({ kind: 'ConfigMapList', metadata: { resourceVersion: stale.version }, items: stale.items }),
      )
      const relisted = mirror.informer.relist({ timeoutMs: 3_600_000 })
      await mirror.until('it to be refused', () => mirror.errors.some(({ code }) => code === 'STALE_LIST'))
      await mirror.soon(relisted)
      await mirror.healed()
      expect(mirror.delivered.count).toBe(delivered) // No resurrection.
    }))
})
