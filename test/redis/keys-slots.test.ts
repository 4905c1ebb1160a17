import { Cluster } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisKeysSource } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { failure } from '../support/failure.js'
import { listed } from '../support/source-calls.js'
import { startForTests } from '../support/start-for-tests.js'
import { userClient } from './drivers.js'
import { type Item, Mirror } from './mirror.js'

const item = (n: number): string => JSON.stringify({ n })
const ten = Array.from({ length: 10 }, (_, n) => `k${n}`)

describeRedis('plain keys in a cluster', (server) => {
  const started = startForTests(() => RedisCluster.start(server))
  let names = 0

  /** The user's client, which does not refresh its slot map by itself. */
  const clientOf = (cluster: RedisCluster): Cluster => {
    const nodes = cluster.nodes.map(({ port }) => ({ port, host: '127.0.0.1' }))
    const made = new Cluster(nodes, { slotsRefreshInterval: 0 })
    made.on('error', () => {})
    onTestFinished(() => made.disconnect())
    return made
  }

  /** Keys in one slot, some of which are there already; a mirror of them; and what moves them. */
  const open = async (keys: readonly string[]) => {
    const cluster = started()
    const [first] = cluster.nodes
    if (first === undefined) throw new Error('there is no node')
    const prefix = `{slots-${++names}}:`
    const writer = clientOf(cluster)
    const set = async (key: string, n: number): Promise<unknown> => await writer.set(prefix + key, item(n))
    for (const key of keys) await set(key, 1)
    const user = clientOf(cluster)
    const mirror = await Mirror.open(first, () => redisKeysSource<Item>({ client: user, prefix, heartbeatMs: 300 }))
    const deleted: string[] = []
    mirror.informer.subscribe({ delete: ({ key }) => void deleted.push(key) })
    return {
      cluster,
      prefix,
      mirror,
      user,
      deleted,
      set,
      move: async (between?: () => Promise<void>): Promise<void> =>
        await cluster.migrate(prefix, await cluster.another(await cluster.ownerOf(prefix)), between),
      shows: async (wanted: Readonly<Record<string, number>>): Promise<void> =>
        await mirror.shows(Object.fromEntries(Object.entries(wanted).map(([key, n]) => [prefix + key, n]))),
    }
  }
  const all = (n: number): Record<string, number> => Object.fromEntries(ten.map((key) => [key, n]))

  test('are followed to the new server of their slot, even without writes', async () => {
    const { mirror, deleted, set, move, shows } = await open(['a'])
    await using _ = mirror
    await mirror.live()
    await move()
    await set('b', 2)
    await shows({ a: 1, b: 2 })
    await move()
    await set('a', 3)
    await shows({ a: 3, b: 2 })
    expect([deleted, mirror.codes]).toEqual([[], []])
  })

  test('do not count as deleted if half of them have moved: no change is delivered until all have', async () => {
    const { mirror, deleted, set, move, shows } = await open(ten)
    await using _ = mirror
    await mirror.live()
    await move(async () => {
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      await set('new', 1) // At the other server.
      await mirror.until('another try', () => mirror.errors.length > 1)
    })
    await shows({ ...all(1), new: 1 })
    expect([deleted, mirror.codes]).toEqual([[], []])
    expect(mirror.errors[0]?.message).toContain('is being migrated to another server')
  })

  test('are not listed while half of them have moved', async () => {
    const { mirror, deleted, move, shows } = await open(ten)
    await using _ = mirror
    await move(async () => {
      mirror.informer.start()
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      expect(mirror.informer.status.isSynced).toBe(false)
    })
    await shows(all(1))
    expect([deleted, mirror.codes]).toEqual([[], []])
  })

  test('are empty only if the server of their slot confirms it', async () => {
    const { mirror, user, prefix, set, move, shows } = await open([])
    await using _ = mirror
    await user.get(`${prefix}a`)
    await move()
    await mirror.live()
    await move()
    await set('a', 1)
    await shows({ a: 1 })
  })

  test('on several nodes are not mirrored from one node: a list fails with a hint', async () => {
    const { cluster } = await open([])
    for (const { port } of cluster.nodes) {
      await expect(
        listed(redisKeysSource({ client: userClient('ioredis 6', port), prefix: 'user:' })),
      ).rejects.toMatchObject(failure('PROTOCOL', 'add a hash tag to the prefix, such as "{user}:"'))
    }
  })

  test('are followed to the replica that takes over, without deletes', async () => {
    const { cluster, prefix, mirror, deleted, set, shows } = await open(ten)
    await using _ = mirror
    await mirror.live()
    await cluster.failover(await cluster.addReplica(await cluster.ownerOf(prefix)))
    await set('new', 1)
    await shows({ ...all(1), new: 1 })
    expect([deleted, mirror.codes]).toEqual([[], []])
  })
})
