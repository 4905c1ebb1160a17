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
import { type Life, life, resumedFrom } from './life.js'
import { folder } from './support.js'

let namespaces = 0

interface ConfigMaps {
  create(name: string, n: number): Promise<void>
  update(name: string, n: number): Promise<void>
  remove(name: string): Promise<void>
  /** Runs a mirror of the namespace. */
  run(expected: Readonly<Record<string, number>>, options?: Partial<KubernetesSourceOptions>): Promise<Life>
}

/** A namespace of its own, and a mirror of its ConfigMaps with a cache. */
async function configMaps(kubernetes: Kubernetes, isAudited = false): Promise<ConfigMaps> {
  const namespace = `warm-${++namespaces}`
  const path = join(folder(), 'a.cache')
  const { admin } = kubernetes
  await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
  const collection = `/api/v1/namespaces/${namespace}/configmaps`
  return {
    create: async (name, n) => void (await admin.create(collection, CONFIGMAPS.draft(name, n))),
    update: async (name, n) => void (await admin.patch(`${collection}/${name}`, { data: { n: String(n) } })),
    remove: (name) => admin.delete(`${collection}/${name}`),
    run(expected, options) {
      const kubeConfig = kubernetes.config()
      const source = kubernetesSource<KubeObject>({
        kubeConfig,
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace,
        ...options,
      })
      const named = Object.entries(expected).map(([name, n]) => [`${namespace}/${name}`, String(n)])
      const view = (object: KubeObject): unknown => Object(object['data']).n
      return life({ source, cache: { path }, expected: Object.fromEntries(named), isAudited, view }).then(
        withoutNamespace,
      )
    },
  }

  function withoutNamespace(done: Life): Life {
    const short = (texts: readonly string[]): string[] => texts.map((text) => text.replace(`${namespace}/`, ''))
    return { ...done, initial: short(done.initial), changes: short(done.changes) }
  }
}

describeKubernetes('a warm start from Kubernetes', (server) => {
  const own = useKubernetes(server)
  const uncached = useKubernetes(server, { watchCache: false })

  test('resumes without a list, and delivers the saved objects, then the changes', async () => {
    const { create, update, remove, run } = await configMaps(own.kubernetes)
    for (const name of ['a', 'b', 'c']) await create(name, 1)
    expect(await run({ a: 1, b: 1, c: 1 })).toMatchObject({ initial: ['a', 'b', 'c'], changes: [] })
    await update('a', 2)
    await remove('c')
    await create('d', 2)
    expect(await run({ a: 2, b: 1, d: 2 })).toEqual(resumedFrom(['a', 'b', 'c'], ['update a', 'delete c', 'add d']))
    // Nothing has happened since.
    expect(await run({ a: 2, b: 1, d: 2 })).toEqual(resumedFrom(['a', 'b', 'd'], []))
  })

  test('lists once after the history was compacted', async () => {
    const { create, update, remove, run } = await configMaps(uncached.kubernetes)
    for (const name of ['a', 'b']) await create(name, 1)
    await run({ a: 1, b: 1 })
    await update('a', 2)
    await remove('b')
    await uncached.kubernetes.compact()
    const after = await run({ a: 2 })
    expect(after).toMatchObject({ initial: ['a'], changes: [] })
    expect(after.lists).toBe(1)
    expect(after.errors).toContain('VERSION_EXPIRED')
  })

  test('lists once with another label selector', async () => {
    const { create, run } = await configMaps(own.kubernetes)
    await create('a', 1)
    await create('b', 2)
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
    const { create, update, run } = await configMaps(kubernetes, true)
    await create('a', 1)
    const backup = await kubernetes.etcd.backup()
    await update('a', 2)
    await create('b', 2)
    await run({ a: 2, b: 2 })
    await kubernetes.restore(backup)
    const { changes, initial } = await run({ a: 1 })
    expect([['a'], ['a', 'b']]).toContainEqual(initial)
    expect(changes).toEqual(initial.length === 1 ? [] : ['delete b', 'update a'])
  })
})
