import type { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test } from 'vitest'
import { type KubernetesNamespaces, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { createInformer, type Informer, type SourceError } from '../../src/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes } from './fake.js'
import type { FakeObject } from './fake-collection.js'
import type { Exchange } from './fake-exchange.js'

interface Scene {
  readonly fake: FakeKubernetes
  readonly sources: KubernetesNamespaces<FakeObject>
  readonly informer: Informer<FakeObject>
  readonly errors: SourceError[]
}

const isIn =
  (namespace: string) =>
  ({ path }: Exchange): boolean =>
    path.includes(`/namespaces/${namespace}/`)

/** An informer of several namespaces, of which the fake has objects in "default"; stopped at the end, when nothing may be left of it. */
async function withNamespaces(namespaces: readonly string[], act: (scene: Scene) => Promise<void>): Promise<void> {
  await using fake = await FakeKubernetes.start()
  fake.collection.fill(2)
  // A silent namespace is not given up.
  const options = { kubeConfig: fake.config(), kind: 'ConfigMap', namespaces, timeoutMs: 600_000 }
  const sources = kubernetesSource<FakeObject>(options)
  const informer = createInformer({ source: sources, audit: false })
  onTestFinished(() => informer.stop())
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  await act({ fake, sources, informer, errors })
  await informer.stop()
  await waitUntil('no connection to be left', () => fake.connections === 0)
}

test('several namespaces, of which one is removed while its list is on its way: nothing of it comes, and its connection is gone', () =>
  withNamespaces(['default'], async ({ fake, sources, informer, errors }) => {
    await informer.start().synced()
    const requested = fake.taken(isIn('slow'))
    sources.addNamespace('slow')
    const list = await requested
    const [object] = fake.collection.at()
    await list.event('ADDED', { ...object, metadata: { ...object?.metadata, namespace: 'slow' } })
    sources.removeNamespace('slow')
    await waitUntil('the list to be given up', () => !list.isOpen)
    fake.collection.put('k2', 'after')
    await waitUntil('what comes next', () => informer.has('default/k2'))
    expect([[...informer.keys()], errors]).toEqual([['default/k0', 'default/k1', 'default/k2'], []])
  }))

test('several namespaces, of which one is forbidden: the others are there, and are followed', () =>
  withNamespaces(['secret', 'default'], async ({ fake, sources, informer, errors }) => {
    fake.rule(isIn('secret'), (exchange) => exchange.refuse({ code: 403, reason: 'Forbidden', message: 'no' }))
    informer.start()
    await waitUntil('the other', () => informer.size === 2)
    await waitUntil('the error', () => errors.length > 0)
    expect([errors[0]?.code, errors[0]?.source]).toEqual(['UNAUTHORIZED', 'kubernetes:secret/ConfigMap'])
    expect([informer.status.state, informer.status.isSynced]).toEqual(['failed', false])
    fake.collection.put('k0', 'after')
    await waitUntil('the change', () => JSON.stringify(informer.get('default/k0')?.data) === '{"n":"after"}')
    sources.removeNamespace('secret')
    await informer.synced()
    expect(informer.status.state).toBe('live')
  }))

test('the credentials of several namespaces are requested once for all of them, and once more if they are rejected', async () => {
  await using fake = await FakeKubernetes.start()
  let calls = 0
  const kubeConfig = (): KubeConfig => fake.config(`number ${++calls}`)
  fake.rule(
    ({ token }) => token === 'number 1',
    (exchange) => exchange.refuse({ code: 401 }),
  )
  const namespaces = ['default', 'b', 'c', 'd']
  await using informer = createInformer({
    source: kubernetesSource<FakeObject>({ kubeConfig, kind: 'ConfigMap', namespaces }),
    audit: false,
  })
  await informer.start().synced({ timeoutMs: 60_000 })
  expect(calls).toBe(2)
})

test('the credentials of several namespaces are those of the context that was current when the first were added', async () => {
  await using fake = await FakeKubernetes.start()
  const config = fake.config()
  const sources = kubernetesSource<FakeObject>({ kubeConfig: config, kind: 'ConfigMap', namespaces: ['default'] })
  config.addContext({ name: 'other', cluster: 'none', user: 'admin' })
  config.setCurrentContext('other')
  sources.addNamespace('b')
  await using informer = createInformer({ source: sources, audit: false })
  await informer.start().synced({ timeoutMs: 60_000 })
  expect(fake.lists.some(isIn('b'))).toBe(true)
})
