// Mirrors pods of which five fields are kept: node kubernetes-memory.ts <plain|intern> <url> <objects>
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer } from 'listwatch'
import { kubernetesSource } from 'listwatch/kubernetes'

const [contestant = '', url = '', objects = ''] = process.argv.slice(2)
const MIB = 1024 * 1024

interface Pod {
  readonly metadata: {
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
    readonly ownerReferences: readonly object[]
  }
  readonly spec: { readonly nodeName: string }
  readonly status: { readonly phase: string }
}

/** What a source takes of a KubeConfig. */
const kubeConfig = {
  getCurrentContext: () => 'here',
  getCurrentCluster: () => ({ server: url }),
  applyToHTTPSOptions: async () => {},
}

let added = 0
const start = performance.now()
const cpu = process.cpuUsage()
const pods = createInformer({
  source: kubernetesSource<Pod>({ kubeConfig, kind: 'Pod' }),
  // The key contains the name.
  transform: ({ metadata: { namespace, labels, ownerReferences }, spec: { nodeName }, status: { phase } }) => ({
    namespace,
    labels,
    ownerReferences,
    nodeName,
    phase,
  }),
  intern: contestant === 'intern',
  indexes: (ix) => ({ namespace: ix.equal((pod) => pod.namespace) }),
  audit: false,
})
const subscription = pods.subscribe({ add: () => void added++ })
await pods.start().synced()
await subscription.synced()
const ms = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
if (added !== Number(objects)) throw new Error(`${added} pods were added`)
await sleep(1_000)
globalThis.gc?.()
await sleep(1_000)
globalThis.gc?.()
const { rss, heapUsed } = process.memoryUsage()
console.log(
  JSON.stringify({
    ms,
    cpuMs: (user + system) / 1_000,
    peakMb: process.resourceUsage().maxRSS / 1024,
    settledMb: rss / MIB,
    heapMb: heapUsed / MIB,
    size: pods.size,
  }),
)
process.exit()
