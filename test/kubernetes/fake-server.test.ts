import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { type KubernetesObject, kubernetesSource, kubernetesWriter } from '../../adapters/kubernetes/index.js'
import { createInformer } from '../../src/index.js'
import { type FakeKubernetes, fakeKubernetes } from '../../testing/kubernetes/index.js'
import { waitUntil } from '../servers/wait-until.js'

const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget' }

interface Widget extends KubernetesObject {
  readonly spec?: { readonly n?: number }
}

const widget = (name: string, spec: object) => ({ ...WIDGET, metadata: { name, namespace: 'default' }, spec })
const MAP = { apiVersion: 'v1', kind: 'ConfigMap' }
const configMap = (name: string, data = {}) => ({ ...MAP, metadata: { name, namespace: 'default' }, data })
const mirrorOf = ({ kubeConfig }: FakeKubernetes, options = {}) =>
  createInformer({ source: kubernetesSource<Widget>({ ...WIDGET, kubeConfig, ...options }) })

function coreOf({ kubeConfigOptions }: FakeKubernetes): CoreV1Api {
  const config = new KubeConfig()
  config.loadFromOptions(kubeConfigOptions)
  return config.makeApiClient(CoreV1Api)
}

describe('fakeKubernetes', () => {
  const start = () => fakeKubernetes({ resources: [{ ...WIDGET, plural: 'widgets' }] })

  test('reports writes to a mirror, and lists in pages', async () => {
    await using server = await start()
    for (let n = 0; n < 25; n++) server.put(widget(`w${n}`, { n }))
    server.put(configMap('other'))
    await using informer = mirrorOf(server, { pageSize: 10 })
    await informer.start().synced()
    expect(informer.size).toBe(25)
    expect(server.requests.filter(({ query }) => query.includes('limit=10'))).toHaveLength(3)
    await waitUntil('the watch', () => server.watches === 1)
    const { metadata } = server.put(widget('w1', { n: -1 }))
    server.delete(widget('w2', {}))
    await informer.waitFor(metadata.resourceVersion)
    await waitUntil('the deletion', () => informer.size === 24)
    expect(informer.get('default/w1')).toMatchObject({ spec: { n: -1 }, metadata: { generation: 2 } })
    server.put(configMap('other', { a: '1' }))
    server.bookmark()
    const marked = server.get(configMap('other'))?.metadata.resourceVersion ?? ''
    await informer.waitFor(marked, { timeoutMs: 5_000 })
  })

  test('a compacted history is answered with 410, and the mirror lists again', async () => {
    await using server = await start()
    server.put(widget('a', { n: 1 }))
    await using informer = mirrorOf(server)
    informer.on('error', () => {})
    await informer.start().synced()
    await waitUntil('the watch', () => server.watches === 1)
    server.disconnect()
    server.put(widget('a', { n: 2 }))
    await waitUntil('the change', () => informer.get('default/a')?.spec?.n === 2)
    expect(informer.status.relists).toBe(0)
    server.compact()
    server.delete(widget('a', {}))
    server.compact()
    await waitUntil('the deletion', () => informer.size === 0)
    expect(informer.status.relists).toBeGreaterThan(0)
  })

  test('scripted failures are answered once, in their order', async () => {
    await using server = await start()
    const writer = kubernetesWriter({ kubeConfig: server.kubeConfig, fieldManager: 'one' })
    const isPatch = ({ method }: { readonly method: string }): boolean => method === 'PATCH'
    server.failNext(isPatch, { code: 503, message: 'busy', retryAfterSeconds: 7 })
    server.failNext(isPatch, { code: 403, reason: 'Forbidden' })
    await expect(writer.apply(widget('a', {}))).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: 7_000 })
    await expect(writer.apply(widget('a', {}))).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect((await writer.apply(widget('a', {}))).metadata.name).toBe('a')
    expect(server.get(widget('a', {}))).toMatchObject({ metadata: { uid: 'uid-1' } })
  })

  test('works with the clients of client-node', async () => {
    await using server = await start()
    const core = coreOf(server)
    const [namespace, name] = ['default', 'mine']
    const created = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { a: '1' } } })
    const duplicate = core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } })
    await expect(duplicate).rejects.toMatchObject({ code: 409 })
    const replaced = await core.replaceNamespacedConfigMap({ namespace, name, body: { ...created, data: { b: '2' } } })
    expect(replaced.data).toEqual({ b: '2' })
    const late = core.replaceNamespacedConfigMap({ namespace, name, body: { ...created, data: { c: '3' } } })
    await expect(late).rejects.toMatchObject({ code: 409 })
    expect((await core.listNamespacedConfigMap({ namespace })).items).toHaveLength(1)
    await core.deleteNamespacedConfigMap({ namespace, name })
    await expect(core.readNamespacedConfigMap({ namespace, name })).rejects.toMatchObject({ code: 404 })
  })

  test('rejects what it does not have', async () => {
    await using server = await start()
    expect(() => server.put({ ...widget('a', {}), kind: 'Gadget' })).toThrow('Gadget of example.com/v1 is not served')
    expect(() => server.get({ ...WIDGET, metadata: { name: 'a' } })).toThrow('Widget a needs a namespace')
    await using informer = mirrorOf(server, { labelSelector: 'a=b' })
    informer.on('error', () => {})
    await expect(informer.start().synced()).rejects.toThrow('the fake server has no selectors')
    const draft = { namespace: 'default', body: { metadata: { name: 'mine' } }, dryRun: 'All' }
    const tried = coreOf(server).createNamespacedConfigMap(draft)
    await expect(tried).rejects.toThrow('the fake server has no dry runs')
    expect(server.list('v1', 'ConfigMap')).toEqual([])
  })
})
