// A controller for Kubernetes: in each namespace it keeps a ConfigMap "about" that names the owner, as the namespace's label says.
//   node examples/namespace-controller.ts      (copy it out of node_modules: Node runs no TypeScript there)
import { CoreV1Api, KubeConfig, type V1ConfigMap, type V1Namespace } from '@kubernetes/client-node'
import { createInformer } from 'listwatch'
import { kubernetesSource } from 'listwatch/kubernetes'

const kubeConfig = new KubeConfig()
kubeConfig.loadFromDefault()
const core = kubeConfig.makeApiClient(CoreV1Api)

const namespaces = createInformer({ source: kubernetesSource<V1Namespace>({ kubeConfig, kind: 'Namespace' }) })
const abouts = createInformer({
  source: kubernetesSource<V1ConfigMap>({ kubeConfig, kind: 'ConfigMap', fieldSelector: 'metadata.name=about' }),
})
for (const informer of [namespaces, abouts]) informer.on('error', ({ message }) => console.warn(message))

// Called for each changed namespace with its current state. A failed run is retried with growing delays.
const controller = namespaces.reconcile(async (namespace, { object }) => {
  if (object === undefined || object.metadata?.deletionTimestamp !== undefined) return // Kubernetes deletes its contents.
  const owner = object.metadata?.labels?.['owner'] ?? 'nobody'
  const found = abouts.get(`${namespace}/about`)
  if (found?.data?.['owner'] === owner) return
  // With the mirrored version: after a write of another client this fails, and is run again. A mirrored ConfigMap can be written
  // back, because client-node renames none of its fields. It loses the fields that it renames (docs/reference/kubernetes.md).
  const body = { ...found, metadata: { ...found?.metadata, name: 'about' }, data: { ...found?.data, owner } }
  const written =
    found === undefined
      ? await core.createNamespacedConfigMap({ namespace, body })
      : await core.replaceNamespacedConfigMap({ namespace, name: 'about', body })
  await abouts.waitFor(written.metadata?.resourceVersion ?? '') // The next run then sees this write.
  console.log(`${namespace}: ${owner}`)
})

// A change of a ConfigMap runs its namespace.
const again = ({ key }: { readonly key: string }): void => controller.enqueue(key.split('/')[0] ?? '')
abouts.subscribe({ update: again, delete: again })

// In this order: a namespace that runs before the list of abouts is complete would find none.
await abouts.start().synced()
await namespaces.start().synced()
console.log('ready')
process.once('SIGINT', () => void Promise.all([namespaces.stop(), abouts.stop()]))
