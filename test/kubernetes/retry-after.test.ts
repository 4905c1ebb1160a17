import { describe, expect, test } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import type { ListContext } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/informer.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const prepare = ({ collection }: { readonly collection: { fill(count: number): void } }): void => collection.fill(1)

/** Whether the client asks how far the server is. */
const isHead = ({ isWatch, query }: Exchange): boolean => !isWatch && query.get('limit') === '1'

/** Refuses to say how far the server is, with a wish for so many seconds; gives how often it was asked. */
function refusing({ fake }: Mirror, code: number, seconds = 60): () => number {
  let asked = 0
  fake.rule(isHead, (exchange) => {
    asked++
    exchange.refuse({ code, message: 'not now' }, { 'retry-after': String(seconds) })
  })
  return () => asked
}

function contextOf({ clock }: Mirror): ListContext {
  return { signal: new AbortController().signal, clock, random: { next: () => 0.5 }, pageSize: 500 }
}

async function versionsOf(mirror: Mirror): Promise<void> {
  for await (const _page of mirror.source.versions(contextOf(mirror)));
}

describe('a server that wishes to be left alone is asked no sooner', () => {
  test('where a silent watch was to be replaced (429), and others wait and join', () =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const asked = refusing(mirror, 429)
      await mirror.untilPassing('it to be asked', () => asked() > 0)
      mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
      await using _other = mirror.beside()
      await mirror.pass(40_000)
      expect([asked(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
      await mirror.untilPassing('it to be asked again', () => asked() > 1)
    }))

  test.each([429, 503])('where somebody waits, and others join (%i)', (code) =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const asked = refusing(mirror, code)
      mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
      await mirror.untilPassing('it to be asked', () => asked() > 0)
      await mirror.pass(20_000)
      await using _other = mirror.beside()
      await mirror.pass(20_000)
      expect([asked(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
    }),
  )

  test.each([429, 503])('where somebody joins, and another one does (%i)', (code) =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const asked = refusing(mirror, code)
      await mirror.pass(20_000)
      await using _other = mirror.beside()
      await mirror.untilPassing('it to be asked', () => asked() > 0)
      await using _third = mirror.beside()
      mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
      await mirror.pass(40_000)
      expect([asked(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
    }),
  )

  test.each([429, 503])('where somebody wants what is fresh, waits, or an audit is due (%i)', (code) =>
    Mirror.with({ prepare }, async (mirror) => {
      await mirror.live()
      const asked = refusing(mirror, code)
      const wait = mirror.fake.collection.pass()
      for (let rest = 60; rest > 10; rest -= 10) {
        const error = { code: 'UNAVAILABLE', message: 'not now', retryAfterMs: rest * 1_000 }
        await expect(mirror.source.head(contextOf(mirror))).rejects.toMatchObject(error)
        if (rest === 60) mirror.informer.waitFor(wait).catch(() => {})
        await expect(versionsOf(mirror)).rejects.toMatchObject(error)
        await mirror.pass(10_000)
      }
      expect([asked(), mirror.informer.status.state, mirror.errors]).toEqual([1, 'live', []])
      await mirror.untilPassing('it to be asked again', () => asked() > 1)
    }),
  )

  test('where the watch ends meanwhile that others share, of this source and of another one', async () => {
    let kubeConfig: ReturnType<Mirror['fake']['config']> | undefined
    const source = { kind: 'ConfigMap', namespace: 'default', maxWatchMs: 60_000 }
    const configOf = (fake: Mirror['fake']): NonNullable<typeof kubeConfig> => (kubeConfig ??= fake.config())
    await Mirror.with({ prepare, source, configOf }, async (mirror) => {
      await mirror.live()
      const { fake, clock, informer } = mirror
      const apart = kubernetesSource({ ...source, kubeConfig: configOf(fake) })
      const others = [mirror.beside(), createInformer({ source: apart, clock, audit: false }).start()]
      const all = [informer, ...others]
      const states = (): string[] => all.map(({ status }) => status.state)
      await mirror.until('the others', () => states().every((state) => state === 'live'))
      const asked = refusing(mirror, 503, 600)
      informer.waitFor(fake.collection.pass()).catch(() => {})
      await mirror.untilPassing('it to be asked', () => asked() > 0)
      const before = fake.exchanges.length
      for (let passed = 0; passed < 60; passed += 10) {
        await mirror.pass(10_000)
        await fake.collection.bookmark()
      }
      expect([fake.exchanges.length - before, ...states()]).toEqual([0, ...all.map(() => 'backing-off')])
      await Promise.all(others.map((other) => other.stop()))
    })
  })

  test('but for the rest of a list that is under way', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(4), source: { pageSize: 2 } }, async (mirror) => {
      mirror.fake.collection.hasStreamedLists = false
      const next = mirror.fake.taken(({ query }) => query.has('continue'))
      mirror.informer.start()
      const page = await next
      refusing(mirror, 429)
      await expect(mirror.source.head(contextOf(mirror))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      mirror.fake.collection.largestPage = 1
      mirror.fake.collection.answer(page)
      await mirror.until('the list', () => mirror.informer.status.isSynced)
      expect(mirror.fake.lists.filter(({ query }) => query.has('continue'))).toHaveLength(2)
    }))
})

test('a watch that is silent is over where a wish (503) says nothing of the API server, though it is asked no sooner', () =>
  Mirror.with({ prepare }, async (mirror) => {
    await mirror.live()
    const asked = refusing(mirror, 503, 90)
    mirror.informer.waitFor(mirror.fake.collection.pass()).catch(() => {})
    await mirror.pass(73_000)
    expect([asked(), mirror.errors]).toEqual([1, []])
    await mirror.pass(4_000)
    expect([asked(), mirror.errors.map(({ code }) => code)]).toEqual([1, ['UNAVAILABLE']])
  }))
