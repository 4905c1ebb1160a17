import { expect, test } from 'vitest'
import { describeKubernetes, type KubernetesPrograms } from '../servers/index.js'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.js'
import { Stage, type StageOptions } from './stage.js'
import { createWidgets, deleteWidgets, WIDGETS } from './widgets.js'

/** In the mirror's own time; a tenth of that in ours. */
const PERIOD_MS = 300_000

/** A mirror that has seen what a backup has not, of a server that is going to be another. */
async function withBackup(
  server: KubernetesPrograms,
  options: Partial<StageOptions>,
  act: (stage: Stage, kubernetes: Kubernetes, backup: string) => Promise<void>,
): Promise<void> {
  await using kubernetes = await startKubernetes({ server })
  await Stage.with({ kubernetes, ...options }, async (stage) => {
    await stage.fill(20)
    const backup = await kubernetes.etcd.backup()
    await stage.live()
    for (let at = 0; at < 10; at++) await stage.put(`lost${at}`, at)
    await stage.remove('k1')
    await stage.healed()
    await act(stage, kubernetes, backup)
  })
}

describeKubernetes('a restored backup', (server) => {
  test('leaves no ghost if its version is lower than ours: that is detected without an audit', () =>
    withBackup(server, {}, async (stage, kubernetes, backup) => {
      await kubernetes.restore(backup)
      await stage.healed(80_000)
      expect(stage.informer.has(`${stage.namespace}/lost0`)).toBe(false)
      expect(stage.informer.has(`${stage.namespace}/k1`)).toBe(true)
      expect(stage.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    }))

  test('leaves no ghost for longer than an audit period if it has got past us before we reconnect', () =>
    withBackup(server, { audit: { periodMs: PERIOD_MS } }, async (stage, kubernetes, backup) => {
      stage.proxy.refuse()
      await kubernetes.restore(backup)
      for (let at = 0; at < 60; at++) await stage.put(`new${at % 5}`, at)
      const { version } = await kubernetes.admin.list(stage.path)
      expect(Number(version)).toBeGreaterThan(Number(stage.informer.version))
      stage.proxy.pass()
      await stage.until('the watch to continue', () => stage.informer.status.state === 'live', 80_000)
      const since = stage.clock.now()
      await stage.healed(80_000)
      expect(stage.informer.has(`${stage.namespace}/lost0`)).toBe(false)
      expect(stage.clock.now() - since).toBeLessThan(PERIOD_MS)
      // Nothing else did, and it did so once.
      expect(stage.errors.filter(({ message }) => message.includes('found a difference'))).toHaveLength(1)
      expect([stage.relists, stage.errors.some(({ code }) => code === 'EPOCH_CHANGED')]).toEqual([1, false])
    }))

  test('that holds nothing at all empties the mirror', () =>
    withBackup(server, {}, async (stage, kubernetes) => {
      await kubernetes.api.kill()
      await kubernetes.etcd.wipe('another')
      await kubernetes.etcd.start()
      await kubernetes.api.start()
      await stage.healed(80_000)
      expect(stage.informer.size).toBe(0)
    }))

  test('from before a resource of our own, which is recreated, leaves no ghost', async () => {
    await using kubernetes = await startKubernetes({ server })
    const backup = await kubernetes.etcd.backup()
    await createWidgets(kubernetes)
    await Stage.with({ kubernetes, resource: WIDGETS }, async (stage) => {
      const { admin } = kubernetes
      await stage.fill(20)
      // So far the restored history is not going to come.
      for (let at = 0; at < 500; at++) await stage.touch('k0')
      await stage.live()
      await stage.healed()
      const before = Number(stage.informer.version)
      await deleteWidgets(kubernetes)
      stage.resetLive()
      await stage.until('it to be missing', () => stage.errors.some(({ code }) => code === 'NOT_FOUND'))
      stage.proxy.refuse()
      await kubernetes.restore(backup)
      await createWidgets(kubernetes)
      await admin.create('/api/v1/namespaces', { metadata: { name: stage.namespace } })
      const version = Number(await stage.put('anew', 1))
      stage.proxy.pass()
      await stage.healed(80_000)
      expect(version).toBeLessThan(before)
    })
  })
})
