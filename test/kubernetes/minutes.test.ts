import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

// Each waits for minutes, with a server of its own.
describeKubernetes.concurrent('over the minutes', (server) => {
  describe('a collection in which nothing happens', () => {
    const own = useKubernetes(server)

    test('keeps its watches over the minutes', async () => {
      const { kubernetes } = own
      const idle = (): Promise<void> =>
        Stage.with({ kubernetes, speed: 1, source: { probeMs: false } }, async (stage) => {
          await stage.fill(1)
          await stage.live()
          await stage.healed()
          const { accepted } = stage.proxy.counts
          for (let beat = 0; beat < 3; beat++) {
            const before = stage.informer.status.lastContactAt
            await stage.until('a word', () => stage.informer.status.lastContactAt !== before, 100_000)
          }
          // A server without any write since then sends nothing: a probe over another connection follows.
          expect(stage.proxy.counts.accepted - accepted).toBeLessThan(3)
          expect([stage.reconnects, stage.relists]).toEqual([0, 0])
        })
      await Promise.all([idle(), idle(), idle(), idle(), idle(), idle()])
    }, 400_000)
  })

  describe('a right that is taken away', () => {
    const own = useKubernetes(server)

    test('ends a watch that is open by maxWatchMs, and leaves what there was', () =>
      Stage.with(
        { kubernetes: own.kubernetes, way: { user: 'bob' }, speed: 1, source: { maxWatchMs: 60_000 } },
        async (stage) => {
          await own.kubernetes.grant('bob', 'bob-reads', ['list', 'watch'], ['configmaps'])
          await stage.fill(5)
          await stage.live()
          await own.kubernetes.revoke('bob-reads')
          await stage.until('it to fail', () => stage.informer.status.state === 'failed', 100_000)
          expect([stage.informer.size, stage.proxy.counts.reset]).toEqual([5, 0])
          expect(stage.errors.at(-1)).toMatchObject({ code: 'UNAUTHORIZED' })
        },
      ))
  })
})
