import { Redis } from 'ioredis'
import { redisCollectionSource, redisStreamSource, redisWriter } from 'listwatch/redis'
import { foundServer } from '../found-server.ts'
import { allAt, type Engine, type Row, type RunningEngine, rowAt } from './engine.ts'

/** The entries that a stream keeps. */
const KEPT = 200_000

/** A collection that a redisWriter writes. */
export const redisCollection: Engine = {
  together: [1, 100],
  lanes: 4,
  start: started,
  async connectWriter(address) {
    const writer = redisWriter<Row>({ client: new Redis(address), collection: 'bench', retention: KEPT })
    return async (first, count, together) => {
      const put = (at: number) => ({ put: String(at), object: rowAt(at) })
      await Promise.all(allAt(0, count / together, (nth) => writer.apply(allAt(first + nth * together, together, put))))
    }
  },
  source: (address) => redisCollectionSource<Row>({ client: new Redis(address), collection: 'bench' }),
  follow: (address, onRow) =>
    followStream(address, '{bench}:s', (fields) => {
      for (let at = 2; at < fields.length; at += 2)
        if (fields[at]?.startsWith('u') === true) onRow(JSON.parse(fields[at + 1] ?? '') as Row)
    }),
}

/** A stream that other programs write. */
export const redisStream: Engine = {
  together: [1],
  lanes: 4,
  start: started,
  async connectWriter(address) {
    const client = new Redis(address)
    const add = (at: number): Promise<unknown> =>
      client.xadd('bench', 'MAXLEN', '~', KEPT, '*', 'key', String(at), 'row', JSON.stringify(rowAt(at)))
    return async (first, count) => void (await Promise.all(allAt(first, count, add)))
  },
  source: (address) =>
    redisStreamSource<Row>({
      client: new Redis(address),
      stream: 'bench',
      whenTrimmed: 'fold', // The newest entry of each row remains.
      decode: (fields) => ({ key: fields.get('key') ?? '', object: JSON.parse(fields.get('row') ?? '') as Row }),
    }),
  follow: (address, onRow) => followStream(address, 'bench', (fields) => onRow(JSON.parse(fields[3] ?? '') as Row)),
}

async function started(): Promise<RunningEngine> {
  const server = await foundServer('redis 7.0')
  const { RedisServer } = await import('../../test/servers/redis.ts')
  const running = await RedisServer.start({ server })
  return { address: running.url, [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose]() }
}

async function followStream(
  address: string,
  stream: string,
  onEntry: (fields: readonly string[]) => void,
): Promise<void> {
  const client = new Redis(address)
  let [[from] = ['0-0']] = await client.xrevrange(stream, '+', '-', 'COUNT', 1)
  void (async () => {
    for (;;) {
      const read = await client.xread('COUNT', 1_000, 'BLOCK', 1_000, 'STREAMS', stream, from)
      for (const [id, fields] of read?.[0]?.[1] ?? []) {
        onEntry(fields)
        from = id
      }
    }
  })()
}
