import { expect, test } from 'vitest'
import { describeKubernetes } from './index.js'
import { KubeRefusal } from './kube-client.js'
import { startKubernetes } from './kubernetes.js'
import { TokenReviewer } from './token-reviewer.js'

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'

const statusOf = (work: Promise<unknown>): Promise<number | undefined> =>
  work.then(
    () => 200,
    (error: unknown) => (error instanceof KubeRefusal ? error.status : undefined),
  )

describeKubernetes('a Kubernetes for tests', (server) => {
  test('has after a crash what it had before, at the same port under the same certificate', async () => {
    await using kubernetes = await startKubernetes({ server })
    await kubernetes.admin.create(CONFIGMAPS, { metadata: { name: 'kept' }, data: { n: '1' } })
    await kubernetes.api.kill()
    await kubernetes.api.start()
    expect(await kubernetes.admin.read(`${CONFIGMAPS}/kept`)).toMatchObject({ data: { n: '1' } })
  })

  test('has after a restore what it had at the backup', async () => {
    await using kubernetes = await startKubernetes({ server })
    const backup = await kubernetes.etcd.backup()
    await kubernetes.admin.create(CONFIGMAPS, { metadata: { name: 'later' } })
    await kubernetes.restore(backup)
    expect((await kubernetes.admin.list(CONFIGMAPS)).items.map(({ metadata }) => metadata.name)).not.toContain('later')
  })

  test('lets users do what they are granted, and no longer than that', async () => {
    await using kubernetes = await startKubernetes({ server })
    const alice = kubernetes.client({ user: 'alice' })
    const before = await statusOf(alice.list(CONFIGMAPS))
    await kubernetes.grant('alice', 'readers', ['list'], ['configmaps'])
    await expect.poll(() => statusOf(alice.list(CONFIGMAPS)), { timeout: 20_000 }).toBe(200)
    await kubernetes.revoke('readers')
    await expect.poll(() => statusOf(alice.list(CONFIGMAPS)), { timeout: 20_000 }).toBe(403)
    expect(before).toBe(403)
  })

  test('takes no token any longer that its reviewer has forgotten', async () => {
    await using reviewer = await TokenReviewer.start()
    await using kubernetes = await startKubernetes({ server, tokenReviewUrl: reviewer.url })
    reviewer.users.set('first', 'admin')
    const client = kubernetes.client({ token: 'first' })
    const before = await statusOf(client.list(CONFIGMAPS))
    reviewer.users.delete('first')
    await expect.poll(() => statusOf(client.list(CONFIGMAPS)), { timeout: 20_000 }).toBe(401)
    expect(before).toBe(403) // Known, and without rights.
  })

  test('answers 410 for a version that was compacted, if it has no watch cache', async () => {
    await using kubernetes = await startKubernetes({ server, watchCache: false })
    const { version } = await kubernetes.admin.list(CONFIGMAPS)
    // The newest revision is never compacted, and a watch begins with the one after its version.
    for (const name of ['one', 'two']) await kubernetes.admin.create(CONFIGMAPS, { metadata: { name } })
    await kubernetes.compact()
    const said = await kubernetes.admin.call('GET', `${CONFIGMAPS}?watch=true&resourceVersion=${version}`)
    expect(said).toMatchObject({ type: 'ERROR', object: { code: 410 } })
  })
})
