import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ApplyConflictError,
  type KubernetesObject,
  kubernetesSource,
  kubernetesWriter,
} from '../../adapters/kubernetes/index.js'
import { createInformer, type Informer, SourceError } from '../../src/index.js'
import { type FakeKubernetes, fakeKubernetes } from '../../testing/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { useKubernetes } from './support.js'
import { createWidgets } from './widgets.js'

const WIDGETS = { apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets' }
const FINALIZERS = ['example.com/one', 'example.com/two'] as const

interface Widget extends KubernetesObject {
  readonly spec?: { readonly n?: number; readonly m?: number; readonly list?: readonly number[] }
  readonly status?: { readonly ready?: number; readonly note?: string }
}
type ConfigLike = FakeKubernetes['kubeConfig']

const widget = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', ...metadata },
  spec,
})
const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
})

function follow(kubeConfig: ConfigLike, apiVersion = 'example.com/v1', kind = 'Widget'): Informer<Widget> {
  const informer = createInformer({ source: kubernetesSource<Widget>({ kubeConfig, apiVersion, kind }) })
  informer.on('error', () => {})
  onTestFinished(() => informer.stop())
  return informer
}

/** What a client sees of a server: the same for the fake and for a real one. */
async function observe(kubeConfig: ConfigLike): Promise<unknown[]> {
  const seen: unknown[] = []
  const outcome = async (what: string, work: Promise<Widget | { readonly metadata: object }>): Promise<void> => {
    try {
      const { metadata, ...rest } = (await work) as Widget
      const { generation, finalizers, deletionTimestamp } = metadata
      seen.push([what, rest, generation, finalizers, deletionTimestamp !== undefined])
    } catch (error) {
      if (error instanceof ApplyConflictError) seen.push([what, error.conflicts])
      else seen.push([what, error instanceof SourceError ? error.code : error])
    }
  }
  const [one, two] = ['one', 'two'].map((fieldManager) => kubernetesWriter({ kubeConfig, fieldManager }))
  if (one === undefined || two === undefined) throw new Error('there are two writers')
  await outcome('creates', one.apply(widget('a', { n: 1, m: 1, list: [1] })))
  await outcome('shares', two.apply(widget('a', { n: 1 })))
  await outcome('conflicts', two.apply(widget('a', { n: 2, m: 2 })))
  await outcome('forces', two.apply(widget('a', { n: 2 }), { force: true }))
  await outcome('has lost a field', one.apply(widget('a', { n: 1, m: 1 })))
  await outcome('removes a field', one.apply(widget('a', { m: 1 })))
  const last = await one.apply(widget('a', { m: 3 }))
  const same = await one.apply(widget('a', { m: 3 }))
  seen.push(['keeps the version', last.metadata.resourceVersion === same.metadata.resourceVersion])
  await outcome('another uid', one.apply(widget('a', { m: 4 }, { uid: 'other' })))
  await outcome('an old version', one.apply(widget('a', { m: 4 }, { resourceVersion: '1' })))
  await outcome('an unknown kind', one.apply({ ...widget('a', {}), kind: 'Gadget' }))
  await outcome('an unknown API', one.apply({ ...widget('a', {}), apiVersion: 'example.com/v9' }))

  await outcome('status', one.applyStatus(widget('a', {}) as Widget, { ready: 1, note: 'up' }))
  await outcome('status without a field', one.applyStatus(widget('a', {}) as Widget, { ready: 1 }))
  await outcome('status of nothing', one.applyStatus(widget('b', {}) as Widget, { ready: 1 }))
  await outcome('keeps the status', one.apply(widget('a', { m: 5 })))

  const informer = follow(kubeConfig)
  const changes: unknown[] = []
  informer.subscribe({
    add: ({ object }) => void changes.push(['add', object.spec, object.metadata.finalizers?.length]),
    delete: ({ object }) => void changes.push(['delete', object.spec]),
  })
  for (const name of FINALIZERS) {
    const functions = { reconcile: async () => {}, cleanup: async () => {} }
    informer.reconcile(one.finalizer<Widget>(name, functions), { key: 'default/a', retry: { minMs: 50, maxMs: 50 } })
  }
  await informer.start().synced()
  const finalizersOf = () => informer.get('default/a')?.metadata.finalizers ?? []
  await waitUntil('both finalizers', () => finalizersOf().length === 2)
  const { uid } = informer.get('default/a')?.metadata ?? {}
  const path = '/apis/example.com/v1/namespaces/default/widgets/a'
  seen.push(['deletes', await remove(kubeConfig, path, 'other'), await remove(kubeConfig, path, uid)])
  await waitUntil('the deletion', () => !informer.has('default/a'))
  await informer.stop()
  seen.push(['changes', changes])
  return seen
}

async function remove(kubeConfig: ConfigLike, path: string, uid: string | undefined): Promise<number> {
  const isSecure = kubeConfig.getCurrentCluster()?.server.startsWith('https')
  const request = isSecure ? httpsRequest : httpRequest
  const options: { headers?: Record<string, string>; method?: string } = {}
  await kubeConfig.applyToHTTPSOptions(options)
  const body = JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } })
  const headers = { ...options.headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return await new Promise<number>((resolve, reject) => {
    const sent = request(`${kubeConfig.getCurrentCluster()?.server}${path}`, { ...options, method: 'DELETE', headers })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.end(body)
  })
}

describe('fakeKubernetes', () => {
  async function start(): Promise<FakeKubernetes> {
    const server = await fakeKubernetes({ resources: [WIDGETS] })
    onTestFinished(() => server[Symbol.asyncDispose]())
    return server
  }

  test('reports writes to a mirror, and lists in pages', async () => {
    const server = await start()
    for (let n = 0; n < 25; n++) server.put(widget(`w${n}`, { n }))
    server.put(configMap('other'))
    const source = kubernetesSource<Widget>({ ...WIDGETS_OPTIONS, kubeConfig: server.kubeConfig, pageSize: 10 })
    const informer = createInformer({ source })
    onTestFinished(() => informer.stop())
    await informer.start().synced()
    expect(informer.size).toBe(25)
    const lists = server.requests.filter(({ query }) => query.includes('limit=10'))
    expect(lists).toHaveLength(3)
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
    const server = await start()
    server.put(widget('a', { n: 1 }))
    const informer = follow(server.kubeConfig)
    const relists = vi.fn()
    informer.on('status', ({ state }) => {
      if (state === 'relisting') relists()
    })
    await informer.start().synced()
    await waitUntil('the watch', () => server.watches === 1)
    server.disconnect()
    server.put(widget('a', { n: 2 }))
    await waitUntil('the change', () => informer.get('default/a')?.spec?.n === 2)
    expect(relists).not.toHaveBeenCalled()
    server.compact()
    server.delete(widget('a', {}))
    server.compact()
    await waitUntil('the deletion', () => informer.size === 0)
    expect(relists).toHaveBeenCalled()
  })

  test('scripted failures are answered once, in their order', async () => {
    const server = await start()
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
    const server = await start()
    const config = new KubeConfig()
    config.loadFromOptions(server.kubeConfigOptions)
    const core = config.makeApiClient(CoreV1Api)
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
    const server = await start()
    expect(() => server.put({ ...widget('a', {}), kind: 'Gadget' })).toThrow('Gadget of example.com/v1 is not served')
    expect(() => server.get({ ...WIDGETS, metadata: { name: 'a' } })).toThrow('Widget a needs a namespace')
    const options = { ...WIDGETS_OPTIONS, kubeConfig: server.kubeConfig, labelSelector: 'a=b' }
    const informer = createInformer({ source: kubernetesSource(options) })
    onTestFinished(() => informer.stop())
    informer.on('error', () => {})
    await expect(informer.start().synced()).rejects.toThrow('the fake server has no selectors')
    const config = new KubeConfig()
    config.loadFromOptions(server.kubeConfigOptions)
    const draft = { namespace: 'default', body: { metadata: { name: 'mine' } }, dryRun: 'All' }
    const tried = config.makeApiClient(CoreV1Api).createNamespacedConfigMap(draft)
    await expect(tried).rejects.toThrow('the fake server has no dry runs')
    expect(server.list('v1', 'ConfigMap')).toEqual([])
  })
})

const WIDGETS_OPTIONS = { apiVersion: 'example.com/v1', kind: 'Widget' }

describeKubernetes('fakeKubernetes', (server) => {
  const own = useKubernetes(server)

  test('answers as a real API server', async () => {
    await createWidgets(own.kubernetes, { status: {} })
    const config = new KubeConfig()
    config.loadFromOptions(own.kubernetes.kubeConfig())
    const real = await observe(config)
    await using fake = await fakeKubernetes({ resources: [WIDGETS] })
    expect(await observe(fake.kubeConfig)).toEqual(real)
    expect(real).toHaveLength(17)
  })
})
