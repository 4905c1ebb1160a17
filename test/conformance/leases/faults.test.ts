import { KubeConfig } from '@kubernetes/client-node'
import { Client, Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { etcdLeases } from '../../../adapters/etcd/index.js'
import { kubernetesLeases } from '../../../adapters/kubernetes/index.js'
import { installLeases, postgresLeases } from '../../../adapters/postgres/index.js'
import { redisLeases } from '../../../adapters/redis/index.js'
import { useKubernetes } from '../../kubernetes/support.js'
import { useServer } from '../../postgres/support.js'
import { EtcdCluster } from '../../servers/etcd-cluster.js'
import { describeKubernetes, describeServer } from '../../servers/index.js'
import { RedisSentinel } from '../../servers/redis-sentinel.js'
import { LeaseCampaign } from './campaign.js'

const LEASE_MS = 1_500
const KILLS = 3

describe('while servers crash, fences grow and no confirmed renewal is lost within an epoch', () => {
  describeServer('postgres 18', 'postgres', (postgres) => {
    // A role may have switched off the durability of its commits.
    const at = useServer(postgres, { synchronous_commit: 'off' })

    test('kill -9 of the server', async () => {
      const database = await at.database()
      const client = new Client(database.config())
      await client.connect()
      await installLeases(client)
      await client.end()
      const pool = new Pool({ ...database.config(), connectionTimeoutMillis: 1_000 })
      pool.on('error', () => {})
      const campaign = new LeaseCampaign(() => postgresLeases({ pool, group: 'g', leaseMs: LEASE_MS }))
      for (let kills = 0; kills < KILLS; kills++) {
        await campaign.recovered()
        await at.server.kill()
        await at.server.restart()
      }
      await campaign.recovered()
      await campaign.end()
      await pool.end()
      expect(campaign.checker.epochs.size).toBe(KILLS + 1)
      expect(campaign.counts.lost).toBe(0)
    })
  })

  describeServer('redis 7.0', 'redis', (server) => {
    test.each([undefined, 1])('a failover by Sentinel, waitForReplicas: %s', async (waitForReplicas) => {
      await using sentinel = await RedisSentinel.start(server)
      const client = sentinel.client({ lazyConnect: true })
      const options = waitForReplicas === undefined ? {} : { waitForReplicas }
      const campaign = new LeaseCampaign(() => redisLeases({ client, group: 'g', leaseMs: LEASE_MS, ...options }))
      await campaign.recovered()
      await sentinel.first.kill()
      await sentinel.hasFailedOver()
      // The old master comes back, and follows the new one.
      await sentinel.first.start()
      await campaign.recovered()
      await campaign.end()
      expect(campaign.checker.epochs.size).toBe(2)
    })
  })

  describeServer('etcd 3.6', 'etcd', (server) => {
    test('kill -9 of the leader, and a leader that is cut off', async () => {
      await using cluster = await EtcdCluster.start(server)
      const { endpoints } = cluster
      const campaign = new LeaseCampaign(() => etcdLeases({ endpoints, group: 'g', leaseMs: LEASE_MS }))
      for (const isKilled of [true, false]) {
        await campaign.recovered()
        const { leader } = await cluster.roles()
        if (isKilled) await cluster.members[leader]?.kill()
        else cluster.cutOff(leader)
        await campaign.recovered()
        await cluster.mend()
      }
      await campaign.recovered()
      await campaign.end()
      expect(campaign.checker.epochs.size).toBe(1)
      expect(campaign.counts.lost).toBe(0)
    })
  })

  describeKubernetes('kubernetes', (server) => {
    const own = useKubernetes(server)

    test('kill -9 of the API server, and of etcd', async () => {
      const { kubernetes } = own
      const kubeConfig = new KubeConfig()
      kubeConfig.loadFromOptions(kubernetes.kubeConfig())
      const options = { kubeConfig, namespace: 'default', group: 'g', leaseMs: LEASE_MS }
      const campaign = new LeaseCampaign(() => kubernetesLeases(options))
      await campaign.recovered()
      await kubernetes.api.kill()
      await kubernetes.api.start()
      await campaign.recovered()
      await kubernetes.etcd.kill()
      await kubernetes.etcd.start()
      await campaign.recovered()
      await campaign.end()
      expect(campaign.checker.epochs.size).toBe(1)
      expect(campaign.counts.lost).toBe(0)
    })
  })
})
