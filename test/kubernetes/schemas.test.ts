import { describe, expect, test } from 'vitest'
import type { Informer } from '../../src/informer/informer-types.js'
import { describeKubernetes } from '../servers/index.js'
import { isAnyList } from './fake.js'
import type { FakeObject } from './fake-collection.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'
import { createWidgets, patchSpecOfWidgets, setSpecOfWidgets, WIDGETS } from './widgets.js'

const isOpenApi = ({ path }: Exchange): boolean => path === '/openapi/v3'

function hasVersion(informer: Informer<FakeObject>, version: string | undefined): boolean {
  return informer.get('default/k0')?.metadata.resourceVersion === version
}

describe('a schema that changes', () => {
  const prepare = (fake: { readonly collection: { schema: string | undefined; fill(count: number): void } }): void => {
    fake.collection.schema = 'one'
    fake.collection.fill(2)
  }

  test('[K1][K2] is noticed when a watch is resumed: the objects are listed again', () =>
    Mirror.live({ prepare }, async (mirror) => {
      mirror.fake.collection.schema = 'two'
      for (const watch of mirror.fake.collection.watching) watch.reset()
      const { collection } = mirror.fake
      const isWatching = (): boolean => collection.watching.length === 1 && mirror.informer.status.state === 'live'
      await mirror.until('a relist, and its watch', () => mirror.relists === 1 && isWatching())
      for (const watch of mirror.fake.collection.watching) watch.reset()
      await mirror.until('a reconnect', () => mirror.informer.status.reconnects === 2)
      await mirror.healed()
      expect(mirror.relists).toBe(1)
      expect(mirror.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'VERSION_EXPIRED', 'UNAVAILABLE'])
    }))

  test('[K2] is noticed by an audit, for each mirror of a source', () =>
    Mirror.with({ prepare, audit: { periodMs: 10_000 } }, async (mirror) => {
      const beside = mirror.beside()
      await mirror.live()
      await mirror.until('the other', () => beside.status.state === 'live')
      mirror.fake.collection.schema = 'two'
      await mirror.untilPassing('both relists', () => mirror.relists === 1 && beside.status.relists === 1)
      await mirror.healed()
      await beside.stop()
    }))

  test.each<[string, (exchange: Exchange) => void]>([
    ['broke off', (exchange) => exchange.reset()],
    ['was refused', (exchange) => exchange.refuse({ code: 503 })],
  ])('[K1] is noticed when a watch is resumed, if the request for the schema %s during the last list', (_how, fail) =>
    Mirror.with({ prepare }, async (mirror) => {
      const { fake } = mirror
      fake.next(isOpenApi, fail)
      await mirror.live()
      fake.collection.schema = 'two'
      fake.collection.defaults = { added: 'by the schema' }
      for (const watch of fake.collection.watching) watch.reset()
      await mirror.healed()
    }),
  )

  test('is noticed when a watch is resumed, if it changed during the last list', () =>
    Mirror.with({ prepare }, async (mirror) => {
      const { fake } = mirror
      fake.next(isAnyList, (exchange) => {
        fake.collection.answer(exchange)
        fake.collection.schema = 'two'
        fake.collection.defaults = { added: 'by the schema' }
      })
      await mirror.live()
      for (const watch of fake.collection.watching) watch.reset()
      await mirror.healed()
    }))

  test('[K2] ends no watch that another mirror has open, and a mirror that listed with the new schema does not join it', () =>
    Mirror.live({ prepare }, async (mirror) => {
      const { collection } = mirror.fake
      const [before] = collection.watching
      collection.schema = 'two'
      collection.defaults = { added: 'by the schema' }
      const beside = mirror.beside()
      await mirror.until('the other', () => beside.status.state === 'live')
      // The watch that was opened before continues with objects of the old schema.
      collection.forget(before)
      const object = { ...collection.at()[0], data: { n: 'of the schema before' } }
      collection.put('k0', 'after')
      const { resourceVersion } = collection.at()[0]?.metadata ?? {}
      await before?.event('MODIFIED', { ...object, metadata: { ...object.metadata, resourceVersion } })
      await mirror.until(
        'both to have it',
        () => hasVersion(mirror.informer, resourceVersion) && hasVersion(beside, resourceVersion),
      )
      expect(mirror.informer.get('default/k0')?.data).toEqual({ n: 'of the schema before' })
      expect(beside.get('default/k0')?.data).toEqual({ n: 'after', added: 'by the schema' })
      await beside.stop()
    }))

  test('[K1] and changes back before its hash is published is noticed by the generation of the definition', () =>
    Mirror.live({ prepare, source: { apiVersion: 'example.com/v1' } }, async (mirror) => {
      const { collection } = mirror.fake
      collection.generation++
      collection.defaults = { added: 'by the schema' }
      await mirror.until('a relist', () => {
        if (mirror.relists === 0) mirror.informer.relist().catch(() => {})
        return mirror.relists === 1 && mirror.informer.status.state === 'live'
      })
      expect(mirror.informer.get('default/k0')?.data).toMatchObject({ added: 'by the schema' })
      collection.generation++
      collection.defaults = {}
      for (const watch of collection.watching) watch.reset()
      await mirror.healed()
      expect(mirror.informer.get('default/k0')?.data).not.toHaveProperty('added')
    }))

  test.each([403, 404])('[K2] needs no definition that can be read (%i)', (code) =>
    Mirror.with({ prepare, source: { apiVersion: 'example.com/v1' } }, async (mirror) => {
      const { fake } = mirror
      fake.rule(
        ({ path }) => path.includes('/customresourcedefinitions/'),
        (exchange) => exchange.refuse({ code }),
      )
      await mirror.live()
      for (const watch of fake.collection.watching) watch.reset()
      await mirror.until('a reconnect', () => mirror.informer.status.reconnects === 1)
      await mirror.healedAfter(0)
      fake.collection.schema = 'two'
      fake.collection.defaults = { added: 'by the schema' }
      for (const watch of fake.collection.watching) watch.reset()
      await mirror.healed()
    }),
  )

  test('need not be published: a server without a hash is not listed more often', () =>
    Mirror.live({ prepare }, async (mirror) => {
      mirror.fake.collection.schema = undefined
      for (const watch of mirror.fake.collection.watching) watch.reset()
      await mirror.until('a reconnect', () => mirror.informer.status.reconnects === 1)
      await mirror.healedAfter(0)
    }))
})

describeKubernetes('a custom resource whose schema changes without a new version of its objects', (server) => {
  const own = useKubernetes(server)
  const number = { type: 'integer' }
  const defaulted = { type: 'string', default: 'by the schema' }
  const KEPT = { n: number, kept: { type: 'string' } }
  let isThere = false

  /** Five widgets, as everything in them is kept. */
  async function widgets(stage: Stage): Promise<void> {
    const { kubernetes } = own
    if (!isThere) await createWidgets(kubernetes)
    isThere = true
    await setSpecOfWidgets(kubernetes, KEPT)
    await stage.fill(5)
    await kubernetes.admin.patch(`${stage.path}/k0`, { spec: { kept: 'pruned later' } })
  }

  test.each([
    ['relist() is called', (stage: Stage) => stage.informer.relist({ timeoutMs: 60_000 })],
    ['the connection breaks', async (stage: Stage) => stage.proxy.reset()],
    ['the history is compacted meanwhile', (stage: Stage) => compactedAway(stage)],
    ['an audit comes', undefined],
  ] as const)('[K1] is shown with its new content when %s', async (_when, happens) => {
    const audit = happens === undefined ? { audit: { periodMs: 30_000 } } : {}
    await Stage.with({ kubernetes: own.kubernetes, resource: WIDGETS, ...audit }, async (stage) => {
      await widgets(stage)
      await stage.live()
      await stage.healed()
      const before = stage.informer.get(`${stage.namespace}/k0`)
      await setSpecOfWidgets(own.kubernetes, { n: number, added: defaulted })
      await happens?.(stage)
      await stage.healed(40_000)
      const after = stage.informer.get(`${stage.namespace}/k0`)
      expect(before).toMatchObject({ spec: { kept: 'pruned later' } })
      expect(after).toMatchObject({ spec: { added: 'by the schema' } })
      expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion)
    })
  })

  test('is shown with its new content if the schema changed back after a list', async () => {
    const { kubernetes } = own
    await Stage.with({ kubernetes, resource: WIDGETS, audit: { periodMs: 30_000 } }, async (stage) => {
      await widgets(stage)
      await stage.live()
      await stage.healed()
      const key = `${stage.namespace}/k0`
      const specOf = async (): Promise<unknown> => Object(await kubernetes.admin.call('GET', `${stage.path}/k0`)).spec
      const before = await specOf()
      // The server publishes the hash of its schemas about a second later than it serves their objects.
      for (const properties of [{ n: number, added: defaulted }, KEPT]) {
        const served = JSON.stringify(await specOf())
        await patchSpecOfWidgets(kubernetes, properties)
        await stage.until('other content to be served', async () => JSON.stringify(await specOf()) !== served)
        if (properties !== KEPT) await stage.informer.relist({ timeoutMs: 60_000 })
      }
      await stage.healed(40_000)
      expect([Object(stage.informer.get(key)).spec, await specOf()]).toEqual([before, before])
    })
  })

  async function compactedAway(stage: Stage): Promise<void> {
    const { proxy, kubernetes } = stage
    proxy.reset()
    proxy.refuse()
    await stage.put('k1', 7)
    await kubernetes.compact()
    proxy.pass()
  }
})
