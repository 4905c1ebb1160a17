import { Etcd3 } from 'etcd3'
import { afterAll } from 'vitest'
import { etcdLeases } from '../../../adapters/etcd/index.js'
import { leasesConformance } from '../../../testing/index.js'
import { useEtcd } from '../../etcd/support.js'
import { describeEtcd } from '../../servers/index.js'

describeEtcd('leases in etcd', useEtcd, async (own) => {
  const clients: Etcd3[] = []
  afterAll(() => {
    for (const client of clients) client.close()
  })
  await leasesConformance('with endpoints', {
    create: (group) => etcdLeases({ endpoints: `127.0.0.1:${own.etcd.port}`, group, leaseMs: 5_000 }),
  })
  await leasesConformance("with the user's Etcd3", {
    create: (group) => {
      const client = clients[0] ?? new Etcd3({ hosts: `127.0.0.1:${own.etcd.port}` })
      clients[0] = client
      return etcdLeases({ client, group, prefix: '/other/', leaseMs: 5_000 })
    },
  })
})
