// Lists a collection, catches up with it or with a stream, or writes: node redis.ts <task> <port> [<version>]
import { Redis } from 'ioredis'
import { systemClock } from 'listwatch/adapter'
import {
  type RedisStreamSource,
  type RedisWriter,
  redisCollectionSource,
  redisStreamSource,
  redisWriter,
} from 'listwatch/redis'
import { createClient } from 'redis'
import { makeDataset } from '../dataset.ts'

const [task = '', port = '', version = ''] = process.argv.slice(2)
const KEYS = 100_000
/** How many writes are under way at once. */
const TOGETHER = 1_000
const WRITES = 50_000
const address = { host: '127.0.0.1', port: Number(port) }
const user = new Redis({ ...address, lazyConnect: true })

const context = {
  signal: new AbortController().signal,
  clock: systemClock,
  random: { next: () => 0.5 },
}
type Source = Pick<RedisStreamSource<unknown>, 'list' | 'watch'>

async function list(source: Source): Promise<{ size: number; version: string }> {
  const result = { size: 0, version: '' }
  for await (const page of source.list({ ...context, pageSize: 1_000 })) {
    result.size += page.events.length
    result.version = page.version ?? ''
  }
  return result
}

async function watch(source: Source): Promise<number> {
  let size = 0
  for await (const { events } of source.watch({ ...context, after: version, onProgressRequest: () => {} })) {
    size += events.length
    if (size >= KEYS) break
  }
  return size
}

async function listFloor(): Promise<number> {
  const client = new Redis(address)
  let size = 0
  let cursor = '0'
  do {
    const [next, fields] = await client.hscan('{bench}:h', cursor, 'COUNT', 1_000)
    cursor = next
    for (let at = 1; at < fields.length; at += 2) if (JSON.parse(fields[at] ?? '') !== undefined) size++
  } while (cursor !== '0')
  return size
}

async function listNodeRedis(): Promise<number> {
  const client = await createClient({ socket: address }).connect()
  let size = 0
  for await (const page of client.hScanIterator('{bench}:h', { COUNT: 1_000 }))
    for (const { value } of page) if (JSON.parse(value) !== undefined) size++
  return size
}

/**
 * Reads a stream by hand, and parses the row that is the fourth text of each entry; the first one of a collection has
 * none.
 */
async function watchFloor(stream: string): Promise<number> {
  const client = new Redis(address)
  let size = 0
  for (let from = '0-0'; size < KEYS; ) {
    const entries = (await client.xread('COUNT', 1_000, 'STREAMS', stream, from))?.[0]?.[1] ?? []
    for (const [id, fields] of entries) {
      if (fields[3] !== undefined && JSON.parse(fields[3]) !== undefined) size++
      from = id
    }
  }
  return size
}

async function watchNodeRedis(stream: string): Promise<number> {
  const client = await createClient({ socket: address }).connect()
  let size = 0
  for (let id = '0-0'; size < KEYS; ) {
    const answer = (await client.xRead({ key: stream, id }, { COUNT: 1_000 })) as
      | readonly { readonly messages: readonly { readonly id: string; readonly message: object }[] }[]
      | null
    for (const { id: read, message } of answer?.[0]?.messages ?? []) {
      const row: unknown = Object.values(message)[1]
      if (row !== undefined && JSON.parse(String(row)) !== undefined) size++
      id = read
    }
  }
  return size
}

/** Writes the rows, so many at once. */
async function write(count: number, one: (key: string, row: string) => Promise<unknown>): Promise<number> {
  const { rows } = makeDataset(count)
  const texts = rows.map(String)
  const start = performance.now()
  for (let at = 0; at < count; at += TOGETHER)
    await Promise.all(texts.slice(at, at + TOGETHER).map((row, i) => one(`key-${at + i}`, row)))
  took = performance.now() - start
  return count
}
let took: number | undefined

const writer = (name: string): RedisWriter<string> =>
  redisWriter<string>({ client: user, collection: name, codec: 'string', retention: 10_000_000 })
const collection: Source = redisCollectionSource({ client: user, collection: 'bench' })
const stream: Source = redisStreamSource({
  client: user,
  stream: 'bench-events',
  decode: (fields) => ({ key: fields.get('key') ?? '', object: JSON.parse(fields.get('row') ?? '') as unknown }),
})

/** Writes the collection, and a stream with the same rows. Returns the versions from before. */
async function load(): Promise<unknown> {
  const into = writer('bench')
  const [ofCollection, ofStream] = [await into.apply([]), (await list(stream)).version]
  await write(KEYS, (key, object) => into.apply([{ put: key, object }]))
  const client = new Redis(address)
  await write(KEYS, (key, row) => client.xadd('bench-events', '*', 'key', key, 'row', row))
  return { ofCollection, ofStream }
}

const tasks: Readonly<Record<string, () => Promise<number>>> = {
  'list-listwatch': async () => (await list(collection)).size,
  'list-floor': listFloor,
  'list-node-redis': listNodeRedis,
  'collection-listwatch': () => watch(collection),
  'collection-floor': () => watchFloor('{bench}:s'),
  'collection-node-redis': () => watchNodeRedis('{bench}:s'),
  'stream-listwatch': () => watch(stream),
  'stream-floor': () => watchFloor('bench-events'),
  'stream-node-redis': () => watchNodeRedis('bench-events'),
  'write-listwatch': () => {
    const into = writer('written')
    return write(WRITES, (key, object) => into.apply([{ put: key, object }]))
  },
  'write-floor': () => {
    const client = new Redis(address)
    return write(WRITES, (key, row) => client.hset('bare', key, row))
  },
}
if (task === 'load') console.log(JSON.stringify(await load()))
else {
  const start = performance.now()
  const size = await tasks[task]?.()
  console.log(JSON.stringify({ ms: took ?? performance.now() - start, size }))
}
process.exit()
