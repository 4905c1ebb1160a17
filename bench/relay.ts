import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createInformer } from 'listwatch'
import { installChangeLog, postgresSource } from 'listwatch/postgres'
import { redisRelayStore } from 'listwatch/redis'
import { publish, relaySource } from 'listwatch/relay'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'
import { atMost, type Benchmark } from './figures.ts'

const SECONDS = 10
const PER_SECOND = 200
const WRITERS = 2

interface Row {
  readonly id: string
  readonly sent: string
}

/** How much later than in a mirror of the table a change reaches a follower behind Redis, at the same time. */
export const relay: Benchmark = {
  name: 'relay',
  about: `commit to handler at ${PER_SECOND} transactions a second: a mirror of the table, and a follower of a relay behind Redis`,
  async run() {
    await import(String(new URL('../scripts/typescript.mjs', import.meta.url)))
    const { locateServer } = await import('../test/servers/locate.ts')
    const { RedisServer } = await import('../test/servers/redis.ts')
    const found = await locateServer('redis 7.0')
    if (found.type === 'missing') throw new Error(`${found.name} is lacking: ${found.why}`)
    const engine = await RedisServer.start({ server: found })
    const server = await startPostgres({ settings: { synchronous_commit: 'off' } })
    const client = new Redis(engine.port, { lazyConnect: true })
    const clients: pg.Client[] = []
    const connect = async (): Promise<pg.Client> => {
      const each = new pg.Client({ connectionString: server.url })
      await each.connect()
      clients.push(each)
      return each
    }
    try {
      const control = await connect()
      await control.query('CREATE TABLE bench (id int PRIMARY KEY, sent float8 NOT NULL)')
      await control.query('INSERT INTO bench SELECT g, 0 FROM generate_series(1, 1000) g')
      await installChangeLog(control, { table: 'bench' })
      const source = postgresSource<Row>({
        client: () => new pg.Client({ connectionString: server.url }),
        table: 'bench',
      })
      const committed = new Map<string, number>()
      const latencies = { mirror: [] as number[], follower: [] as number[] }
      const heard = (by: keyof typeof latencies) => ({
        update: ({ object: { id, sent } }: { readonly object: Row }) => {
          const at = committed.get(`${id}/${sent}`)
          if (at !== undefined) latencies[by].push(performance.now() - at)
        },
      })
      const mirror = createInformer({ source })
      mirror.subscribe(heard('mirror'))
      const relaying = publish(mirror, redisRelayStore({ client, name: 'bench' }))
      await mirror.start().synced()
      await relaying.synced()
      const store = redisRelayStore({ client, name: 'bench' })
      const follower = createInformer({ source: relaySource<Row>({ store, upstream: source }) })
      follower.subscribe(heard('follower'))
      await follower.start().synced()
      const writers = await Promise.all(Array.from({ length: WRITERS }, connect))
      const end = performance.now() + SECONDS * 1_000
      let sent = 0
      await Promise.all(
        writers.map(async (writer, w) => {
          for (let next = performance.now(); next < end; next += (1_000 * WRITERS) / PER_SECOND) {
            await sleep(Math.max(0, next - performance.now()))
            const id = w + WRITERS * Math.floor(Math.random() * 200) + 1
            const value = ++sent
            await writer.query('BEGIN')
            await writer.query('UPDATE bench SET sent = $2 WHERE id = $1', [id, value])
            committed.set(`${id}/${value}`, performance.now())
            await writer.query('COMMIT')
          }
        }),
      )
      await mirror.fresh()
      await follower.waitFor(mirror.version ?? '', { timeoutMs: 10_000 })
      const { batches } = relaying.status
      await follower.stop()
      await relaying.stop()
      await mirror.stop()
      return [0.5, 0.99].map((part) => {
        const [direct, behind] = [quantile(latencies.mirror, part), quantile(latencies.follower, part)]
        const name = part === 0.5 ? 'p50' : 'p99'
        const peers = { 'mirror ms': round(direct), 'follower ms': round(behind), transactions: sent, batches }
        return atMost(part === 0.5 ? 5 : 30, {
          name: `relay adds ${name}`,
          value: round(behind - direct),
          unit: 'ms',
          peers,
        })
      })
    } finally {
      client.disconnect()
      await Promise.all(clients.map((each) => each.end()))
      await server.stop()
      await engine[Symbol.asyncDispose]()
    }
  },
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
