import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

describeKubernetes('a collection in which nothing happens', (server) => {
  const own = useKubernetes(server)

  test('keeps its watches over the minutes', async () => {
    const { kubernetes } = own
    const idle = (): Promise<void> =>
      Stage.with({ kubernetes, speed: 1, source: { probeMs: false } }, async (stage) => {
        await stage.filled(1)
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
