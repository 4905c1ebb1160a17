import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { Stage } from './stage.js'
import { createWidgets, deleteWidgets, WIDGETS } from './widgets.js'

describeKubernetes('a resource of our own that is missing', (server) => {
  test('leaves no ghost if a backup from before it is restored, and it is recreated', async () => {
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
