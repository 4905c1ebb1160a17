import { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { freePort } from '../../src/cli/free-port.js'
import { createInformer } from '../../src/informer.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import { waitUntil } from '../servers/wait-until.js'
import { ConnectProxy } from './connect-proxy.js'
import { useKubernetes } from './support.js'

const PATH = '/api/v1/namespaces/default/configmaps'

describeKubernetes('a proxy in the kubeconfig', (server) => {
  const own = useKubernetes(server)

  test('is the way of everything that is asked; after a stop nothing is left open at it', async () => {
    const { admin, api } = own.kubernetes
    await using proxy = await ConnectProxy.start(api.port)
    // Nobody is there: whoever goes straight finds nothing.
    const nowhere = await freePort()
    const options = own.kubernetes.kubeConfig({ port: nowhere })
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromOptions({
      ...options,
      clusters: options.clusters.map((cluster) => ({ ...cluster, proxyUrl: proxy.url })),
    })
    const source = kubernetesSource<KubeObject>({ kubeConfig, kind: 'ConfigMap', namespace: 'default' })
    const informer = createInformer({ source, audit: false })
    onTestFinished(() => informer.stop())
    const errors: unknown[] = []
    informer.on('error', (error) => errors.push(error))
    await admin.create(PATH, { metadata: { name: 'listed' } })
    await informer.start().synced({ timeoutMs: 60_000 })
    await admin.create(PATH, { metadata: { name: 'watched' } })
    await waitUntil('the change', () => informer.has('default/watched'))
    await informer.stop()
    await waitUntil('nothing to be left open', () => proxy.open === 0)
    expect([informer.has('default/listed'), errors]).toEqual([true, []])
    expect(new Set(proxy.wanted)).toEqual(new Set([`127.0.0.1:${nowhere}`]))
  })
})
