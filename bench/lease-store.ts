import { installLeases } from 'listwatch/postgres'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'
import type { Backend, LeasesOfProcess } from '../test/replicas/leases.ts'
import { foundServer } from './found-server.ts'

/** A lease store on a server of its own. */
export interface LeaseStore extends AsyncDisposable {
  readonly options: Omit<LeasesOfProcess, 'leaseMs'>
}

export async function startLeaseStore(backend: Backend): Promise<LeaseStore> {
  if (backend === 'postgres') {
    const server = await startPostgres()
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await installLeases(client)
    await client.end()
    return storeOf(backend, server.port, server)
  }
  if (backend === 'redis') {
    const server = await foundServer('redis 7.0')
    const { RedisServer } = await import('../test/servers/redis.ts')
    const redis = await RedisServer.start({ server })
    return storeOf(backend, redis.port, redis)
  }
  const etcdProgram = await foundServer('etcd 3.6')
  if (backend === 'etcd') {
    const { EtcdServer } = await import('../test/servers/etcd.ts')
    const etcd = await EtcdServer.start({ server: etcdProgram })
    return storeOf(backend, etcd.port, etcd)
  }
  const { startKubernetes } = await import('../test/servers/kubernetes.ts')
  const server = { etcd: etcdProgram, apiServer: await foundServer('kubernetes 1.36') }
  const kubernetes = await startKubernetes({ server })
  return storeOf(backend, kubernetes.api.port, kubernetes, kubernetes.kubeConfig())
}

function storeOf(
  backend: Backend,
  leasesPort: number,
  server: AsyncDisposable,
  kubeConfig?: LeasesOfProcess['kubeConfig'],
): LeaseStore {
  return {
    options: { backend, leasesPort, kubeConfig },
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  }
}
