// A service that restarts often: it resumes from a file, and does not list its prices again.
//   ETCD_ENDPOINTS=localhost:2379 node examples/warm-start.ts /var/cache/shop/prices.cache     (copy it out of node_modules)
//   etcdctl put /prices/apple '{"cents":120}'
import { createInformer } from 'listwatch'
import { etcdSource } from 'listwatch/etcd'
import { fileCache } from 'listwatch/file-cache'

interface Price {
  readonly cents: number
}

const [path = 'prices.cache'] = process.argv.slice(2)
const endpoints = (process.env['ETCD_ENDPOINTS'] ?? 'localhost:2379').split(',')

const prices = createInformer({
  source: etcdSource<Price>({ endpoints, prefix: '/prices/' }),
  // Change cacheVersion together with a schema, a transform or a decoder.
  cache: fileCache({ path, cacheVersion: '1' }),
})
prices.on('error', ({ message }) => console.warn(message))
prices.subscribe({
  add: ({ key, object, origin }) => console.log(`${origin} ${key} ${object.cents}`),
  update: ({ key, object, origin }) => console.log(`${origin} ${key} ${object.cents}`),
  delete: ({ key, origin }) => console.log(`${origin} ${key} is gone`),
})

// The last save is at the stop. After a crash the next start resumes from the save before it.
process.once('SIGTERM', () => void prices.stop())

await prices.start().synced({ timeoutMs: 30_000 })
// The proof is as old as the last list, also after a restart.
const { proof } = prices.status
console.log(`ready with ${prices.size} prices, listed at ${new Date(proof?.at ?? 0).toISOString()}`)
