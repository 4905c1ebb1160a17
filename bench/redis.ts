import { atLeast, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'
import { foundServer } from './found-server.ts'

const KEYS = 100_000
const WRITES = 50_000
const ROUNDS = 5

interface Result {
  readonly ms: number
  readonly size: number
}

interface Job {
  readonly task: 'list' | 'collection' | 'stream' | 'write'
  readonly name: string
  readonly unit: string
  readonly goal: number
  readonly version: string
  readonly size: number
  readonly others: readonly string[]
}

/** A collection of Redis and a stream: read once, caught up with, and written. */
export const redis: Benchmark = {
  name: 'redis',
  about: `${KEYS} rows of 290 bytes, listed, caught up with and written, against bare ioredis and node-redis: all parse the JSON, only listwatch knows that nothing is missing`,
  async run() {
    const server = await foundServer('redis 7.0')
    const { RedisServer } = await import('../test/servers/redis.ts')
    const running = await RedisServer.start({ server })
    try {
      const port = String(running.port)
      const { ofCollection, ofStream } = await contest<{ ofCollection: string; ofStream: string }>('redis', [
        'load',
        port,
      ])
      const jobs: readonly Job[] = [
        {
          task: 'list',
          name: 'redis list',
          unit: '× HSCAN and JSON.parse by ioredis',
          goal: 0.85,
          version: '',
          size: KEYS,
          others: ['node-redis'],
        },
        {
          task: 'collection',
          name: 'redis catch-up of a collection',
          unit: '× XREAD and JSON.parse by ioredis',
          goal: 0.92,
          version: ofCollection,
          size: KEYS,
          others: ['node-redis'],
        },
        {
          task: 'stream',
          name: 'redis catch-up of a stream',
          unit: '× XREAD and JSON.parse by ioredis',
          goal: 0.85,
          version: ofStream,
          size: KEYS,
          others: ['node-redis'],
        },
        {
          task: 'write',
          name: 'redis write',
          unit: '× HSET by ioredis',
          goal: 0.2,
          version: '',
          size: WRITES,
          others: [],
        },
      ]
      const figures: Figure[] = []
      for (const job of jobs) figures.push(await figureOf(job, port))
      return figures
    } finally {
      await running[Symbol.asyncDispose]()
    }
  },
}

async function figureOf({ task, name, unit, goal, version, size, others }: Job, port: string): Promise<Figure> {
  const run = (contestant: string) => () => contest<Result>('redis', [`${task}-${contestant}`, port, version])
  const runs = await inTurn(
    ROUNDS,
    Object.fromEntries(['floor', 'listwatch', ...others].map((contestant) => [contestant, run(contestant)])),
  )
  const ms = (contestant: string): readonly number[] => (runs[contestant] ?? []).map((result) => result.ms)
  for (const [contestant, all] of Object.entries(runs)) {
    const wrong = all.find((result) => result.size !== size)
    if (wrong !== undefined) throw new Error(`${name} by ${contestant} returned ${wrong.size} of ${size} objects`)
  }
  const perSecond = (contestant: string): number => Math.round((size / median(ms(contestant))) * 1_000)
  return atLeast(goal, {
    name,
    value: medianRatio(ms('floor'), ms('listwatch')),
    unit,
    peers: {
      'listwatch /s': perSecond('listwatch'),
      'ioredis /s': perSecond('floor'),
      ...Object.fromEntries(others.map((other) => [`${other} /s`, perSecond(other)])),
    },
  })
}
