import { describe, expect, test } from 'vitest'
import type { Deleted } from '../../src/queue/change.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import { isPlainList, isWatch } from './fake.js'
import type { FakeObject } from './fake-collection.js'
import { Mirror } from './mirror.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

/** More than all that is said beside it. */
const LARGE = 'x'.repeat(800_000)

describeKubernetes('what a mirror has of an object', (server) => {
  const own = useKubernetes(server)

  for (const streamingLists of [true, false]) {
    const how = streamingLists ? 'streamed' : 'in pages'

    test(`has only its metadata with metadataOnly, and nothing else is sent (${how})`, () =>
      Stage.with({ kubernetes: own.kubernetes, source: { metadataOnly: true, streamingLists } }, async (stage) => {
        await own.kubernetes.admin.create(stage.path, { metadata: { name: 'large' }, data: { LARGE } })
        await stage.live()
        const version = await stage.put('large', 1)
        const added = await stage.put('added', 1)
        await stage.until('both changes', () => Number(stage.informer.version) >= Number(added))
        const [large, small] = ['large', 'added'].map((name) => stage.informer.get(`${stage.namespace}/${name}`))
        expect(large).toMatchObject({
          apiVersion: 'meta.k8s.io/v1',
          kind: 'PartialObjectMetadata',
          metadata: { labels: { half: '1' }, resourceVersion: version },
        })
        for (const object of [large, small])
          expect(Object.keys(object ?? {}).sort()).toEqual(['apiVersion', 'kind', 'metadata'])
        expect(stage.proxy.bytes.get('toClient')).toBeLessThan(LARGE.length / 2)
      }))

    test(`is without managedFields, which the server sends, unless they are wanted (${how})`, async () => {
      for (const stripManagedFields of [true, false])
        await Stage.with(
          { kubernetes: own.kubernetes, source: { stripManagedFields, streamingLists } },
          async (stage) => {
            await stage.put('listed', 1)
            await stage.live()
            await stage.put('watched', 1)
            await stage.healed()
            const fields = stage.informer.list().map(({ metadata }) => Object.hasOwn(metadata, 'managedFields'))
            expect(fields).toEqual([!stripManagedFields, !stripManagedFields])
          },
        )
    })
  }

  test('that is deleted has its last state, at the version of the deletion, and the watch resumes there', () =>
    Stage.with({ kubernetes: own.kubernetes }, async (stage) => {
      const deletes: Deleted<KubeObject>[] = []
      stage.informer.subscribe({ delete: (change) => void deletes.push(change) })
      await stage.filled(2)
      const last = await stage.put('k0', 7)
      await stage.remove('k0')
      await stage.until('the deletion', () => deletes.length > 0)
      const version = deletes[0]?.version ?? ''
      expect(Number(version)).toBeGreaterThan(Number(last))
      expect(deletes).toMatchObject([
        { finalState: 'known', version, object: { data: { n: '7' }, metadata: { resourceVersion: version } } },
      ])
      stage.proxy.reset()
      await stage.put('k0', 8)
      await stage.healed()
      expect([stage.relists, deletes.length]).toEqual([0, 1])
    }))
})

test('a deletion is read again by the next watch: others may have the same version', () =>
  Mirror.live({ fill: 2 }, async (mirror) => {
    const version = mirror.fake.collection.delete('k0')
    await mirror.healed()
    const opened = mirror.fake.watches.length
    for (const watch of mirror.fake.collection.watching) watch.reset()
    await mirror.until('another watch', () => mirror.fake.watches.length > opened)
    expect(mirror.fake.watches.at(-1)?.query.get('resourceVersion')).toBe(String(Number(version) - 1))
  }))

test('a deletion that was missed with an expired history has an unknown final state', () =>
  Mirror.with({ fill: 2 }, async (mirror) => {
    const deletes: Deleted<FakeObject>[] = []
    mirror.informer.subscribe({ delete: (change) => void deletes.push(change) })
    await mirror.live()
    const { fake } = mirror
    const over = fake.rule(isWatch, (exchange) => exchange.reset())
    for (const watch of fake.collection.watching) watch.reset()
    fake.collection.put('k0', 'unseen')
    fake.collection.delete('k0')
    fake.collection.compact()
    over()
    await mirror.until('the deletion', () => deletes.length > 0)
    expect(deletes).toMatchObject([{ key: 'default/k0', finalState: 'unknown', object: { data: { n: '0' } } }])
  }))

describe('an object in a list that cannot be taken in', () => {
  const large = 'x'.repeat(200_000)
  const source = { maxObjectBytes: 100_000, streamingLists: false }

  for (const streamingLists of [true, false])
    test(`is reported as invalid, and the others are in the store (${streamingLists ? 'streamed' : 'in pages'})`, () =>
      Mirror.with({ source: { ...source, streamingLists }, fill: 2 }, async (mirror) => {
        mirror.fake.collection.put('large', large)
        mirror.fake.collection.put('last', 1)
        await mirror.live()
        expect(mirror.fake.exchanges.some(isPlainList)).toBe(!streamingLists)
        expect([...mirror.informer.keys()].sort()).toEqual(['default/k0', 'default/k1', 'default/last'])
        expect([...mirror.informer.invalid.keys()]).toEqual(['default/large'])
        expect(mirror.errors).toMatchObject([{ code: 'DECODE', key: 'default/large' }])
      }))

  test('stays in its last state, and is not deleted', () =>
    Mirror.live({ source, fill: 2 }, async (mirror) => {
      const { collection } = mirror.fake
      mirror.fake.next(isPlainList, (exchange) => {
        for (const watch of collection.watching) collection.forget(watch)
        collection.put('k0', large)
        collection.put('k1', 'after')
        collection.answer(exchange)
      })
      await mirror.soon(mirror.informer.relist().then(() => true))
      expect(mirror.informer.get('default/k0')?.data).toEqual({ n: '0' })
      expect(mirror.informer.get('default/k1')?.data).toEqual({ n: 'after' })
      expect([...mirror.informer.invalid.keys()]).toEqual(['default/k0'])
    }))
})
