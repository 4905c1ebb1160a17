import { describe } from 'vitest'
import { describeListerWatcher } from '../../testing/index.js'
import { useKubernetes } from '../kubernetes/support.js'
import { describeKubernetes } from '../servers/index.js'
import { kubernetesHarness } from './kubernetes-harness.js'

describeKubernetes('the Kubernetes source', (server) => {
  describe('before a server with a watch cache', async () => {
    const cached = useKubernetes(server)
    await describeListerWatcher('lists are streamed', kubernetesHarness(cached, 'cached'))
  })

  describe('before a server without one', async () => {
    const uncached = useKubernetes(server, { watchCache: false })
    await describeListerWatcher('lists come in pages', kubernetesHarness(uncached, 'uncached'))
  })
})
