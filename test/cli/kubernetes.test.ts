import { describe, expect, test } from 'vitest'
import { resolveResource } from '../../cli/sources/resolve-resource.js'
import { FakeKubernetes } from '../kubernetes/fake.js'
import { useKubernetes } from '../kubernetes/support.js'
import { describeKubernetes } from '../servers/index.js'
import {
  example,
  expectEnd,
  expectStates,
  kubeConfigEnv,
  listwatch,
  type Refusals,
  refusalOf,
  temporaryFolder,
  testRefusals,
} from './support.js'

describe('without a cluster', () => {
  const refused: Refusals = [
    ['watch kubernetes://default', 'it should look like kubernetes://default/pods'],
    ['watch kubernetes://namespaces', 'kubernetes://*/nodes for a resource without namespaces'],
    ['watch kubernetes://Default/pods', '"Default" is not a valid namespace'],
    [
      'watch kubernetes://default/pods --table t',
      '--table is an option of Postgres, SQLite and MySQL; Kubernetes has --selector, --field-selector',
    ],
    ['watch etcd://localhost --prefix / -l a=b', '--selector is an option of Kubernetes; etcd has --prefix, --codec'],
  ]
  testRefusals(refused)

  test('no kubeconfig: one line that names the searched locations', async () => {
    const env = { HOME: temporaryFolder(), KUBECONFIG: undefined }
    const says = await refusalOf(listwatch(['watch', 'kubernetes://default/pods'], { env }))
    expect(says).toBe('no kubeconfig was found; set KUBECONFIG, or put one at ~/.kube/config')
  })

  test('a kubeconfig that is not there: one line that names it', async () => {
    const env = { KUBECONFIG: '/no/such/file' }
    expect(await refusalOf(listwatch(['watch', 'kubernetes://default/pods'], { env }))).toContain('/no/such/file')
  })
})

describe('the resource that is meant', () => {
  /** Resolves a name on a server with these groups, each of one version. A number instead of names is the group's status code. */
  async function chosen(name: string, groups: Readonly<Record<string, readonly string[] | number>>) {
    await using fake = await FakeKubernetes.start()
    const all = Object.entries(groups)
    const kinds: Readonly<Record<string, string>> = {
      'deployments/scale': 'Scale',
      reviews: 'Review',
      'reviews.create': 'Review',
    }
    const answers = new Map<string, readonly string[] | number>([['/api/v1', ['configmaps']]])
    for (const [group, answer] of all) answers.set(`/apis/${group}/v1`, answer)
    fake.rule(
      ({ path }) => path === '/apis',
      (exchange) =>
        exchange.json({
          groups: all.map(([group]) => ({ name: group, preferredVersion: { groupVersion: `${group}/v1` } })),
        }),
    )
    fake.rule(
      ({ path }) => answers.has(path),
      (exchange) => {
        const answer = answers.get(exchange.path)
        if (typeof answer === 'number') exchange.refuse({ code: answer, message: 'not for you' })
        else
          exchange.json({
            resources: answer?.map((each) => ({
              name: each,
              kind: kinds[each] ?? each,
              namespaced: true,
              verbs: each.endsWith('.create') ? ['create'] : ['list', 'watch'],
            })),
          })
      },
    )
    return await resolveResource(fake.config(), name, undefined).catch(String)
  }

  test.each([403, 400, 404, 503])('is found after an API that answers with %d', async (code) => {
    const found = await chosen('zeds', { 'away.io': code, 'z.io': ['zeds'] })
    expect(found).toEqual({ apiVersion: 'z.io/v1', plural: 'zeds' })
  })

  test('and is nowhere: the error names what would not say what it has', async () => {
    expect(await chosen('zeds', { 'away.io': 403, 'gone.io': 404, 'slow.io': 503 })).toContain(
      'the server has no resource "zeds" (away.io/v1, slow.io/v1 did not list their resources); see: kubectl api-resources',
    )
  })

  test('by its version is refused as the server refuses it', async () => {
    expect(await chosen('zeds.v1.away.io', { 'away.io': 403 })).toContain('not for you')
  })

  test('does not match a part of another name', async () => {
    const groups = { apps: ['deployments', 'deployments/scale'], 'z.io': ['scale'] }
    expect(await chosen('scale', groups)).toEqual({ apiVersion: 'z.io/v1', plural: 'scale' })
  })

  test('prefers a resource that can be listed and watched', async () => {
    const reviews = { apps: ['reviews.create'], 'z.io': ['reviews'] }
    expect(await chosen('Review', reviews)).toEqual({ apiVersion: 'z.io/v1', plural: 'reviews' })
    expect(await chosen('Review', { apps: reviews.apps })).toEqual({ apiVersion: 'apps/v1', plural: 'reviews.create' })
  })
})

describeKubernetes('watch kubernetes://', useKubernetes, (own) => {
  test('--json prints the existing objects, and then the changes', async () => {
    const { admin } = own.kubernetes
    await admin.create('/api/v1/namespaces', { metadata: { name: 'told' } })
    const maps = '/api/v1/namespaces/told/configmaps'
    await admin.create(maps, { metadata: { name: 'a', labels: { app: 'web' } }, data: { n: '1' } })
    await admin.create(maps, { metadata: { name: 'other' }, data: { n: '1' } })
    const env = kubeConfigEnv(own.kubernetes.kubeConfig())
    const child = listwatch(['watch', 'kubernetes://told/cm', '-l', 'app=web', '--json'], { env })
    const of = (n: string): object => expect.objectContaining({ kind: 'ConfigMap', data: { n } })
    const write = async (): Promise<void> => {
      await admin.patch(`${maps}/a`, { data: { n: '2' } })
      await admin.delete(`${maps}/a`)
    }
    await expectStates(child, write, 'told/a', [of('1'), of('2')])
  })

  test('in a pipe says how many objects there are', async () => {
    const { admin } = own.kubernetes
    await admin.create('/api/v1/namespaces', { metadata: { name: 'counted' } })
    for (const name of ['a', 'b'])
      await admin.create('/api/v1/namespaces/counted/configmaps', { metadata: { name, labels: { app: 'web' } } })
    const env = { ...kubeConfigEnv(own.kubernetes.kubeConfig()), FORCE_COLOR: undefined }
    const child = listwatch(['watch', 'kubernetes://counted/cm', '-l', 'app=web'], { env })
    await child.until(() => child.lines.length > 0, 'a line')
    expect(child.lines[0]).toMatch(/^\S+: 2 objects, 0 changes/)
  })

  testRefusals(
    [
      ['watch kubernetes://default/pds', 'the server has no resource "pds"; see: kubectl api-resources'],
      ['watch kubernetes://defualt/pods', 'there is no namespace "defualt"'],
      ['watch kubernetes://default/pods --context x', '--context: there is no "x"; there are test'],
      ["watch kubernetes://default/pods -l 'a in b'", 'check --selector: app=web'],
      ['watch kubernetes://default/pods -l app==web,(', 'check --selector: app=web'],
      ['watch kubernetes://default/namespaces', 'namespaces are in no namespace: kubernetes://*/namespaces'],
      ['watch kubernetes://default/pods --field-selector a.b=c', '--field-selector'],
    ],
    () => ({ env: kubeConfigEnv(own.kubernetes.kubeConfig()) }),
  )

  test('no rights: one line with the RBAC rule that is missing', async () => {
    const env = kubeConfigEnv(own.kubernetes.kubeConfig({ user: 'alice' }))
    expect(await refusalOf(listwatch(['watch', 'kubernetes://default/configmaps'], { env }))).toContain(
      'the missing RBAC rule: apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]',
    )
  })

  test('examples/namespace-controller.ts keeps a ConfigMap in each namespace, whatever is done to it', async () => {
    const { admin } = own.kubernetes
    const child = example('namespace-controller.ts', [], kubeConfigEnv(own.kubernetes.kubeConfig()))
    const unowned = 'nobody'
    const isDone = (): boolean => child.lines.includes('ready') && child.lines.includes(`default: ${unowned}`)
    await child.until(isDone, 'the first run')
    await admin.create('/api/v1/namespaces', { metadata: { name: 'shop', labels: { owner: 'ada' } } })
    await child.until(() => child.lines.includes('shop: ada'), 'a new namespace')
    await admin.patch('/api/v1/namespaces/shop', { metadata: { labels: { owner: 'ben' } } })
    await child.until(() => child.lines.includes('shop: ben'), 'another owner')
    const about = '/api/v1/namespaces/shop/configmaps/about'
    const times = (): number => child.lines.filter((line) => line === 'shop: ben').length
    // What others have in it is theirs.
    await admin.patch(about, { metadata: { labels: { of: 'others' } }, data: { owner: 'eve', note: 'of others' } })
    await child.until(() => times() === 2, 'the ConfigMap that was changed')
    expect(await admin.read(about)).toMatchObject({
      metadata: { labels: { of: 'others' } },
      data: { owner: 'ben', note: 'of others' },
    })
    await admin.delete(about)
    await child.until(() => times() === 3, 'the ConfigMap that was deleted')
    expect(await admin.read(about)).toMatchObject({ data: { owner: 'ben' } })
    await expectEnd(child, 'SIGINT')
  })
})
