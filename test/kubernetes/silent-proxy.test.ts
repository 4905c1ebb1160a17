import { createServer, type Socket } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { waitUntil } from '../servers/wait-until.js'

test.each(['http', 'socks5h'])(
  'a proxy (%s) that takes connections and never answers is left, soon after the stop at the latest',
  async (scheme) => {
    const sockets = new Set<Socket>()
    const proxy = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      socket.resume()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = Object(proxy.address()) as { readonly port: number }
    const config = new KubeConfig()
    config.loadFromOptions({
      clusters: [
        { name: 'c', server: 'http://server.invalid', skipTLSVerify: true, proxyUrl: `${scheme}://127.0.0.1:${port}` },
      ],
      users: [{ name: 'u', token: 't' }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    })
    try {
      const source = kubernetesSource({ kubeConfig: config, kind: 'ConfigMap', timeoutMs: 500 })
      await using informer = createInformer({ source, audit: false })
      let errors = 0
      informer.on('error', () => errors++)
      informer.start()
      await waitUntil('two attempts', () => errors >= 2)
      expect(informer.status.lastError?.code).toBe('UNAVAILABLE')
      await informer.stop()
      await waitUntil('no connection to be left', () => sockets.size === 0, 5_000)
    } finally {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => proxy.close(() => resolve()))
    }
  },
)
