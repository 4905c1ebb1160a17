import { CoreV1Api, makeInformer as theirs, type V1ConfigMap } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeInformer } from '../../adapters/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes, isAnyList } from './fake.js'
import { useKubernetes } from './support.js'

const until = (what: string, isSo: () => boolean): Promise<void> => waitUntil(what, isSo, 30_000)

describeKubernetes('with a server', (server) => {
  const own = useKubernetes(server)
  let namespaces = 0

  async function stage(make: typeof theirs = makeInformer) {
    const { admin } = own.kubernetes
    const namespace = `shim-${++namespaces}`
    await admin.create('/api/v1/namespaces', { metadata: { name: namespace } })
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const config = own.kubernetes.config()
    const core = config.makeApiClient(CoreV1Api)
    const informer = make<V1ConfigMap>(config, path, () => core.listNamespacedConfigMap({ namespace }))
    onTestFinished(() => informer.stop())
    const delivered: string[] = []
    for (const verb of ['add', 'update', 'delete'] as const)
      informer.on(verb, ({ metadata, data }) => delivered.push(`${verb} ${metadata?.name} ${data?.['n']}`))
    return { admin, namespace, path, informer, delivered }
  }

  const draft = (name: string, n: number) => ({ metadata: { name }, data: { n: String(n) } })

  test.each([
    ['client-node', theirs],
    ['ours', makeInformer as typeof theirs],
  ])('delivers the same events in the same order (%s)', async (_name, make) => {
    const { admin, namespace, path, informer, delivered } = await stage(make)
    await admin.create(path, draft('a', 1))
    let connects = 0
    informer.on('connect', () => connects++)
    await informer.start()
    await admin.create(path, draft('b', 1))
    await admin.patch(`${path}/a`, { data: { n: '2' } })
    await admin.delete(`${path}/b`)
    await until('all events', () => delivered.length >= 4)
    expect(delivered).toEqual(['add a 1', 'add b 1', 'update a 2', 'delete b 1'])
    expect(informer.get('a', namespace)?.data).toEqual({ n: '2' })
    expect(informer.get('b', namespace)).toBeUndefined()
    expect(informer.list().length).toBe(1)
    expect(informer.list('other').length).toBe(0)
    expect(connects).toBeGreaterThan(0)
  })

  test('an informer that is started again delivers the changes since it was stopped, each once', async () => {
    const { admin, path, informer, delivered } = await stage()
    for (const name of ['same', 'changed', 'gone', 'recreated']) await admin.create(path, draft(name, 1))
    await informer.start()
    await informer.stop()
    delivered.length = 0
    await admin.patch(`${path}/changed`, { data: { n: '2' } })
    for (const name of ['gone', 'recreated']) await admin.delete(`${path}/${name}`)
    await admin.create(path, draft('recreated', 2))
    await admin.create(path, draft('new', 1))
    await informer.start()
    expect(delivered.toSorted()).toEqual([
      'add new 1',
      'add recreated 2',
      'delete gone 1',
      'delete recreated 1',
      'update changed 2',
    ])
  })

  test('a callback that throws affects no other callback, and is reported as an error', async () => {
    const { admin, path, informer, delivered } = await stage()
    const errors: unknown[] = []
    informer.on('error', (error) => errors.push(error))
    informer.on('add', () => {
      throw new Error('mine')
    })
    await admin.create(path, draft('a', 1))
    await informer.start()
    expect([delivered, errors]).toEqual([['add a 1'], [new Error('mine')]])
  })

  test('a callback that was removed is not called', async () => {
    const { admin, path, informer } = await stage()
    const heard: string[] = []
    const hear = ({ metadata }: V1ConfigMap): unknown => heard.push(metadata?.name ?? '')
    informer.on('change', hear)
    await admin.create(path, draft('a', 1))
    await informer.start()
    informer.off('change', hear)
    const isThere = new Promise<void>((resolve) => informer.on('add', () => resolve()))
    await admin.create(path, draft('b', 1))
    await isThere
    expect(heard).toEqual(['a'])
  })
})

test('[D8] a listFn that selects less than the path causes one warning; the whole path is mirrored', async () => {
  await using fake = await FakeKubernetes.start()
  fake.collection.fill(3)
  const warnings: string[] = []
  const hear = ({ message }: Error): unknown => warnings.push(message)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const config = fake.config()
  const core = config.makeApiClient(CoreV1Api)
  const informer = makeInformer<V1ConfigMap>(config, '/api/v1/namespaces/default/configmaps', async () => {
    const list = await core.listNamespacedConfigMap({ namespace: 'default' })
    return { ...list, items: list.items.slice(0, 1) }
  })
  await informer.start()
  await until('the warning', () => warnings.some((message) => message.startsWith('makeInformer')))
  await informer.stop()
  await informer.start()
  await informer.stop()
  expect(informer.list()).toHaveLength(3)
  expect(warnings.filter((message) => message.startsWith('makeInformer'))).toEqual([
    expect.stringContaining('listFn leaves out 2 of the 3 objects at /api/v1/namespaces/default/configmaps'),
  ])
})

describe('a listFn that fails', () => {
  test.each([
    ['throws', () => thrown()],
    ['rejects', async () => thrown()],
  ])('because it %s is reported once as an error, and the path is mirrored', async (_how, listFn) => {
    await using fake = await FakeKubernetes.start()
    fake.collection.fill(3)
    const informer = makeInformer<V1ConfigMap>(fake.config(), '/api/v1/namespaces/default/configmaps', listFn)
    onTestFinished(() => informer.stop())
    const errors: unknown[] = []
    informer.on('error', (error) => errors.push(error))
    await informer.start()
    await until('the error', () => errors.length > 0)
    await informer.stop()
    await informer.start()
    expect([informer.list().length, errors]).toEqual([3, [new Error('mine')]])
  })

  function thrown(): never {
    throw new Error('mine')
  }
})

test('a start during a start waits for the same first list', async () => {
  await using fake = await FakeKubernetes.start()
  fake.collection.fill(3)
  const core = fake.config().makeApiClient(CoreV1Api)
  const informer = makeInformer<V1ConfigMap>(fake.config(), '/api/v1/namespaces/default/configmaps', () =>
    core.listNamespacedConfigMap({ namespace: 'default' }),
  )
  const list = fake.taken(isAnyList)
  const first = informer.start()
  const second = informer.start().then(() => informer.list().length)
  fake.collection.answer(await list)
  expect(await second).toBe(3)
  await first
  await informer.stop()
})
