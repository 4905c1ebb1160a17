import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EtcdServer } from '../servers/etcd.js'
import { EtcdCluster } from '../servers/etcd-cluster.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { listed } from './follow.js'
import { Stage } from './stage.js'

describeEtcd('three members', (server) => {
  let cluster: EtcdCluster
  beforeAll(async () => {
    cluster = await EtcdCluster.start(server)
  })
  afterEach(() => cluster.mend())
  afterAll(() => cluster[Symbol.asyncDispose]())

  /** A mirror that goes to this member first, and then to the others. */
  const at = (member: number): { readonly etcd: EtcdServer; readonly source: { readonly endpoints: string[] } } => {
    const order = [0, 1, 2].flatMap((step) => cluster.members[(member + step) % 3] ?? [])
    const [first, second] = order
    if (first === undefined || second === undefined) throw new Error('no such member')
    return { etcd: second, source: { endpoints: order.map(({ endpoint }) => endpoint) } }
  }

  test('a member that is cut off from the others ends its watch, which resumes at another member', async () => {
    const { follower } = await cluster.roles()
    const { etcd, source } = at(follower)
    // The member ends its watches 9 s to 18 s after it has lost its leader. A mirror that reads would notice that, too.
    const patient = { ...source, heartbeatMs: 1_200_000, timeoutMs: 2_400_000 }
    await Stage.with({ etcd, source: patient }, async (stage) => {
      await stage.fill(10)
      await stage.live()
      cluster.cutOff(follower)
      await stage.until('the partition to be noticed', () => stage.errors.length > 0)
      await stage.put(['k1', 1], ['k2', undefined])
      await stage.healed()
      const [error] = stage.errors
      expect(stage.relists).toBe(0)
      expect(error?.code).toBe('UNAVAILABLE')
      expect(error?.message).toMatch(/no leader|etcdserver: request timed out/)
      cluster.join()
      await waitUntil('it to be one again', () => cluster.members[follower]?.isHealthy() ?? false)
      await stage.put(['k1', 2])
      await stage.healed()
    })
  })

  test('if the leader is killed, the mirror resumes at other members, without a list', async () => {
    const { leader } = await cluster.roles()
    await Stage.with(at(leader), async (stage) => {
      await stage.fill(10)
      await stage.live()
      await cluster.members[leader]?.kill()
      await waitUntil('a leader', async () => (await cluster.members[(leader + 1) % 3]?.isHealthy()) ?? false)
      await stage.put(['k1', 1], ['k2', undefined])
      await stage.healed()
      expect(stage.relists).toBe(0)
      await cluster.members[leader]?.start()
    })
  })

  test('a member that lags behind does not count as another history', async () => {
    const { follower } = await cluster.roles()
    await Stage.with(at((follower + 1) % 3), async (stage) => {
      await stage.live()
      cluster.members[follower]?.signal('SIGSTOP')
      await stage.fill(2_000)
      await stage.healed()
      const lagging = cluster.members[follower]
      lagging?.signal('SIGCONT')
      await Stage.with(at(follower), async (other) => {
        await other.fill(10)
        await other.live()
        await other.put(['k1', 1])
        await other.healed()
        expect(other.errors.filter(({ code }) => code === 'EPOCH_CHANGED')).toEqual([])
      })
    })
  })
})

describeEtcd("etcd's own proxy, which ignores progress requests", (server) => {
  test('forwards events, and the position of the mirror is found by a comparison', async () => {
    await using etcd = await EtcdServer.start({ server })
    await using proxy = await EtcdServer.startProxy(etcd)
    await Stage.with({ etcd, source: { endpoints: proxy.endpoint } }, async (stage) => {
      await stage.fill(10)
      await stage.live()
      await stage.put(['k1', 1])
      await stage.healed()
      await stage.writer.put('elsewhere').value('x')
      await stage.informer.fresh({ timeoutMs: 100_000 })
      expect([stage.relists, stage.errors]).toEqual([0, []])
    })
  })

  test('[E7] hides that a backup was restored, which shows in the newest entry though there are as many keys', async () => {
    await using etcd = await EtcdServer.start({ server })
    await using proxy = await EtcdServer.startProxy(etcd)
    await Stage.with({ etcd, source: { endpoints: proxy.endpoint } }, async (stage) => {
      await stage.fill(10)
      const backup = await etcd.backup()
      await stage.live()
      await stage.put(['k1', 1])
      await stage.healed()
      await etcd.restore(backup)
      await etcd.start()
      await stage.put(['k2', 2])
      await stage.healed()
      expect(stage.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    })
  })

  test('[E8] has pages of an old history in its cache, which a list does not read', async () => {
    await using etcd = await EtcdServer.start({ server })
    await using proxy = await EtcdServer.startProxy(etcd)
    await Stage.with({ etcd, source: { endpoints: proxy.endpoint, pageSize: 5 } }, async (stage) => {
      const backup = await etcd.backup()
      await stage.fill(21, 1)
      await listed(stage.source)
      await etcd.restore(backup)
      await etcd.start()
      await stage.fill(21, 2)
      await stage.live()
      expect(await stage.differences()).toEqual([])
    })
  })
})
