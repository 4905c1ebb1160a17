import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { CONFIGMAPS } from '../kubernetes/stage.js'
import { useKubernetes } from '../kubernetes/support.js'
import { createWidgets, setSpecOfWidgets, WIDGETS } from '../kubernetes/widgets.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import type { Kubernetes } from '../servers/kubernetes.js'
import { type Life, life, testResume, type Values } from './life.js'
import { folder } from './support.js'

let namespaces = 0

/** A namespace of its own, and a mirror of its ConfigMaps with a cache. */
async function configMaps(kubernetes: Kubernetes, isAudited = false) {
  const namespace = `warm-${++namespaces}`
  const path = join(folder(), 'a.cache')
  const { admin } = kubernetes
  await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
  const collection = `/api/v1/namespaces/${namespace}/configmaps`
  const known = new Set<string>()
  return {
    async put(values: Values): Promise<void> {
      for (const [name, n] of Object.entries(values)) {
        if (n === undefined) await admin.delete(`${collection}/${name}`)
        else if (known.has(name)) await admin.patch(`${collection}/${name}`, { data: { n: String(n) } })
        else await admin.create(collection, CONFIGMAPS.draft(name, n))
        known.add(name)
      }
    },
    run(expected: Values, options?: Partial<KubernetesSourceOptions>): Promise<Life> {
      const of = { kubeConfig: kubernetes.config(), apiVersion: 'v1', kind: 'ConfigMap', namespace }
      const source = kubernetesSource<KubeObject>({ ...of, ...options })
      const view = (object: KubeObject): unknown => Number(Object(object['data']).n)
      return life({ source, cache: { path }, expected, prefix: `${namespace}/`, isAudited, view })
    },
  }
}

describeKubernetes('a warm start from Kubernetes', useKubernetes, (own, server) => {
  const uncached = useKubernetes(server, { watchCache: false })

  testResume(() => configMaps(own.kubernetes))

  test('lists once after the history was compacted', async () => {
    const { put, run } = await configMaps(uncached.kubernetes)
    await put({ a: 1, b: 1 })
    await run({ a: 1, b: 1 })
    await put({ a: 2, b: undefined })
    await uncached.kubernetes.compact()
    const after = await run({ a: 2 })
    expect(after).toMatchObject({ lists: 1, initial: ['a'], changes: [] })
    expect(after.errors).toContain('VERSION_EXPIRED')
  })

  test('lists once with another label selector', async () => {
    const { put, run } = await configMaps(own.kubernetes)
    await put({ a: 1, b: 2 })
    await run({ a: 1, b: 2 })
    const after = await run({ b: 2 }, { labelSelector: 'half=0' })
    expect(after).toMatchObject({ lists: 1, initial: ['b'], errors: [] })
    expect(after.warnings).toEqual([expect.stringContaining('saved from another source, or with other options')])
  })

  test('lists once if the schema changed meanwhile', async () => {
    const { kubernetes } = own
    await createWidgets(kubernetes)
    await setSpecOfWidgets(kubernetes, { n: { type: 'integer' } })
    const path = join(folder(), 'a.cache')
    await kubernetes.admin.create('/apis/example.com/v1/namespaces/default/widgets', WIDGETS.draft('w', 1))
    const run = (expected: object): Promise<Life> => {
      const kubeConfig = kubernetes.config()
      const { apiVersion, kind } = WIDGETS
      const source = kubernetesSource<KubeObject>({ kubeConfig, apiVersion, kind, namespace: 'default' })
      return life({ source, cache: { path }, expected: { 'default/w': expected }, view: (object) => object['spec'] })
    }
    await run({ n: 1 })
    expect((await run({ n: 1 })).lists).toBe(0)
    await setSpecOfWidgets(kubernetes, { n: { type: 'integer' }, m: { type: 'integer', default: 4 } })
    expect(await run({ n: 1, m: 4 })).toMatchObject({ lists: 1, errors: ['VERSION_EXPIRED'] })
  })

  test('refuses Secrets, unless they are allowed', async () => {
    const { kubernetes } = own
    const namespace = 'default'
    const path = join(folder(), 'a.cache')
    const data = { password: Buffer.from('hunter2').toString('base64') }
    await kubernetes.admin.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 's' }, data })
    const run = (secrets: boolean): Promise<Life> => {
      const kubeConfig = kubernetes.config()
      const source = kubernetesSource<KubeObject>({ kubeConfig, apiVersion: 'v1', kind: 'Secret', namespace })
      const cache = { path, secrets, encryptionKey: new Uint8Array(32).fill(1) }
      return life({ source, cache, expected: { 'default/s': data }, view: (object) => object['data'] })
    }
    expect((await run(false)).lists).toBe(1)
    expect(existsSync(path)).toBe(false)
    await run(true)
    expect(readFileSync(path).includes(data.password)).toBe(false)
    expect((await run(true)).lists).toBe(0)
  })

  // The restored server may have passed the saved version already. Then only an audit can see the difference.
  test('shows the content of a backup that was restored meanwhile, after a list or an audit', async () => {
    const { kubernetes } = own
    const { put, run } = await configMaps(kubernetes, true)
    await put({ a: 1 })
    const backup = await kubernetes.etcd.backup()
    await put({ a: 2, b: 2 })
    await run({ a: 2, b: 2 })
    await kubernetes.restore(backup)
    const { changes, initial } = await run({ a: 1 })
    expect([['a'], ['a', 'b']]).toContainEqual(initial)
    expect(changes).toEqual(initial.length === 1 ? [] : ['delete b', 'update a'])
  })
})
