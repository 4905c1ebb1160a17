import { loadYaml } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import type { KubeDraft } from '../servers/kube-client.js'
import { blocksOf } from '../support/documents.js'
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

const blocks = blocksOf(['docs/kubernetes.md']).filter(({ language }) => language === 'yaml')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const USER = 'carol'

describeKubernetes('the manifests in docs/kubernetes.md', (server) => {
  const own = useKubernetes(server)

  test('are found', () => {
    expect(blocks.length).toBe(3)
  })

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
