import type { NatsConnection } from '@nats-io/transport-node'
import { Client, Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { etcdLeases } from '../../../adapters/etcd/index.js'
import { kubernetesLeases } from '../../../adapters/kubernetes/index.js'
import { natsLeases } from '../../../adapters/nats/index.js'
import { installLeases, postgresLeases } from '../../../adapters/postgres/index.js'
import { redisLeases } from '../../../adapters/redis/index.js'
import { useKubernetes } from '../../kubernetes/support.js'
import { useServer } from '../../postgres/support.js'
import { EtcdCluster } from '../../servers/etcd-cluster.js'
import { describeKubernetes, describeServer } from '../../servers/index.js'
import { NatsServer } from '../../servers/nats.js'
import { NatsCluster } from '../../servers/nats-cluster.js'
import { RedisSentinel } from '../../servers/redis-sentinel.js'
import { drawn } from '../../support/draw.js'
import { LeaseCampaign } from './campaign.js'

const LEASE_MS = 1_500
const KILLS = 3
const backends = drawn(['postgres', 'redis', 'etcd', 'nats', 'kubernetes'])
const STREAM = 'KV_listwatch-leases'

describe('while servers crash, fences grow and no confirmed renewal is lost within an epoch', () => {
  if (backends.includes('postgres'))
    describeServer('postgres 18', 'postgres', (postgres) => {
      // A role may have switched off the durability of its commits.
      const at = useServer(postgres, { synchronous_commit: 'off' })

      test('[L15] kill -9 of the server', async () => {
        const database = await at.database()
        const client = new Client(database.config())
        await client.connect()
        await installLeases(client)
        await client.end()
        const pool = new Pool({ ...database.config(), connectionTimeoutMillis: 1_000 })
        const campaign = new LeaseCampaign(() => postgresLeases({ pool, group: 'g', leaseMs: LEASE_MS }))
        for (let kills = 0; kills < KILLS; kills++) {
          await campaign.recovered()
          await at.server.kill()
          await at.server.restart()
        }
        await campaign.recovered()
        await campaign.end()
        pool.on('error', () => {}) // Until here the leases survive the losses. The server stops while the pool ends.
        await pool.end()
        expect(campaign.checker.epochs.size).toBe(KILLS + 1)
        expect(campaign.counts.lost).toBe(0)
      })
    })

  if (backends.includes('redis'))
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
        const failovers = await sentinel.failovers()
        await campaign.end()
        expect(failovers).toBeGreaterThanOrEqual(1)
        // If the sentinel finds the new master down, too, it fails over again. A master that was started again has
        // another epoch when its first replica is linked.
        expect(campaign.checker.epochs.size).toBeGreaterThanOrEqual(2)
        expect(campaign.checker.epochs.size).toBeLessThanOrEqual(2 * failovers)
      })
    })

  if (backends.includes('etcd'))
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
        await campaign.endsUnharmed()
      })
    })

  if (backends.includes('nats'))
    describeServer('nats 2.15', 'NATS', (server) => {
      test('kill -9 of the server', async () => {
        await using nats = await NatsServer.start({ server })
        const connection = await nats.connect()
        const campaign = new LeaseCampaign(() => natsLeases({ client: connection, group: 'g', leaseMs: LEASE_MS }))
        for (let kills = 0; kills < KILLS; kills++) {
          await campaign.recovered()
          await nats.kill()
          await nats.start()
        }
        await campaign.endsUnharmed()
      })

      test('[J9] a leader is killed, cut off, stopped for a while, and steps down, and the bucket is removed', async () => {
        await using cluster = await NatsCluster.start(server)
        // Two of the members use the same server.
        const connections = await Promise.all([0, 1, 2].map((at) => cluster.connect([at, (at + 1) % 3, (at + 2) % 3])))
        let opened = 0
        const campaign = new LeaseCampaign(() => {
          const connection = connections[opened++ % 3] as NatsConnection
          return natsLeases({ client: connection, group: 'g', streamReplicas: 3, leaseMs: LEASE_MS })
        })
        await campaign.recovered()
        const faults: readonly ((leader: number) => unknown)[] = [
          (leader) => cluster.members[leader]?.kill(),
          (leader) => cluster.cutOff(leader),
          (leader) => cluster.members[leader]?.signal('SIGSTOP'),
          () => cluster.stepDown(STREAM),
        ]
        for (const fault of faults) {
          await fault(await cluster.leaderOf(STREAM))
          await campaign.recovered()
          await cluster.mend()
          await campaign.recovered()
        }
        expect([campaign.checker.epochs.size, campaign.counts.lost]).toEqual([1, 0])
        await cluster.members[0]?.ask(`STREAM.DELETE.${STREAM}`)
        await campaign.recovered()
        await campaign.end()
        expect(campaign.checker.epochs.size).toBeGreaterThan(1)
      })
    })

  if (backends.includes('kubernetes'))
    describeKubernetes('kubernetes', useKubernetes, (own) => {
      test('kill -9 of the API server, and of etcd', async () => {
        const { kubernetes } = own
        const kubeConfig = kubernetes.config()
        const options = { kubeConfig, namespace: 'default', group: 'g', leaseMs: LEASE_MS }
        const campaign = new LeaseCampaign(() => kubernetesLeases(options))
        await campaign.recovered()
        await kubernetes.api.kill()
        await kubernetes.api.start()
        await campaign.recovered()
        await kubernetes.etcd.kill()
        await kubernetes.etcd.start()
        await campaign.endsUnharmed()
      })
    })
})
