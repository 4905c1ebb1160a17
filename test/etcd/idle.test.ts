import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { useEtcd } from './support.js'

describeEtcd('a prefix without writes', (server) => {
  const own = useEtcd(server)

  test.each(['endpoints', 'client'] as const)('[E6] is live before half of heartbeatMs is over (%s)', async (form) => {
    const server = form === 'client' ? { client: own.etcd.client() } : { endpoints: own.etcd.endpoint }
    const source = etcdSource({ ...server, prefix: '/idle/', heartbeatMs: 40_000, timeoutMs: 60_000 })
    const mirror = createInformer({ source })
    try {
      await mirror.start().synced()
      await waitUntil('the watch to be live', () => mirror.status.state === 'live', 10_000)
      expect(mirror.size).toBe(0)
    } finally {
      await mirror.stop()
    }
  })
})
