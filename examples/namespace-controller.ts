// A controller for Kubernetes: in each namespace it keeps a ConfigMap "about" that names the owner, as the namespace's label says.
//   node examples/namespace-controller.ts      (copied out of node_modules, where Node runs no TypeScript)
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

// Run for each namespace that changed, with the state of now; again, later and later, when it fails.
const controller = namespaces.reconcile(async (namespace, { object }) => {
  if (object === undefined || object.metadata?.deletionTimestamp !== undefined) return // It goes with all that is in it.
  const owner = object.metadata?.labels?.['owner'] ?? 'nobody'
  const found = abouts.get(`${namespace}/about`)
  if (found?.data?.['owner'] === owner) return
  // With the version that was seen: where somebody else has written meanwhile this is refused, and run again. What is mirrored may
  // be written back because client-node renames nothing of a ConfigMap; elsewhere it loses what it renames (docs/kubernetes.md).
  const body = { ...found, metadata: { ...found?.metadata, name: 'about' }, data: { ...found?.data, owner } }
  const written =
    found === undefined
      ? await core.createNamespacedConfigMap({ namespace, body })
      : await core.replaceNamespacedConfigMap({ namespace, name: 'about', body })
  await abouts.waitFor(written.metadata?.resourceVersion ?? '') // So that the next run sees what this one wrote.
  console.log(`${namespace}: ${owner}`)
})

// What somebody does to a ConfigMap concerns its namespace.
const again = ({ key }: { readonly key: string }): void => controller.enqueue(key.split('/')[0] ?? '')
abouts.subscribe({ update: again, delete: again })

// In this order: a namespace that is run before all of abouts is there would find none.
await abouts.start().synced()
await namespaces.start().synced()
console.log('ready')
process.once('SIGINT', () => void Promise.all([namespaces.stop(), abouts.stop()]))
