import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisCollection, redisWriter } from '../../adapters/redis/index.js'
import { describeServer } from '../servers/index.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { waitUntil } from '../servers/wait-until.js'
import { context, listed } from './follow.js'

const FIELDS = 20_000

describeServer('redis 7.0', 'a collection whose slot moves', (server) => {
  let cluster: RedisCluster
  let names = 0
  beforeAll(async () => {
    cluster = await RedisCluster.start(server)
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  /** A collection in a cluster, and what moves it to another node. */
  const open = async () => {
    const client = new Cluster([{ host: '127.0.0.1', port: cluster.nodes[0]?.port ?? 0 }])
    onTestFinished(() => client.disconnect())
    const name = `moves-${++names}`
    const writer = redisWriter<number>({ client, name, timeoutMs: 2_000 })
    for (let from = 0; from < FIELDS; from += 2_000)
      await writer.apply(Array.from({ length: 2_000 }, (_, n) => ({ put: `k${from + n}`, object: n })))
    const hash = `{${name}}:h`
    const move = async (): Promise<void> => await cluster.migrate(hash, ((await cluster.ownerOf(hash)) + 1) % 3)
    return { client, writer, hash, move, source: redisCollection<number>({ client, name, timeoutMs: 2_000 }) }
  }

  test("the trouble: a scan by the user's own client misses fields, and says nothing", async () => {
    const { client, hash, move } = await open()
    const found = new Set<string>()
    for (let cursor = '0'; ; ) {
      const [next, items] = await client.hscan(hash, cursor, 'COUNT', 1_000)
      for (let i = 0; i < items.length; i += 2) found.add(String(items[i]))
      if (cursor === '0') await move()
      cursor = next
      if (cursor === '0') break
    }
    expect(found.size).toBeLessThan(FIELDS)
  })

  test('while it is listed is listed whole or not at all', async () => {
    const { source, move } = await open()
    const read = async (): Promise<void> => {
      let pages = 0
      for await (const page of source.list({ ...context(), pageSize: 1_000 }))
        if (pages++ === 1 && page.version === undefined) await move()
    }
    await expect(read()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('MOVED') })
    expect((await listed(source)).objects.size).toBe(FIELDS)
  })

  test('is found by its writer, which writes once', async () => {
    const { client, writer, hash, move } = await open()
    await move()
    await writer.apply([{ put: 'new', object: 1 }])
    expect(await client.hget(hash, 'new')).toBe('1')
    expect(await client.xlen(hash.replace(':h', ':s'))).toBe(FIELDS / 2_000 + 1)
  })

  test('to the replica of its master is found by its writer', async () => {
    const { client, writer, hash } = await open()
    const replica = await cluster.addReplica(await cluster.ownerOf(hash))
    await cluster.failover(replica)
    const isWritten = (): Promise<boolean> =>
      writer
        .apply([{ put: 'new', object: 1 }])
        .then(() => true)
        .catch(() => false)
    await waitUntil('the writer to find it', isWritten)
    expect(await client.hget(hash, 'new')).toBe('1')
  })
})
