import { describe, expect, test } from 'vitest'
import { isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const prepare = ({ collection }: { readonly collection: { fill(count: number): void } }): void => collection.fill(1)

/** How often the server was asked how far it is. */
function heads({ fake }: Mirror): number {
  return fake.exchanges.filter(({ isWatch: isStream, query }: Exchange) => !isStream && query.get('limit') === '1')
    .length
}

describe('a wait for a version', () => {
  test('that the watch brings by itself asks nothing of the server', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      for (let n = 0; n < 3; n++) {
        await mirror.soon(mirror.informer.waitFor(mirror.fake.collection.put('k0', n)).then(() => n))
        await mirror.pass(15_000)
      }
      expect([heads(mirror), mirror.fake.exchanges.filter(isWatch).length]).toEqual([0, 1])
    }))

  test('of a subscription that the watch brings by itself asks nothing, either', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const subscription = mirror.informer.subscribe({})
      await mirror.soon(subscription.waitFor(mirror.fake.collection.put('k0', 'mine')).then(() => 'there'))
      await mirror.pass(15_000)
      expect(heads(mirror)).toBe(0)
    }))

  test('that was given up asks nothing of the server', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const control = new AbortController()
      const wait = mirror.informer.waitFor('9999', { signal: control.signal }).catch(() => 'given up')
      control.abort()
      expect(await wait).toBe('given up')
      await mirror.pass(15_000)
      expect(heads(mirror)).toBe(0)
    }))

  test('that the watch does not bring has the server say how far it is', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const wait = mirror.informer.waitFor(mirror.fake.collection.pass()).then(() => 'there')
      await mirror.untilPassing('a short watch', () => mirror.fake.watches.length === 2)
      expect(mirror.fake.watches[1]?.query.get('timeoutSeconds')).toBe('3')
      await mirror.until('it to be open', () => mirror.fake.collection.watching.length === 1)
      await mirror.fake.collection.bookmark()
      expect(await mirror.soon(wait)).toBe('there')
    }))

  test('has the server asked again and again, ever more rarely, where it does not say it', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const { fake, clock } = mirror
      const since = clock.now()
      const wait = mirror.informer.waitFor(fake.collection.pass()).then(() => 'there')
      const shorts = (): readonly Exchange[] => fake.watches.filter(({ query }) => query.get('timeoutSeconds') === '3')
      for (let asked = 1; asked <= 6; asked++) {
        await mirror.untilPassing(`the short watch ${asked}`, () => shorts().length === asked)
        const short = shorts().at(-1)
        await mirror.until('it to be open', () => short?.isOpen === true)
        if (asked < 6) short?.end()
      }
      expect(clock.now() - since).toBeLessThan(120_000)
      await fake.collection.bookmark()
      expect(await mirror.soon(wait)).toBe('there')
    }))

  test('at one of two informers over one watch is enough for that', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      await using other = mirror.beside()
      await mirror.untilPassing('the other to be live', () => other.status.state === 'live')
      const { collection } = mirror.fake
      const wait = other.waitFor(collection.pass()).then(() => 'there')
      await mirror.untilPassing('a short watch', () => mirror.fake.watches.length === 2)
      await mirror.until('it to be open', () => collection.watching.length === 1)
      await collection.bookmark()
      expect(await mirror.soon(wait)).toBe('there')
    }))
})
