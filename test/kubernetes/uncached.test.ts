import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { CONFIGMAPS, EVENTS, Stage } from './stage.js'
import { useKubernetes } from './support.js'

describeKubernetes('a quiet collection without a watch cache', (server) => {
  describe.each([
    ['Events of any server', EVENTS, true],
    ['ConfigMaps of a server with --watch-cache=false', CONFIGMAPS, false],
  ] as const)('%s', (_what, resource, watchCache) => {
    const own = useKubernetes(server, { watchCache })

    /** Others write, so that the server is further than the last event of the collection. */
    const written = async ({ kubernetes }: Stage, name: string): Promise<void> => {
      await kubernetes.admin.create('/api/v1/namespaces/default/secrets', { metadata: { name } })
    }

    test.each([['with', { periodMs: 600_000 }] as const, ['without', undefined] as const])(
      '[C34] fresh resolves within seconds, %s audits',
      async (how, audit) => {
        const { kubernetes } = own
        await Stage.with({ kubernetes, resource, speed: 1, ...(audit && { audit }) }, async (stage) => {
          await stage.filled(5)
          await written(stage, `fresh-${how}`)
          await stage.informer.fresh({ timeoutMs: 20_000 })
          await stage.put('k0', 7)
          await stage.informer.fresh({ timeoutMs: 20_000 })
          await stage.healed()
          expect([stage.errors, stage.relists, stage.reconnects]).toEqual([[], 0, 0])
        })
      },
    )

    test('audits find no difference, and move the version on', async () => {
      const { kubernetes } = own
      await Stage.with({ kubernetes, resource, speed: 1, audit: { periodMs: 8_000 } }, async (stage) => {
        await stage.filled(5)
        const before = stage.informer.version
        await written(stage, 'audited')
        await stage.until('an audit to prove the version', () => stage.informer.version !== before, 40_000)
        expect([stage.errors, stage.relists]).toEqual([[], 0])
      })
    })
  })
})
