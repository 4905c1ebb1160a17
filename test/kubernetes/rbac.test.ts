import { KubeConfig } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { TokenReviewer } from '../servers/token-reviewer.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

describeKubernetes('the right to read', (server) => {
  const own = useKubernetes(server)

  test('that is not there yet is waited for', () =>
    Stage.with({ kubernetes: own.kubernetes, way: { user: 'alice' } }, async (stage) => {
      await stage.fill(5)
      stage.informer.start()
      await stage.until('it to fail', () => stage.informer.status.state === 'failed')
      expect(stage.errors[0]).toMatchObject({ code: 'UNAUTHORIZED' })
      await own.kubernetes.grant('alice', 'alice-reads', ['list', 'watch'], ['configmaps'])
      await stage.healed(60_000)
    }))

  test('to list alone shows what there is, and says that the one to watch is missing', () =>
    Stage.with({ kubernetes: own.kubernetes, way: { user: 'bob' } }, async (stage) => {
      await own.kubernetes.grant('bob', 'bob-lists', ['list'], ['configmaps'])
      await stage.fill(5)
      stage.informer.start()
      await stage.until('the watch to fail', () => stage.errors.some(({ phase }) => phase === 'watch'))
      expect([stage.informer.size, stage.informer.status.state]).toEqual([5, 'failed'])
      expect(stage.errors[0]).toMatchObject({
        code: 'UNAUTHORIZED',
        phase: 'watch',
        message: expect.stringContaining('resources: ["configmaps"], verbs: ["list", "watch"]') as unknown,
      })
      await stage.put('k0', 1)
      await own.kubernetes.grant('bob', 'bob-lists', ['list', 'watch'], ['configmaps'])
      await stage.healed(60_000)
      await own.kubernetes.revoke('bob-lists')
    }))

  test('that is taken away and given back leaves what there was meanwhile', () =>
    Stage.with({ kubernetes: own.kubernetes, way: { user: 'bob' } }, async (stage) => {
      await own.kubernetes.grant('bob', 'bob-reads', ['list', 'watch'], ['configmaps'])
      await stage.fill(5)
      await stage.live()
      await stage.healed()
      await own.kubernetes.revoke('bob-reads')
      // An open watch continues until it ends.
      await stage.until('it to fail', () => {
        stage.resetLive()
        return stage.informer.status.state === 'failed'
      })
      expect(stage.informer.size).toBe(5)
      await stage.put('k0', 1)
      await own.kubernetes.grant('bob', 'bob-reads', ['list', 'watch'], ['configmaps'])
      await stage.healed(60_000)
    }))

  test('by a token that is replaced continues with the next', async () => {
    await using reviewer = await TokenReviewer.start()
    await using kubernetes = await startKubernetes({ server, tokenReviewUrl: reviewer.url })
    await kubernetes.grant('alice', 'alice-reads', ['list', 'watch'], ['configmaps'])
    reviewer.users.set('token-1', 'alice')
    let token = 'token-1'
    let given = 0
    const options = kubernetes.kubeConfig()
    await Stage.with(
      {
        kubernetes,
        configOf: (port) => () => {
          given++
          const config = new KubeConfig()
          const clusters = options.clusters.map((cluster) => ({ ...cluster, server: `https://127.0.0.1:${port}` }))
          config.loadFromOptions({ ...options, clusters, users: [{ name: 'admin', token }] })
          return config
        },
      },
      async (stage) => {
        await stage.fill(5)
        await stage.live()
        reviewer.users.delete('token-1')
        reviewer.users.set('token-2', 'alice')
        token = 'token-2'
        await stage.until('the old one to be refused', () => {
          stage.resetLive()
          return given > 1
        })
        await stage.put('k0', 1)
        await stage.healed()
        expect(stage.relists).toBe(0)
        expect(stage.errors.filter(({ code }) => code === 'UNAUTHORIZED')).toEqual([])
      },
    )
  })
})
