import { Cluster as Cluster6 } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ClusterRoute } from '../../adapters/redis/connection/cluster-route.js'
import {
  type RedisClient,
  redisCollectionSource,
  redisKeysSource,
  redisLeases,
  redisWriter,
} from '../../adapters/redis/index.js'
import { systemClock } from '../../src/adapter.js'
import { createInformer, sourceSet } from '../../src/index.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { describeRedis } from '../servers/index.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { failure } from '../support/failure.js'
import { followRotations } from '../support/load.js'
import { listed } from '../support/source-calls.js'
import { startForTests } from '../support/start-for-tests.js'
import { driverNames } from './drivers.js'
import { kinds } from './kinds.js'
import { type Item, Mirror } from './mirror.js'

describeRedis('a cluster', (server) => {
  const cluster = startForTests(() => RedisCluster.start(server))
  /** The user's own, over all nodes or some. */
  const client = (
    driver: string = 'ioredis 6',
    redisOptions: { readonly password?: string | undefined } = {},
  ): RedisClient => {
    const nodes = cluster().nodes.map(({ port }) => ({ port, host: '127.0.0.1' }))
    const made = driver === 'ioredis 5' ? new Cluster5(nodes, { redisOptions }) : new Cluster6(nodes, { redisOptions })
    made.on('error', () => {})
    onTestFinished(() => made.disconnect())
    return made
  }
  /** A mirror by a Cluster of the user's; it needs no proxy. */
  const mirrorOf = async (make: () => ReturnType<(typeof kinds)[number]['source']>): Promise<Mirror> => {
    const [first] = cluster().nodes
    if (first === undefined) throw new Error('there is no node')
    return await Mirror.open(first, make)
  }
  let names = 0

  describe.each(kinds)('with $name', (kind) => {
    test.each(driverNames)('sends commands only to the master of the slot (%s)', async (driver) => {
      const name = `cluster-${++names}`
      const user = client(driver)
      const mark = await kind.write(client(), name, 'a', 1)
      await using mirror = await mirrorOf(() => kind.source(user, name))
      await mirror.live()
      await mirror.informer.waitFor(mark, { timeoutMs: 60_000 })
      await kind.write(client(), name, 'b', 2)
      await mirror.shows({ a: 1, b: 2 })
      expect(mirror.errors).toEqual([])
    })

    test('whose slot moves during a watch: it resumes at the new master, without a list', async () => {
      const name = `cluster-${++names}`
      const [key = ''] = kind.keys(name)
      const writer = client()
      await kind.write(writer, name, 'a', 1)
      await using mirror = await mirrorOf(() => kind.source(client(), name))
      await mirror.live()
      for (const n of [2, 3, 4]) {
        const from = await cluster().ownerOf(key)
        await cluster().migrate(key, await cluster().another(from))
        await kind.write(writer, name, 'a', n)
        await mirror.shows({ a: n })
      }
      expect([mirror.errors, mirror.informer.status.reconnects, mirror.informer.status.relists]).toEqual([[], 0, 0])
    })

    test('whose slot is being migrated: a list waits until it has moved', async () => {
      const name = `cluster-${++names}`
      const [key = ''] = kind.keys(name)
      await kind.write(client(), name, 'a', 1)
      await using mirror = await mirrorOf(() => kind.source(client(), name))
      const from = await cluster().ownerOf(key)
      await cluster().migrate(key, await cluster().another(from), async () => {
        mirror.informer.start()
        // A stream is one key, which is on one side or the other.
        await mirror.until('a first try', () => mirror.errors.length > 0 || mirror.informer.status.isSynced)
      })
      await mirror.shows({ a: 1 })
      expect(mirror.codes).toEqual([])
    })

    test('whose master is replaced by its replica: the mirror resumes at its version', async () => {
      const name = `cluster-${++names}`
      const [key = ''] = kind.keys(name)
      await kind.write(client(), name, 'a', 1)
      await using mirror = await mirrorOf(() => kind.source(client(), name))
      await mirror.live()
      const replica = await cluster().addReplica(await cluster().ownerOf(key))
      await cluster().failover(replica)
      await kind.write(client(), name, 'a', 2)
      await mirror.shows({ a: 2 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })
  })

  test('an informer of all shards mirrors one collection, and waits for writes to one shard', async () => {
    const of = { client: client(), collection: `cluster-${++names}`, shardCount: 8 }
    await using writer = redisWriter<Item>(of)
    for (let n = 0; n < 20; n++) await writer.apply([{ put: `k${n}`, object: { n } }])
    const informer = createInformer({ source: sourceSet(redisCollectionSource<Item>(of)) })
    onTestFinished(() => informer.stop())
    await informer.start().synced({ timeoutMs: 60_000 })
    expect(informer.size).toBe(20)
    const keys = ['k1', 'k2', 'k3', 'new']
    const shards = new Set<string>()
    for (const key of keys) {
      const source = writer.shardOf(key)
      const version = await writer.apply([{ put: key, object: { n: 100 } }])
      await informer.waitFor(version, { source, timeoutMs: 60_000 })
      expect(informer.get(key)).toEqual({ n: 100 })
      shards.add(source)
    }
    expect(shards.size).toBeGreaterThan(1)
    // A wait for a write to one shard must not query another one.
    const version = await writer.apply([{ delete: 'k1' }])
    const other = [...writer.shards.keys()].find((each) => each !== writer.shardOf('k1'))
    await expect(informer.waitFor(version, { source: other ?? '', timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'EPOCH_CHANGED',
    })
  })

  test.each(driverNames)('is found by the slot map of a client that was quit (%s)', async (driver) => {
    const user = client(driver) as Cluster6
    const name = `cluster-${++names}`
    await kinds[0]?.write(client(), name, 'a', 1)
    const source = redisCollectionSource<Item>({ client: user, collection: name })
    await listed(source)
    await user.quit()
    expect((await listed(source)).objects.size).toBe(1)
  })

  test('is found by its slot map again, if the server that MOVED named is gone', async () => {
    const route = new ClusterRoute(client(), 'key')
    const open = () => route.open({ signal: new AbortController().signal, clock: systemClock, timeoutMs: 10_000 })
    route.noteFailure(new Error('MOVED 12539 127.0.0.1:1'))
    await expect(open()).rejects.toMatchObject(failure('UNAVAILABLE', 'ECONNREFUSED'))
    const session = await open()
    expect(session.address).toBe(`127.0.0.1:${cluster().nodes[await cluster().ownerOf('key')]?.port}`)
    session.close()
  })

  test('behind a NAT is reached at the addresses of the client’s natMap', async () => {
    const [kind] = kinds
    const name = `cluster-${++names}`
    const [key = ''] = kind?.keys(name) ?? []
    const doors = new Map<string, FaultProxy>()
    for (const { endpoint, port } of cluster().nodes) doors.set(endpoint, await startFaultProxy({ targetPort: port }))
    const natMap = (address: string): { host: string; port: number } | null => {
      const door = doors.get(address)
      return door === undefined ? null : { host: '127.0.0.1', port: door.port }
    }
    const [first] = doors.values()
    const user = new Cluster6([{ host: '127.0.0.1', port: first?.port ?? 0 }], { natMap })
    user.on('error', () => {})
    onTestFinished(async () => {
      user.disconnect()
      for (const door of doors.values()) await door[Symbol.asyncDispose]()
    })
    await kind?.write(client(), name, 'a', 1)
    const source = redisCollectionSource<Item>({ client: user, collection: name, heartbeatMs: 500 })
    await using mirror = await mirrorOf(() => source)
    await mirror.live()
    const from = await cluster().ownerOf(key)
    const to = await cluster().another(from)
    const door = doors.get(cluster().nodes[to]?.endpoint ?? '')
    const before = door?.counts.open ?? 0
    // The user's Cluster sends no command, so it does not notice the move.
    await cluster().migrate(key, to)
    await kind?.write(client(), name, 'a', 2)
    await mirror.shows({ a: 2 })
    expect(door?.counts.open).toBe(before + 1)
  })

  test('plain keys whose prefix has no hash tag are rejected at the call', () => {
    const user = client()
    expect(() => redisKeysSource({ client: user, prefix: 'user:' })).toThrow('must have a hash tag')
  })

  test.each(driverNames)(
    '[A7] whose password is replaced twice while a writer writes is followed by mirror, writer and leases (%s)',
    async (driver) => {
      const name = `cluster-${++names}`
      const passwords = ['first', 'second', 'third']
      const admins = cluster().nodes.map((node) => node.client())
      const onAll = (...command: [string, ...string[]]) => Promise.all(admins.map((admin) => admin.call(...command)))
      const accept = (number: number) =>
        onAll('ACL', 'SETUSER', name, 'reset', 'on', `>${passwords[number]}`, '~*', '&*', '+@all')
      await accept(0)
      const redisOptions = { username: name, password: passwords[0] }
      const user = client(driver, redisOptions)
      await using writer = redisWriter<Item>({ client: user, collection: name })
      const session = redisLeases({ client: user, group: name }).open()
      onTestFinished(() => session.close())
      let renewals = 0
      await using mirror = await mirrorOf(() =>
        redisCollectionSource<Item>({ client: user, collection: name, heartbeatMs: 200 }),
      )
      await followRotations(mirror, {
        write: async (n) => {
          // One whose answer is lost may have been written.
          const renewed = { member: 'member000001', renewal: renewals++, members: [], holds: [] }
          await session.renew(renewed, [], new AbortController().signal)
          await writer.apply([{ put: `k${n % 7}`, object: { n } }])
          mirror.wanted = { ...mirror.wanted, [`k${n % 7}`]: n }
        },
        rotate: async (number) => {
          await accept(number)
          await onAll('CLIENT', 'KILL', 'USER', name)
        },
        adopt: (number) => {
          redisOptions.password = passwords[number]
        },
      })
    },
  )
})
