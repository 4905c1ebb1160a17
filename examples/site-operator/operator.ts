// An operator for Kubernetes: each Site has a ConfigMap with its page, and pods that serve it. Several processes share the sites.
//   kubectl apply -f examples/site-operator/crd.yaml
//   node examples/site-operator/operator.ts      (copy it out of node_modules: Node runs no TypeScript there)
import { once } from 'node:events'
import { CoreV1Api, KubeConfig, type V1ConfigMap, type V1Pod } from '@kubernetes/client-node'
import { createInformer, groupInformers } from 'listwatch'
import {
  kubernetesLeases,
  kubernetesSource,
  kubernetesWriter,
  type ObjectContext,
  ownedBy,
  type Wire,
} from 'listwatch/kubernetes'

type Context = ObjectContext<Site>
interface Site {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly generation: number
  }
  readonly spec: { readonly page: string; readonly workers: number }
  readonly status?: { readonly observedGeneration: number; readonly workers: number }
}

const SITES = { apiVersion: 'example.com/v1', kind: 'Site' }
const LABEL = 'example.com/site' // Only labelled objects are mirrored.
const kubeConfig = new KubeConfig()
kubeConfig.loadFromDefault()
const core = kubeConfig.makeApiClient(CoreV1Api)
const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
const events = writer.eventRecorder({ controller: 'example.com/site-operator' })

const sites = createInformer({ source: kubernetesSource<Site>({ kubeConfig, ...SITES }) })
const pages = createInformer({
  source: kubernetesSource<Wire<V1ConfigMap>>({ kubeConfig, kind: 'ConfigMap', labelSelector: LABEL }),
})
const pods = createInformer({
  source: kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', labelSelector: LABEL }),
  indexes: (ix) => ({ owner: ix.multi((pod) => pod.metadata?.ownerReferences?.map(({ uid }) => uid) ?? []) }),
})

/** The metadata of an object that belongs to a site: `ownedBy` finds the site by it. */
function owned({ metadata: { name: site, namespace, uid } }: Site, name: string) {
  const ownerReferences = [{ ...SITES, name: site, uid, controller: true }]
  return { name, namespace, labels: { [LABEL]: site }, ownerReferences }
}

/** Creates the missing pods of a site and deletes those above `count`. Waits until the mirror shows both. */
async function scale(site: Site, count: number, signal: AbortSignal): Promise<void> {
  const { name, namespace, uid } = site.metadata
  const surplus = new Set(pods.by.owner(uid).map((pod) => pod.metadata?.name ?? ''))
  for (let n = 0; n < count; n++) {
    const pod = `${name}-${n}`
    if (surplus.delete(pod)) continue
    const volumes = [{ name: 'page', configMap: { name } }]
    const volumeMounts = [{ name: 'page', mountPath: '/usr/share/nginx/html' }]
    const spec = { volumes, containers: [{ name: 'web', image: 'nginx', volumeMounts }] }
    const { metadata } = await writer.apply(
      { apiVersion: 'v1', kind: 'Pod', metadata: owned(site, pod), spec },
      { signal },
    )
    await pods.waitFor(metadata.resourceVersion, { signal }) // The next run then sees the pod.
    events.event(site, { reason: 'Created', action: 'CreatePod', note: `pod ${pod}` })
  }
  for (const pod of surplus) {
    await core.deleteNamespacedPod({ name: pod, namespace }).catch(ignoreNotFound)
    await pods.until(`${namespace}/${pod}`, (found) => found === undefined, { signal })
  }
}

async function reconcile(key: string, { object: site, signal }: Context): Promise<void> {
  const { page, workers } = site.spec
  const { name, generation } = site.metadata
  const data = { 'index.html': page }
  await writer.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: owned(site, name), data }, { signal })
  await scale(site, workers, signal)
  await writer.applyStatus(site, { observedGeneration: generation, workers }, { signal })
  console.log(`${key}: ${workers} workers`)
}

/** The finalizer keeps the site until its last pod has ended. Without one the site would disappear first. */
async function cleanup(key: string, { object: site, signal }: Context): Promise<void> {
  const { name, namespace } = site.metadata
  await scale(site, 0, signal)
  await core.deleteNamespacedConfigMap({ name, namespace }).catch(ignoreNotFound)
  console.log(`${key}: gone`)
}

function ignoreNotFound(error: unknown): void {
  if (Object(error).code !== 404) throw error
}

sites.reconcile(writer.finalizer<Site>('example.com/workers', { reconcile, cleanup }), {
  concurrency: 4,
  timeoutMs: 120_000,
  watches: [
    { informer: pages, keys: ownedBy('Site') },
    { informer: pods, keys: ownedBy('Site') },
  ],
  leases: kubernetesLeases({
    kubeConfig,
    namespace: 'default',
    group: 'site-operator',
    leaseMs: Number(process.env['LEASE_MS'] ?? 10_000),
  }),
})
for (const informer of [sites, pages, pods]) informer.on('error', ({ message }) => console.warn(message))
const group = groupInformers([sites, pages, pods]).start()
await group.synced()
console.log('ready')
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
await group.stop({ drainMs: 5_000 })
await events.flush()
