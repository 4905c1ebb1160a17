import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { CONFIGMAPS } from '../kubernetes/stage.js'
import { useKubernetes } from '../kubernetes/support.js'
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
  run(expected: Readonly<Record<string, number>>): Promise<Life>
}

/** A namespace of its own, and a mirror of its ConfigMaps with a cache. */
async function configMaps(kubernetes: Kubernetes): Promise<ConfigMaps> {
  const namespace = `warm-${++namespaces}`
  const path = join(folder(), 'a.cache')
  const { admin } = kubernetes
  await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
  const collection = `/api/v1/namespaces/${namespace}/configmaps`
  return {
    create: async (name, n) => void (await admin.create(collection, CONFIGMAPS.draft(name, n))),
    update: async (name, n) => void (await admin.patch(`${collection}/${name}`, { data: { n: String(n) } })),
    remove: (name) => admin.delete(`${collection}/${name}`),
    run(expected) {
      const kubeConfig = new KubeConfig()
      kubeConfig.loadFromOptions(kubernetes.kubeConfig())
      const source = kubernetesSource<KubeObject>({ kubeConfig, apiVersion: 'v1', kind: 'ConfigMap', namespace })
      const named = Object.entries(expected).map(([name, n]) => [`${namespace}/${name}`, String(n)])
      const view = (object: KubeObject): unknown => Object(object['data']).n
      return life({ source, cache: { path }, expected: Object.fromEntries(named), view }).then(withoutNamespace)
    },
  }

  function withoutNamespace(done: Life): Life {
    const short = (texts: readonly string[]): string[] => texts.map((text) => text.replace(`${namespace}/`, ''))
    return { ...done, initial: short(done.initial), changes: short(done.changes) }
  }
}

describeKubernetes('a warm start from Kubernetes', (server) => {
  const own = useKubernetes(server)

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
})
