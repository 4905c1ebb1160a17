import { KubeConfig } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { kubernetesLeases } from '../../adapters/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import { expectReleasedMembers } from '../support/released-members.js'
import { useKubernetes } from './support.js'

const JOIN = { member: 'member000001', renewal: 0, members: [], holds: [] }
const { signal } = new AbortController()

describeKubernetes('leases in Kubernetes', (server) => {
  const own = useKubernetes(server)

  function leasesOf(group: string, user: 'admin' | 'alice' = 'admin') {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromOptions(own.kubernetes.kubeConfig({ user }))
    return kubernetesLeases({ kubeConfig, namespace: 'default', group })
  }

  function sessionOf(group: string, user: 'admin' | 'alice' = 'admin') {
    return leasesOf(group, user).open()
  }

  test('a watch names a member that claims no key any more', () => expectReleasedMembers(leasesOf('released')))

  test('a missing right is UNAUTHORIZED, and the error names all verbs', async () => {
    const session = sessionOf('rights', 'alice')
    await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(
        'resources: ["leases"], verbs: ["create", "get", "list", "watch", "update", "delete"]; kubectl create role leases-editor',
      ),
    })
    const verbs = ['create', 'get', 'list', 'watch', 'update', 'delete']
    await own.kubernetes.grant('alice', 'alice-leases', verbs, ['leases'])
    await expect.poll(() => session.renew(JOIN, [], signal).catch(() => undefined), { timeout: 20_000 }).toBeDefined()
    await session.close()
  })

  test('an object of others with the label of the group is PROTOCOL, and the error names its member', async () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
    const metadata = { name: 'foreign', labels: { 'listwatch/group': 'foreign' } }
    await own.kubernetes.admin.create(path, { metadata, spec: { holderIdentity: 'someone' } })
    const session = sessionOf('foreign')
    await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject({
      code: 'PROTOCOL',
      message: expect.stringContaining('the record of member someone of kubernetes leases "foreign" is not readable'),
    })
    await session.close()
  })

  test('a repeated request whose reply was lost takes the object that it has written', async () => {
    const [first, second] = [sessionOf('again'), sessionOf('again')]
    await first.renew(JOIN, [], signal)
    // The second session stands for the first one, which does not know what it has written.
    await second.renew({ ...JOIN, renewal: 3 }, [], signal)
    expect((await first.renew({ ...JOIN, renewal: 4 }, [], signal)).records).toMatchObject([{ renewal: 4 }])
    await expect(second.renew({ ...JOIN, renewal: 4 }, [], signal)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await first.close()
    await second.close()
  })
})
