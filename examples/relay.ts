// One process mirrors a table and publishes it to Redis; any number of others follow it from there.
//   DATABASE_URL=… REDIS_URL=… node examples/relay.ts publish     (copy it out of node_modules; run it on two machines)
//   DATABASE_URL=… REDIS_URL=… node examples/relay.ts follow      (the table is not read: it only compares versions)
//   npx listwatch pg install $DATABASE_URL --table orders         (once, before)
import { Redis } from 'ioredis'
import { createInformer } from 'listwatch'
import { postgresSource } from 'listwatch/postgres'
import { redisLeases, redisRelayStore } from 'listwatch/redis'
import { relayCache, relaySource, serveRelay } from 'listwatch/relay'
import pg from 'pg'

interface Order {
  readonly id: string
  readonly status: string
}

const { DATABASE_URL: database, REDIS_URL: redis = 'redis://localhost:6379' } = process.env
const client = new Redis(redis, { lazyConnect: true })
const store = redisRelayStore({ client, relay: 'orders' })
const table = postgresSource<Order>({ connect: () => new pg.Client(database), table: 'orders' })

if (process.argv[2] === 'publish') {
  // The cache is the store itself: a relay that starts again resumes the watch of the table, and lists nothing.
  const orders = createInformer({ source: table, cache: relayCache(store) })
  orders.on('error', ({ message }) => console.warn(message))
  // One relay writes; the others wait to replace it.
  const leases = redisLeases({ client, group: 'relay:orders', mode: 'leader' })
  const relay = serveRelay(orders, store, { leases })
  relay.on('error', ({ message }) => console.warn(message))
  const stop = async (): Promise<void> => {
    await relay.stop({ drainMs: 5_000 })
    await orders.stop()
    client.disconnect()
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
  await orders.start().synced()
  await relay.synced()
  console.log(`publishing ${orders.size} orders`)
} else {
  const orders = createInformer({ source: relaySource<Order>({ store, upstream: table }) })
  orders.on('error', ({ message }) => console.warn(message))
  orders.subscribe({
    add: ({ key, object, origin }) => console.log(`${origin} ${key} ${object.status}`),
    update: ({ key, object }) => console.log(`update ${key} ${object.status}`),
    delete: ({ key }) => console.log(`delete ${key}`),
  })
  process.once('SIGTERM', () => void orders.stop().then(() => client.disconnect()))
  await orders.start().synced()
  console.log(`following ${orders.size} orders`)
}
