import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { RedisWriteError, redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { describeServer } from '../servers/index.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { waitUntil } from '../servers/wait-until.js'
import { context, listed } from '../support/source-calls.js'
import { startForTests } from '../support/start-for-tests.js'

const FIELDS = 20_000

describeServer('redis 7.0', 'a collection whose slot moves', (server) => {
  const cluster = startForTests(() => RedisCluster.start(server))
  let names = 0

  /** A collection in a cluster, and what moves it to another node. */
  const open = async () => {
    const client = new Cluster([{ host: '127.0.0.1', port: cluster().nodes[0]?.port ?? 0 }])
    onTestFinished(() => client.disconnect())
    const name = `moves-${++names}`
    const writer = redisWriter<number>({ client, collection: name, timeoutMs: 2_000 })
    for (let from = 0; from < FIELDS; from += 2_000)
      await writer.apply(Array.from({ length: 2_000 }, (_, n) => ({ put: `k${from + n}`, object: n })))
    const hash = `{${name}}:h`
    const move = async (): Promise<void> => await cluster().migrate(hash, ((await cluster().ownerOf(hash)) + 1) % 3)
    return {
      client,
      writer,
      hash,
      move,
      source: redisCollectionSource<number>({ client, collection: name, timeoutMs: 2_000 }),
    }
  }

  test('while it is listed is listed whole or not at all', async () => {
    const { source, move } = await open()
    const read = async (): Promise<void> => {
      let pages = 0
      for await (const page of source.list({ ...context(), pageSize: 1_000 }))
        if (pages++ === 1 && page.version === undefined) await move()
    }
    const message = expect.stringMatching(/MOVED.*its slot was moved, or the client is a Redis instead of a Cluster/)
    await expect(read()).rejects.toMatchObject({ code: 'UNAVAILABLE', message })
    expect((await listed(source)).objects.size).toBe(FIELDS)
  })

  test('is found by its writer, which writes once', async () => {
    const { client, writer, hash, move } = await open()
    await move()
    await writer.apply([{ put: 'new', object: 1 }])
    expect(await client.hget(hash, 'new')).toBe('1')
    expect(await client.xlen(hash.replace(':h', ':s'))).toBe(FIELDS / 2_000 + 1)
  })

  test('again and again leaves no write without an outcome', async () => {
    const { client, writer, hash, move } = await open()
    const over = new AbortController()
    const outcomes: string[] = []
    const write = async (of: number): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n++) {
        const error: unknown = await writer.apply([{ put: `of ${of}`, object: n }]).catch((error: unknown) => error)
        outcomes.push(error instanceof RedisWriteError ? `${error.code}: ${error.message}` : 'written')
        await sleep(1)
      }
    }
    const writing = Array.from({ length: 16 }, (_, of) => write(of))
    // Faster than the writes of a busy machine: one of them may be redirected by several moves.
    for (let moves = 0; moves < 8; moves++) await move()
    await waitUntil('a hundred writes', () => outcomes.length > 100) // A busy machine needs longer than the moves.
    over.abort()
    await Promise.all(writing)
    expect(outcomes.filter((outcome) => outcome !== 'written')).toEqual([])
    expect(outcomes.length).toBeGreaterThan(100)
    const entries = await client.xlen(hash.replace(':h', ':s'))
    expect(entries).toBe(FIELDS / 2_000 + outcomes.length)
  })
})
