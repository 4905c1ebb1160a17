import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'
import { EVENTS, Stage } from './stage.js'
import { useKubernetes } from './support.js'

/** Sends the first `count` of the deletes of a revision, and none of the others. */
async function deleteSome(mirror: Mirror, count: number): Promise<string> {
  const { collection } = mirror.fake
  const watch = collection.watching.at(-1)
  const before = collection.at()
  collection.forget(watch)
  const version = collection.expire('k0', 'k1', 'k2')
  for (const object of before.slice(0, count))
    await watch?.event('DELETED', { ...object, metadata: { ...object.metadata, resourceVersion: version } })
  await mirror.until('the first deletes', () => mirror.informer.size === 3 - count)
  return version
}

describe('objects that are deleted in one revision', () => {
  test('[K16] are all deleted, if the watch stays open', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      mirror.fake.collection.expire('k0', 'k1', 'k2')
      await mirror.healed()
      expect([mirror.informer.size, mirror.relists, mirror.errors]).toEqual([0, 0, []])
    }))

  test('[K16] are all deleted, if the watch breaks off between two of them', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      const watch = mirror.fake.collection.watching.at(-1)
      const version = await deleteSome(mirror, 1)
      watch?.reset()
      await mirror.healed()
      expect(mirror.informer.size).toBe(0)
      expect(mirror.fake.watches.at(-1)?.query.get('resourceVersion')).toBe(String(Number(version) - 1))
      expect(mirror.relists).toBe(0)
    }))

  test('[K16] are all deleted, if another connection replaces the watch between two of them', () =>
    Mirror.live({ fill: 3 }, async (mirror) => {
      await deleteSome(mirror, 2)
      await mirror.untilPassing('another watch', () => mirror.fake.watches.length > 1)
      await mirror.healed()
      expect([mirror.informer.size, mirror.relists]).toEqual([0, 0])
    }))

  test('[K16] are all deleted, if a probe reads between two of them', () =>
    Mirror.live({ fill: 3, source: { probeMs: 20_000 } }, async (mirror) => {
      const { collection } = mirror.fake
      await deleteSome(mirror, 1)
      let probe: Exchange | undefined
      mirror.fake.next(isWatch, (exchange) => {
        probe = exchange
        collection.answer(exchange)
        void exchange.bookmark(collection.pass())
      })
      await mirror.untilPassing('a probe', () => probe !== undefined)
      await mirror.healed()
      expect([mirror.informer.size, mirror.relists]).toEqual([0, 0])
    }))

  test('[K16] and are repeated by a probe prove no half-open watch', () =>
    Mirror.live({ fill: 3, source: { probeMs: 20_000 } }, async (mirror) => {
      const { collection } = mirror.fake
      collection.expire('k0', 'k1', 'k2')
      await mirror.healed()
      let probe: Exchange | undefined
      mirror.fake.next(isWatch, (exchange) => {
        probe = exchange
        collection.answer(exchange)
        void exchange.bookmark(collection.pass())
        exchange.end()
      })
      await mirror.untilPassing('a probe', () => probe !== undefined)
      await mirror.until('its bookmark', () => mirror.hasReached(collection.version))
      await mirror.pass(2_000)
      expect(mirror.fake.watches).toHaveLength(2)
    }))
})

describeKubernetes('Events that expire together', (server) => {
  const own = useKubernetes(server, { flags: ['--event-ttl=40s'] })

  test('[K16] are all deleted', () =>
    Stage.with({ kubernetes: own.kubernetes, resource: EVENTS, speed: 1 }, async (stage) => {
      const versions = new Set<string | undefined>()
      stage.informer.subscribe({ delete: ({ version }) => void versions.add(version) })
      await stage.live()
      await stage.fill(5)
      await stage.healed()
      await stage.until('them to expire', async () => (await stage.truth()).size === 0, 100_000)
      await stage.healed()
      expect([stage.errors, stage.relists]).toEqual([[], 0])
      expect(versions.size).toBeLessThan(5)
    }))
})
