import { describe } from 'vitest'
import { natsLeases } from '../../../adapters/nats/index.js'
import { leasesConformance } from '../../../testing/index.js'
import { useNats } from '../../nats/support.js'
import { describeServer } from '../../servers/index.js'
import { NatsCluster } from '../../servers/nats-cluster.js'
import { startForTests } from '../../support/start-for-tests.js'

describeServer('nats 2.15', '[J9] leases in NATS', (server) => {
  describe('on one server', async () => {
    const own = useNats(server)
    await leasesConformance('in a bucket', {
      create: async (group) => natsLeases({ client: await own.nats.connect(), group, leaseMs: 5_000 }),
    })
  })

  describe('on three servers', async () => {
    const started = startForTests(() => NatsCluster.start(server))
    await leasesConformance('in a bucket with three replicas', {
      create: async (group) => {
        const connection = await started().connect()
        return natsLeases({ client: connection, group, bucket: 'other', streamReplicas: 3, leaseMs: 5_000 })
      },
      timeoutMs: 30_000,
    })
  })
})
