import { describe } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { useKubernetes } from '../kubernetes/support.js'
import { describeKubernetes } from '../servers/index.js'
import { KubeRefusal } from '../servers/kube-client.js'
import type { Kubernetes } from '../servers/kubernetes.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

interface ConfigMap {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
}

/** A ConfigMap holds less than 1 MiB. This many characters of a longer value are stored in an annotation. */
const REST_LENGTH = 50_000

/** A namespace of its own for each case. One server answers from its watch cache, the other from etcd. */
function harness(
  own: { readonly kubernetes: Kubernetes },
  form: 'cached' | 'uncached',
): ListerWatcherHarness<ConfigMap> {
  let cases = 0
  return {
    unsupported: {
      transactions: 'each object is written by itself',
      openTransactions: 'each object is written by itself',
      epochs: 'a resourceVersion does not say which history it is of',
      corruption: 'the API server lets nothing in that cannot be decoded',
      ...(form === 'cached' ? { compaction: 'the watch cache remembers what etcd has forgotten' } : {}),
    },
    timeoutMs: 30_000,
    async create({ heartbeatMs }) {
      const { kubernetes } = own
      const namespace = `${form}-${++cases}`
      const { admin } = kubernetes
      await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
      const [port, proxied] = await behindProxy(kubernetes.api.port)
      const kubeConfig = kubernetes.config({ port })
      const path = `/api/v1/namespaces/${namespace}/configmaps`
      const names = new Set<string>()
      const put = async (name: string, value: string): Promise<string | undefined> => {
        const cut = value.length > 4 * REST_LENGTH ? value.length - REST_LENGTH : value.length
        const annotations = { rest: value.slice(cut) }
        const draft = { metadata: { name, annotations }, data: { value: value.slice(0, cut) } }
        const isStatus = (error: unknown, status: number): boolean =>
          error instanceof KubeRefusal && error.status === status
        const create = () => admin.create(path, draft)
        const update = () => admin.update(`${path}/${name}`, draft)
        const { metadata } = names.has(name)
          ? await update().catch((error: unknown) => (isStatus(error, 404) ? create() : Promise.reject(error)))
          : await create().catch((error: unknown) => (isStatus(error, 409) ? update() : Promise.reject(error)))
        names.add(name)
        return metadata.resourceVersion
      }
      return {
        source: kubernetesSource<ConfigMap>({ kubeConfig, kind: 'ConfigMap', namespace, heartbeatMs }),
        read: ({ metadata, data }) => (data?.['value'] ?? '') + (metadata.annotations?.['rest'] ?? ''),
        keyOf: (key) => `${namespace}/${key}`,
        refuses: (key) =>
          /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(key) && key.length <= 253
            ? undefined
            : 'no object can have such a name',
        async write(changes) {
          let mark: string | undefined
          // Many objects are written side by side: their order is of no interest.
          if (changes.length > 1_000 && changes.every(({ value }) => value !== undefined)) {
            for (let at = 0; at < changes.length; at += 16)
              await Promise.all(changes.slice(at, at + 16).map(({ key, value = '' }) => put(key, value)))
            return undefined
          }
          for (const { key, value } of changes) {
            if (value !== undefined) mark = await put(key, value)
            else {
              await admin.delete(`${path}/${key}`).catch((error: unknown) => {
                if (!(error instanceof KubeRefusal && error.status === 404)) throw error
              })
              mark = undefined
            }
          }
          return mark
        },
        compact: () => kubernetes.compact(),
        ...proxied,
      }
    },
  }
}

describeKubernetes('the Kubernetes source', (server) => {
  for (const form of drawn(['cached', 'uncached'] as const, 'form')) {
    describe(`a server ${form === 'cached' ? 'with' : 'without'} a watch cache`, async () => {
      const own = useKubernetes(server, { watchCache: form === 'cached' })
      await describeListerWatcher(form === 'cached' ? 'lists are streamed' : 'lists come in pages', harness(own, form))
    })
  }
})
