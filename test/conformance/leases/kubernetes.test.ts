import { KubeConfig } from '@kubernetes/client-node'
import { beforeAll, describe } from 'vitest'
import { kubernetesLeases } from '../../../adapters/kubernetes/index.js'
import { leasesConformance } from '../../../testing/index.js'
import { useKubernetes } from '../../kubernetes/support.js'
import { describeKubernetes } from '../../servers/index.js'

describeKubernetes('leases in Kubernetes', (server) => {
  for (const watchCache of [true, false]) {
    describe(`before a server ${watchCache ? 'with' : 'without'} a watch cache`, async () => {
      const own = useKubernetes(server, { watchCache })
      const kubeConfig = new KubeConfig()
      beforeAll(() => kubeConfig.loadFromOptions(own.kubernetes.kubeConfig()))
      await leasesConformance('of Lease objects', {
        // A group of Kubernetes has no slash.
        create: (group) =>
          kubernetesLeases({ kubeConfig, namespace: 'default', group: group.replace('/', '-'), leaseMs: 5_000 }),
        timeoutMs: 30_000,
      })
    })
  }
})
