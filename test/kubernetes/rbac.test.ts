import { loadYaml } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import type { KubeDraft } from '../servers/kube-client.js'
import { blocksOf } from '../support/documents.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

interface Manifest {
  readonly kind?: string
  readonly metadata?: { readonly namespace?: string; readonly name: string }
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

const blocks = blocksOf(['docs/reference/kubernetes.md']).filter(({ language }) => language === 'yaml')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const USER = 'carol'

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
      await stage.filled(5)
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

  describe('by the manifests in docs/reference/kubernetes.md', () => {
    test('are found', () => expect(blocks.length).toBe(3))

    test.each(blocks.map(({ place, text }, at) => [place, text, at] as const))(
      '%s has the rights that its rules name, and no others',
      async (_place, text, at) => {
        const { kind = 'ClusterRole', metadata, rules } = loadYaml<Manifest>(text)
        const name = metadata?.name ?? `guide-${at}`
        const namespace = metadata?.namespace ?? 'default'
        const { admin } = own.kubernetes
        if (namespace !== 'default') await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
        const folder = kind === 'Role' ? `${RBAC}/namespaces/${namespace}/roles` : `${RBAC}/clusterroles`
        await admin.create(`${folder}?fieldValidation=Strict`, { metadata: { name }, rules } satisfies KubeDraft)
        await admin.create(`${RBAC}/namespaces/${namespace}/rolebindings`, {
          metadata: { name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
        })
        const isAllowed = async (group: string, path: string, verb: string): Promise<unknown> => {
          const [resource, subresource] = path.split('/')
          const resourceAttributes = { namespace, group, resource, subresource, verb }
          const spec = { user: USER, resourceAttributes }
          const review = await admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })
          return Object(Object(review).status).allowed
        }
        for (const { apiGroups, resources, verbs } of rules) {
          const [[group = ''], [resource = '']] = [apiGroups, resources]
          // The server applies new rules a little later.
          for (const verb of verbs)
            await expect.poll(() => isAllowed(group, resource, verb), { message: verb, timeout: 10_000 }).toBe(true)
          expect(await isAllowed(group, resource, 'deletecollection')).toBe(false)
        }
      },
    )
  })
})
