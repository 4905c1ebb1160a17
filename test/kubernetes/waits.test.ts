import { describe, expect, test } from 'vitest'
import { SeededRandom } from '../../testing/index.js'
import { isHead, isWatch } from './fake.js'
import { EXPIRED, type Exchange, statusObject } from './fake-exchange.js'
import { Mirror } from './mirror.js'

function heads({ fake }: Mirror): number {
  return fake.exchanges.filter(({ isWatch: isStream, query }: Exchange) => !isStream && query.get('limit') === '1')
    .length
}

describe('a wait for a version', () => {
  test('that the watch delivers by itself sends no request', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      for (let n = 0; n < 3; n++) {
        await mirror.soon(mirror.informer.waitFor(mirror.fake.collection.put('k0', n)).then(() => n))
        await mirror.pass(15_000)
      }
      expect([heads(mirror), mirror.fake.exchanges.filter(isWatch).length]).toEqual([0, 1])
    }))

  test('that was given up sends no request', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const control = new AbortController()
      const wait = mirror.informer.waitFor('9999', { signal: control.signal }).catch(() => 'given up')
      control.abort()
      expect(await wait).toBe('given up')
      await mirror.pass(15_000)
      expect(heads(mirror)).toBe(0)
    }))

  test('that the watch does not deliver starts a probe', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const wait = mirror.informer.waitFor(mirror.fake.collection.pass()).then(() => 'there')
      await mirror.untilPassing('a short watch', () => mirror.fake.watches.length === 2)
      expect(mirror.fake.watches[1]?.query.get('timeoutSeconds')).toBe('3')
      await mirror.until('it to be open', () => mirror.fake.collection.watching.length === 2)
      await mirror.fake.collection.bookmark()
      expect(await mirror.soon(wait)).toBe('there')
    }))

  test('starts probes ever more rarely if they are inconclusive and no comparison is possible', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const { fake, clock } = mirror
      const since = clock.now()
      fake.rule(
        ({ isList, isMetadata }) => isList && isMetadata,
        (exchange) => exchange.refuse({ code: 500 }),
      )
      const wait = mirror.informer.waitFor(fake.collection.pass()).then(() => 'there')
      const shorts = (): readonly Exchange[] => fake.watches.filter(({ query }) => query.get('timeoutSeconds') === '3')
      for (let requested = 1; requested <= 6; requested++) {
        await mirror.untilPassing(`the short watch ${requested}`, () => shorts().length === requested)
        const short = shorts().at(-1)
        await mirror.until('it to be open', () => short?.isOpen === true)
        if (requested < 6) short?.end()
      }
      expect(clock.now() - since).toBeLessThan(120_000)
      await fake.collection.bookmark()
      expect(await mirror.soon(wait)).toBe('there')
    }))

  test('that begins during a probe starts no other, and resolves with the others', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const { fake, clock, informer } = mirror
      const waits = [informer.waitFor(fake.collection.pass())]
      await mirror.untilPassing('a short watch', () => fake.watches.length === 2)
      await mirror.until('it to be open', () => fake.collection.watching.length === 2)
      for (let n = 0; n < 5; n++) {
        waits.push(informer.waitFor(fake.collection.pass()))
        await clock.advance(400)
        // As long as a request and its timeout would take.
        await mirror.source.head({ clock, random: new SeededRandom(1), signal: new AbortController().signal })
      }
      await fake.watches[1]?.bookmark(fake.collection.version)
      expect(await mirror.soon(Promise.all(waits).then((done) => done.length))).toBe(6)
      expect(fake.watches).toHaveLength(2)
    }))

  test("for a version after the probe's bookmark starts another probe", () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const { fake, informer } = mirror
      const first = informer.waitFor(fake.collection.pass()).then(() => 'there')
      await mirror.untilPassing('a short watch', () => fake.watches.length === 2)
      await mirror.until('it to be open', () => fake.collection.watching.length === 2)
      await fake.watches[1]?.bookmark(fake.collection.version)
      expect(await mirror.soon(first)).toBe('there')
      const second = informer.waitFor(fake.collection.pass()).then(() => 'there')
      fake.watches[1]?.end()
      await mirror.untilPassing('another', () => fake.watches.length === 3)
      await mirror.until('it to be open', () => fake.collection.watching.length === 2)
      await fake.collection.bookmark()
      expect(await mirror.soon(second)).toBe('there')
    }))

  test('shows that a watch is half open, which is replaced then', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const { fake, informer } = mirror
      fake.collection.forget(fake.watches[0])
      const wait = informer.waitFor(fake.collection.put('k0', 'unheard')).then(() => 'there')
      await mirror.untilPassing('a short watch', () => fake.watches.length === 2)
      expect(await mirror.soon(wait)).toBe('there')
      fake.watches[1]?.end()
      await mirror.until('another to be open', () => fake.watches[0]?.isOpen === false)
      await mirror.follows('k0', 'after')
      expect(mirror.errors).toEqual([])
    }))
})

/** Waits for a version that the watch does not deliver; `refuse` answers the requests for it. */
async function refused(isMeant: (exchange: Exchange) => boolean, refuse: (exchange: Exchange) => unknown) {
  await Mirror.live({ fill: 1 }, async (mirror) => {
    const { fake, informer } = mirror
    let times = 0
    fake.rule(isMeant, (exchange) => {
      times++
      refuse(exchange)
    })
    const wait = informer.waitFor(fake.collection.pass()).then(() => 'there')
    await mirror.untilPassing('a probe', () => times > 0)
    await mirror.pass(2_000)
    expect(await mirror.soon(Promise.resolve(informer.status.state))).toBe('live')
    fake.collection.put('k0', 'after')
    expect(await mirror.soon(wait)).toBe('there')
    expect([fake.collection.watching.length, mirror.relists, mirror.errors]).toEqual([1, 0, []])
  })
}

const isShort = ({ query }: Exchange): boolean => query.get('timeoutSeconds') === '3'

test.each([503, 500, 429, 403, 410])('the server answers %i to a read of the head', (code) =>
  refused(isHead, (exchange) => exchange.refuse({ code })),
)

test('a healthy watch is kept if a reader waits for a version, and no answer to that arrives', () =>
  refused(isHead, (exchange) => exchange.reset()))

test.each(
  Object.entries<(exchange: Exchange) => unknown>({
    'is refused with 503': (exchange) => exchange.refuse({ code: 503 }),
    'is refused with 410': (exchange) => exchange.refuse({ code: 410 }),
    'is refused with 403': (exchange) => exchange.refuse({ code: 403 }),
    'ends with an error': (exchange) => exchange.error(EXPIRED).then(() => exchange.end()),
    'delivers an error, as others write it': (exchange) =>
      exchange.write('{ "type": "ERROR", "object": { "kind": "Status", "code": 410 } }\n').then(() => exchange.end()),
    'delivers a bare failure': (exchange) =>
      exchange.write(`${JSON.stringify(statusObject({ code: 500 }))}\n`).then(() => exchange.end()),
    'delivers the page of a proxy': (exchange) => exchange.write('<html>\nbusy\n</html>\n').then(() => exchange.end()),
    'breaks off': (exchange) => {
      exchange.open()
      setImmediate(() => exchange.reset())
    },
  }),
)('the short watch %s', (_how, answer) => refused(isShort, answer))
