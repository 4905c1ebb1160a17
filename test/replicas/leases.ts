import { KubeConfig } from '@kubernetes/client-node'
import { connect } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import type { Leases } from 'listwatch/adapter'
import { etcdLeases } from 'listwatch/etcd'
import { kubernetesLeases } from 'listwatch/kubernetes'
import { natsLeases } from 'listwatch/nats'
import { postgresLeases } from 'listwatch/postgres'
import { redisLeases } from 'listwatch/redis'
import { Client, Pool } from 'pg'
import type { KubeConfigOptions } from '../servers/kubernetes.ts'

export type Backend = 'postgres' | 'redis' | 'etcd' | 'nats' | 'kubernetes'

/** What a process needs to open a lease store on this machine. */
export interface LeasesOfProcess {
  readonly backend: Backend
  readonly leaseMs: number
  readonly leasesPort: number
  readonly kubeConfig?: KubeConfigOptions | undefined
}

export async function openLeases({ backend, leaseMs, leasesPort, kubeConfig }: LeasesOfProcess): Promise<Leases> {
  const common = { group: 'orders', leaseMs }
  if (backend === 'postgres') {
    const config = { host: '127.0.0.1', port: leasesPort, user: 'postgres', database: 'postgres' }
    const pool = new Pool({ ...config, connectionTimeoutMillis: leaseMs })
    pool.on('error', () => {})
    return postgresLeases({ ...common, pool, connect: () => new Client(config) })
  }
  if (backend === 'redis') {
    const client = new Redis({ host: '127.0.0.1', port: leasesPort, lazyConnect: true })
    return redisLeases({ ...common, client })
  }
  if (backend === 'etcd') return etcdLeases({ ...common, endpoints: `http://127.0.0.1:${leasesPort}` })
  if (backend === 'nats') {
    const options = { maxReconnectAttempts: -1, reconnectTimeWait: 100, ignoreClusterUpdates: true }
    const connection = await connect({ ...options, port: leasesPort, pingInterval: leaseMs })
    return natsLeases({ ...common, client: connection })
  }
  const config = new KubeConfig()
  if (kubeConfig !== undefined) config.loadFromOptions(kubeConfig)
  return kubernetesLeases({ ...common, kubeConfig: config, namespace: 'default' })
}
