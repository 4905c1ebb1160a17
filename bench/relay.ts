import { Redis } from 'ioredis'
import { createInformer } from 'listwatch'
import type { RelayStore } from 'listwatch/adapter'
import { natsRelayStore } from 'listwatch/nats'
import { redisRelayStore } from 'listwatch/redis'
import { relaySource, serveRelay } from 'listwatch/relay'
import { atMost, type Benchmark, type Figure } from './figures.ts'
import { foundServer } from './found-server.ts'
import { quantile, type TimedRow, TimedUpdates } from './timed-updates.ts'

const SECONDS = 10
const PER_SECOND = 200
const WRITERS = 2

/** How much later than in a mirror of the table a change reaches a follower behind an engine, at the same time. */
export const relay: Benchmark = {
  name: 'relay',
  about: `commit to handler at ${PER_SECOND} transactions a second: a mirror of the table, and a follower of a relay`,
  async run() {
    return [...(await behindRedis()), ...(await behindNats())]
  },
}

async function behindRedis(): Promise<Figure[]> {
  const server = await foundServer('redis 7.0')
  const { RedisServer } = await import('../test/servers/redis.ts')
  await using engine = await RedisServer.start({ server })
  const client = new Redis(engine.port, { lazyConnect: true })
  try {
    return await measure('Redis', () => redisRelayStore({ client, relay: 'bench' }))
  } finally {
    client.disconnect()
  }
}

async function behindNats(): Promise<Figure[]> {
  const server = await foundServer('nats 2.15')
  const { NatsServer } = await import('../test/servers/nats.ts')
  await using engine = await NatsServer.start({ server })
  const connection = await engine.connect()
  try {
    return await measure('NATS', () => natsRelayStore({ client: connection, relay: 'bench' }))
  } finally {
    await connection.close()
  }
}

async function measure(engine: string, store: () => RelayStore): Promise<Figure[]> {
  await using updates = await TimedUpdates.start()
  const { source } = updates
  const latencies = { mirror: [] as number[], follower: [] as number[] }
  const mirror = createInformer({ source })
  mirror.subscribe(updates.handler(latencies.mirror))
  const relaying = serveRelay(mirror, store())
  await mirror.start().synced()
  await relaying.synced()
  const follower = createInformer({ source: relaySource<TimedRow>({ store: store(), upstream: source }) })
  follower.subscribe(updates.handler(latencies.follower))
  await follower.start().synced()
  const transactions = await updates.write({ seconds: SECONDS, perSecond: PER_SECOND, writers: WRITERS })
  await mirror.fresh()
  await follower.waitFor(mirror.version ?? '', { timeoutMs: 10_000 })
  const { batches } = relaying.status
  await follower.stop()
  await relaying.stop()
  await mirror.stop()
  return [0.5, 0.99].map((part) => {
    const [direct, behind] = [quantile(latencies.mirror, part), quantile(latencies.follower, part)]
    return atMost(part === 0.5 ? 5 : 30, {
      name: `a relay over ${engine} adds ${part === 0.5 ? 'p50' : 'p99'}`,
      value: behind - direct,
      unit: 'ms',
      peers: { 'mirror ms': direct, 'follower ms': behind, transactions, batches },
    })
  })
}
