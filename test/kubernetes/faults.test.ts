import { beforeEach, expect, test } from 'vitest'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeKubernetes } from '../servers/index.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

describeKubernetes('a Kubernetes that fails', (server) => {
  const own = useKubernetes(server)

  // After a test that has failed.
  beforeEach(async () => {
    if (!own.kubernetes.api.isRunning) await own.kubernetes.api.start()
  })

  test('and has forgotten its history when it is back is followed by one list', () =>
    Stage.with({ kubernetes: own.kubernetes }, async (stage) => {
      const { kubernetes } = own
      await stage.filled(20)
      stage.proxy.reset()
      stage.proxy.refuse()
      for (let at = 0; at < 5; at++) await stage.put(`k${at}`, 7)
      await stage.remove('k9')
      await kubernetes.compact()
      await kubernetes.api.kill()
      await kubernetes.api.start()
      stage.proxy.pass()
      await stage.healedAfter(1)
      expect(stage.errors.map(({ code }) => code)).toContain('VERSION_EXPIRED')
      expect(stage.delivered.objects.has(`${stage.namespace}/k9`)).toBe(false)
    }))

  test('[R11] because it is restarted twice is followed by fresh within 30 s of the second start', () =>
    Stage.with({ kubernetes: own.kubernetes, speed: 1 }, async (stage) => {
      const { kubernetes } = own
      await stage.filled(20)
      for (const name of ['k1', 'k2']) {
        await kubernetes.api.kill()
        await kubernetes.api.start()
        await stage.put(name, 7)
        await kubernetes.compact()
      }
      await stage.informer.fresh({ timeoutMs: 30_000 })
      await stage.healed()
    }))

  test('fails over to a server that is behind: the mirror never goes back', async () => {
    const { kubernetes } = own
    await using between = await startFaultProxy({ targetPort: kubernetes.etcd.port })
    const lagging = await kubernetes.addApiServer({ etcdPort: between.port })
    const other = kubernetes.client({ port: lagging.port })
    await using way = await startFaultProxy({ targetPort: lagging.port })
    await Stage.with({ kubernetes }, async (stage) => {
      await stage.filled(20)
      between.hold()
      await stage.put('k1', 1)
      await stage.remove('k2')
      await stage.healed()
      const delivered = stage.delivered.count
      const { items } = await other.list(`${stage.path}?resourceVersion=0`)
      stage.proxy.retarget(way.port)
      stage.proxy.reset()
      await stage.until('several requests to the other server', () => way.counts.accepted >= 3)
      expect(items.map(({ metadata }) => metadata.name)).toContain('k2') // It is behind.
      expect([stage.delivered.count, stage.informer.has(`${stage.namespace}/k2`)]).toEqual([delivered, false])
      between.pass()
      await stage.put('k3', 1)
      await stage.healed()
      expect(stage.delivered.count).toBe(delivered + 1)
    })
  })
})
