import { describe, expect, test } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { isHead } from './fake.js'
import { Mirror } from './mirror.js'

/** Rejects reads of the head with this Retry-After, in seconds; returns a function that counts them. */
function refusing({ fake }: Mirror, code: number, seconds = 60): () => number {
  let requested = 0
  fake.rule(isHead, (exchange) => {
    requested++
    exchange.refuse({ code, message: 'not now' }, { 'retry-after': String(seconds) })
  })
  return () => requested
}

describe('no request is sent before Retry-After', () => {
  test('if a silent watch was to be replaced (429), and others wait and join', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const requested = refusing(mirror, 429)
      await mirror.untilPassing('a request', () => requested() > 0)
      mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
      await using _other = mirror.beside()
      await mirror.pass(40_000)
      expect([requested(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
      await mirror.untilPassing('another request', () => requested() > 1)
    }))

  test.each([429, 503])('if a reader waits, and others join (%i)', (code) =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const requested = refusing(mirror, code)
      mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
      await mirror.untilPassing('a request', () => requested() > 0)
      await mirror.pass(20_000)
      await using _other = mirror.beside()
      await mirror.pass(20_000)
      expect([requested(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
    }),
  )

  test.each([429, 503])('if fresh() is called, a reader waits, or an audit is due (%i)', (code) =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      const requested = refusing(mirror, code)
      const wait = mirror.fake.collection.pass()
      for (let rest = 60; rest > 10; rest -= 10) {
        const error = { code: 'UNAVAILABLE', message: 'not now', retryAfterMs: rest * 1_000 }
        await expect(mirror.source.head(mirror.context())).rejects.toMatchObject(error)
        if (rest === 60) mirror.informer.waitFor(wait).catch(() => {})
        await expect(mirror.keys()).rejects.toMatchObject(error)
        await mirror.pass(10_000)
      }
      expect([requested(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
      await mirror.untilPassing('another request', () => requested() > 1)
    }),
  )

  test('if the watch ends meanwhile that others share, of this source and of another one', async () => {
    let kubeConfig: ReturnType<Mirror['fake']['config']> | undefined
    const source = { kind: 'ConfigMap', namespace: 'default', maxWatchMs: 60_000 }
    const configOf = (fake: Mirror['fake']): NonNullable<typeof kubeConfig> => (kubeConfig ??= fake.config())
    await Mirror.live({ fill: 1, source, configOf }, async (mirror) => {
      const { fake, clock, informer } = mirror
      const apart = kubernetesSource({ ...source, kubeConfig: configOf(fake) })
      const others = [mirror.beside(), createInformer({ source: apart, clock, audit: false }).start()]
      const all = [informer, ...others]
      const states = (): string[] => all.map(({ status }) => status.state)
      await mirror.until('the others', () => states().every((state) => state === 'live'))
      const requested = refusing(mirror, 503, 600)
      informer.waitFor(fake.collection.pass()).catch(() => {})
      await mirror.untilPassing('a request', () => requested() > 0)
      const before = fake.exchanges.length
      for (let passed = 0; passed < 60; passed += 10) {
        await mirror.pass(10_000)
        await fake.collection.bookmark()
      }
      expect([fake.exchanges.length - before, ...states()]).toEqual([0, ...all.map(() => 'backing-off')])
      await Promise.all(others.map((other) => other.stop()))
    })
  })

  test('except for the rest of a list in progress', () =>
    Mirror.with({ fill: 4, streams: false, source: { pageSize: 2 } }, async (mirror) => {
      const next = mirror.fake.taken(({ query }) => query.has('continue'))
      mirror.informer.start()
      const page = await next
      refusing(mirror, 429)
      await expect(mirror.source.head(mirror.context())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      mirror.fake.collection.largestPage = 1
      mirror.fake.collection.answer(page)
      await mirror.until('the list', () => mirror.informer.status.isSynced)
      expect(mirror.fake.lists.filter(({ query }) => query.has('continue'))).toHaveLength(2)
    }))
})
