// A service's configuration in memory: limits in etcd under /limits/<tenant>/<name>, indexed by tenant.
//   ETCD_ENDPOINTS=localhost:2379 node examples/config-cache.ts acme      (copy it out of node_modules: Node runs no TypeScript there)
//   etcdctl put /limits/acme/api '{"rps":50}'
import { createInformer } from 'listwatch'
import { etcdSource } from 'listwatch/etcd'
import { z } from 'zod'

const [tenant = 'acme'] = process.argv.slice(2)
const endpoints = (process.env['ETCD_ENDPOINTS'] ?? 'localhost:2379').split(',')

const limits = createInformer({
  source: etcdSource({ endpoints, prefix: '/limits/' }),
  schema: z.object({ rps: z.number().default(100) }),
  // A bad value changes nothing: the last good one stays in use, and the error is logged.
  onInvalid: 'keep-previous',
  indexes: (ix) => ({ tenant: ix.equal((_limit, key) => key.split('/')[2]) }),
})
limits.on('error', ({ key, message }) => console.warn(key ?? '', message))

/** What holds for a tenant now: a look into memory, at every request. */
function limitsOf(name: string): string {
  const found = Array.from(limits.by.tenant.entries(name), ([key, object]) => `${key.split('/')[3]} ${object.rps}`)
  return `${name}: ${found.length === 0 ? 'no limits' : found.join(', ')}`
}

process.once('SIGINT', () => void limits.stop())
await limits.start().synced({ timeoutMs: 10_000 })
for await (const _ of limits.changes()) console.log(limitsOf(tenant))
