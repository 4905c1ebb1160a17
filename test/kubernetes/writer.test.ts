import type { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ApplyConflictError,
  type FinalizerOptions,
  type KubernetesObject,
  kubernetesLeases,
  kubernetesSource,
  kubernetesWriter,
} from '../../adapters/kubernetes/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { describeKubernetes } from '../servers/index.js'
import { succeeds, waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { expectReleasedMembers } from '../support/released-members.js'
import { useKubernetes } from './support.js'
import { createWidgets } from './widgets.js'

interface Widget extends KubernetesObject {
  readonly spec: { readonly n: number }
  readonly status?: { readonly ready: number; readonly note?: string }
}

interface EventObject {
  readonly reason: string
  readonly note: string
  readonly series?: { readonly count: number }
  readonly regarding: { readonly name: string; readonly uid: string }
}

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps'
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'
const FINALIZER = 'example.com/widgets'

describeKubernetes('kubernetesWriter', (server) => {
  const own = useKubernetes(server)

  const configOf = (user: 'admin' | 'alice' = 'admin'): KubeConfig => own.kubernetes.config({ user })
  const writerOf = (fieldManager = 'operator', user: 'admin' | 'alice' = 'admin') =>
    kubernetesWriter({ kubeConfig: configOf(user), fieldManager })
  const configMap = (name: string, data: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    data,
  })
  const widget = (name: string, n: number) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default' },
    spec: { n },
  })
  const contextOf = (object: Widget) => ({
    object,
    lastObject: undefined,
    gone: undefined,
    reason: 'changed' as const,
    attempt: 1,
    signal: new AbortController().signal,
    fence: undefined,
    requeueAfter: () => {},
  })
  let isServed = false
  async function serveWidgets(): Promise<void> {
    if (!isServed) await createWidgets(own.kubernetes, { status: {} })
    isServed = true
  }
  const read = async (name: string): Promise<Widget> =>
    (await own.kubernetes.admin.read(`${WIDGETS}/${name}`)) as unknown as Widget
  const isGone = async (name: string): Promise<boolean> => !(await succeeds(read(name)))

  function reconcile(functions: FinalizerOptions<Widget>, name: string): Informer<Widget> {
    const widgets = createInformer({
      source: kubernetesSource<Widget>({
        kubeConfig: configOf(),
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        namespace: 'default',
        fieldSelector: `metadata.name=${name}`,
      }),
    })
    widgets.on('error', () => {})
    widgets.reconcile(writerOf().finalizer(FINALIZER, functions), { retry: { minMs: 20, maxMs: 40 } })
    widgets.start()
    onTestFinished(() => widgets.stop())
    return widgets
  }

  test('[K13] apply creates an object, changes it, and removes what it does not have any more', async () => {
    const writer = writerOf()
    const created = await writer.apply(configMap('applied', { a: '1', b: '2' }))
    expect(created.metadata.uid).toMatch(/-/)
    const changed = await writer.apply(configMap('applied', { a: '3' }))
    expect(changed.data).toEqual({ a: '3' })
    const again = await writer.apply(configMap('applied', { a: '3' }))
    expect(again.metadata.resourceVersion).toBe(changed.metadata.resourceVersion)
  })

  test('[K13] a conflict has the managers and their fields, and force takes them', async () => {
    await writerOf('first').apply(configMap('contested', { a: '1', b: '1' }))
    const conflict = writerOf('second').apply(configMap('contested', { a: '2', b: '1' }))
    await expect(conflict).rejects.toBeInstanceOf(ApplyConflictError)
    await expect(conflict).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      conflicts: [{ manager: 'first', field: '.data.a' }],
      message: 'apply of ConfigMap contested: "first" owns .data.a with another value; force: true takes the fields',
    })
    const forced = await writerOf('second').apply(configMap('contested', { a: '2' }), { force: true })
    expect(forced.data['a']).toBe('2')
  })

  test('an apply for another object under the name is refused', async () => {
    const writer = writerOf()
    const { metadata } = await writer.apply(configMap('precise', { a: '1' }))
    const other = { ...configMap('precise', { a: '2' }), metadata: { name: 'precise', namespace: 'default', uid: 'x' } }
    await expect(writer.apply(other)).rejects.toMatchObject({ code: 'PROTOCOL' })
    const late = {
      ...configMap('precise', { a: '2' }),
      metadata: { name: 'precise', namespace: 'default', resourceVersion: '1' },
    }
    await expect(writer.apply(late)).rejects.toMatchObject({ name: 'SourceError', code: 'UNAVAILABLE' })
    const found = await own.kubernetes.admin.read(`${CONFIGMAPS}/precise`)
    expect(found.metadata.resourceVersion).toBe(metadata.resourceVersion)
    await own.kubernetes.admin.delete(`${CONFIGMAPS}/precise`)
    const { uid } = metadata
    const deleted = { ...configMap('precise', {}), metadata: { name: 'precise', namespace: 'default', uid } }
    await expect(writer.apply(deleted)).rejects.toMatchObject({ name: 'SourceError' })
    await expect(own.kubernetes.admin.read(`${CONFIGMAPS}/precise`)).rejects.toThrow('404')
  })

  test('[K13] a conflict of a thousand fields names them all, and an object above the limit of the server is not retried', async () => {
    const dataOf = (value: string) =>
      Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`field-with-a-long-name-${n}`, value]))
    await writerOf('first').apply(configMap('wide', dataOf('1')))
    const conflict = await writerOf('second')
      .apply(configMap('wide', dataOf('2')))
      .catch((error: unknown) => error)
    expect(conflict).toBeInstanceOf(ApplyConflictError)
    expect((conflict as ApplyConflictError).conflicts).toHaveLength(1_500)
    const large = writerOf().apply(configMap('large', { a: 'x'.repeat(4_000_000) }))
    await expect(large).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  test('a write that a namespace in deletion forbids names no missing role', async () => {
    const { admin } = own.kubernetes
    await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ended' } })
    await admin.delete('/api/v1/namespaces/ended')
    const late = { ...configMap('late', {}), metadata: { name: 'late', namespace: 'ended' } }
    const error = await writerOf()
      .apply(late)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject(failure('UNAUTHORIZED', 'being terminated'))
    expect(error).not.toMatchObject({ message: expect.stringContaining('RBAC') })
  })

  test('a missing right names the rule, an unknown kind its neighbour, an invalid object the field', async () => {
    await expect(writerOf('operator', 'alice').apply(configMap('forbidden', {}))).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(
        'resources: ["configmaps"], verbs: ["create", "patch"]; kubectl create role configmaps-editor',
      ),
    })
    await expect(writerOf().apply({ ...configMap('x', {}), kind: 'ConfigMaps' })).rejects.toMatchObject(
      failure('NOT_FOUND', 'did you mean ConfigMap?'),
    )
    await expect(writerOf().apply(configMap('Not_A_Name', {}))).rejects.toMatchObject({ code: 'PROTOCOL' })
    const elsewhere = { ...configMap('x', {}), metadata: { name: 'x', namespace: 'no name?' } }
    await expect(writerOf().apply(elsewhere)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('an aborted signal ends the wait for the server', async () => {
    const abort = new AbortController()
    const applied = writerOf().apply(configMap('aborted', {}), { signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(applied).rejects.toThrow('enough')
  })

  test('[K13] applyStatus writes the status, and sends nothing if the object has it already', async () => {
    await serveWidgets()
    const writer = writerOf()
    await writer.apply(widget('status', 1))
    const before = await read('status')
    const written = await writer.applyStatus(before, { ready: 1, note: 'up' })
    expect(written.status).toEqual({ ready: 1, note: 'up' })
    expect(await read('status')).toMatchObject({ status: { ready: 1, note: 'up' }, spec: { n: 1 } })
    expect(await writer.applyStatus(written, { note: 'up', ready: 1 })).toBe(written)
    // An older mirror sends a request, which changes nothing.
    const repeated = await writer.applyStatus(before, { ready: 1, note: 'up' })
    expect(repeated.metadata.resourceVersion).toBe(written.metadata.resourceVersion)
    expect((await writer.applyStatus(written, { ready: 2 })).status).toEqual({ ready: 2 })
  })

  test('applyStatus creates no object', async () => {
    await serveWidgets()
    const { apiVersion, kind, metadata } = { ...widget('missing', 1) }
    const status = writerOf().applyStatus({ apiVersion, kind, metadata }, { ready: 1 })
    await expect(status).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('[K12] a finalizer is added before the first run, and a deleted object stays until its cleanup succeeds', async () => {
    await serveWidgets()
    const seen: unknown[] = []
    const cleanup = vi.fn(async () => {})
    cleanup.mockRejectedValueOnce(new Error('not yet'))
    const run = async (_key: string, { object }: { readonly object: Widget }): Promise<void> => {
      seen.push((await read(object.metadata.name)).metadata.finalizers)
    }
    reconcile({ reconcile: run, cleanup }, 'kept')
    await writerOf('user').apply({
      ...widget('kept', 1),
      metadata: { name: 'kept', namespace: 'default', finalizers: ['example.com/other'] },
    })
    await waitUntil('the first run', () => seen.length > 0)
    expect(seen[0]).toEqual(['example.com/other', FINALIZER])
    expect(cleanup).not.toHaveBeenCalled()
    await own.kubernetes.admin.delete(`${WIDGETS}/kept`)
    await waitUntil('the cleanup', async () => (await read('kept')).metadata.finalizers?.length === 1)
    expect(cleanup).toHaveBeenCalledTimes(2)
    expect((await read('kept')).metadata.finalizers).toEqual(['example.com/other'])
    const patch = { metadata: { finalizers: null } }
    await own.kubernetes.admin.patch(`${WIDGETS}/kept`, patch)
    await waitUntil('the deletion', () => isGone('kept'))
  })

  test('[K12] a finalizer is added and removed although the mirror is behind other clients', async () => {
    await serveWidgets()
    const writer = writerOf()
    const { admin } = own.kubernetes
    await writer.apply(widget('raced', 1))
    const cleanup = vi.fn(async () => {})
    const run = writer.finalizer<Widget>(FINALIZER, { reconcile: async () => {}, cleanup })
    const old = await read('raced')
    // Another client is first: the mirrored version and the mirrored list are old.
    await admin.patch(`${WIDGETS}/raced`, { metadata: { finalizers: ['example.com/a', 'example.com/b'] } })
    const listed = await read('raced')
    await run('default/raced', contextOf(old))
    const finalized = await read('raced')
    expect(finalized.metadata.finalizers).toEqual(['example.com/a', 'example.com/b', FINALIZER])
    for (const each of [old, listed]) await run('default/raced', contextOf(each)) // It has the finalizer by now.
    expect((await read('raced')).metadata.resourceVersion).toBe(finalized.metadata.resourceVersion)
    await admin.patch(`${WIDGETS}/raced`, { metadata: { finalizers: ['example.com/a', FINALIZER, 'example.com/b'] } })
    await admin.delete(`${WIDGETS}/raced`)
    const deleted = await read('raced')
    await admin.patch(`${WIDGETS}/raced`, { metadata: { finalizers: [FINALIZER, 'example.com/b'] } })
    await run('default/raced', contextOf(deleted))
    expect((await read('raced')).metadata.finalizers).toEqual(['example.com/b'])
    await admin.patch(`${WIDGETS}/raced`, { metadata: { finalizers: null } })
    await waitUntil('the deletion', () => isGone('raced'))
    await run('default/raced', contextOf(deleted)) // The object is gone.
    await writer.apply({
      ...widget('raced', 2),
      metadata: { name: 'raced', namespace: 'default', finalizers: [FINALIZER] },
    })
    await run('default/raced', contextOf(deleted)) // Another object has the name.
    expect((await read('raced')).metadata.finalizers).toEqual([FINALIZER])
    await run('default/raced', contextOf(old))
    expect(cleanup).toHaveBeenCalledTimes(3)
  })

  test('the finalizers of an object of which a transform has dropped the finalizers are kept, and the run fails', async () => {
    await serveWidgets()
    const writer = writerOf()
    const finalizers = ['example.com/other']
    await writer.apply({ ...widget('dropped', 1), metadata: { name: 'dropped', namespace: 'default', finalizers } })
    const { metadata, ...rest } = await read('dropped')
    const { finalizers: _, ...others } = metadata
    const run = writer.finalizer<Widget>(FINALIZER, { reconcile: async () => {}, cleanup: async () => {} })
    await expect(run('default/dropped', contextOf({ ...rest, metadata: others }))).rejects.toThrow(
      new TypeError('finalizer: the object lacks its metadata.finalizers'),
    )
    expect((await read('dropped')).metadata.finalizers).toEqual(finalizers)
    await own.kubernetes.admin.patch(`${WIDGETS}/dropped`, { metadata: { finalizers: null } })
  })

  test('an event is created, and its repetitions become a series', async () => {
    const writer = writerOf()
    const object = await writer.apply(configMap('eventful', {}))
    const errors: unknown[] = []
    const recorder = writer.eventRecorder({
      controller: 'example.com/operator',
      instance: 'one',
      onError: (error) => errors.push(error),
    })
    for (const note of ['first', 'second', 'third']) recorder.event(object, { type: 'Warning', reason: 'TooBig', note })
    recorder.event(object, { reason: 'Created', action: 'CreatePod', related: object, note: 'x'.repeat(2_000) })
    await recorder.flush()
    expect(errors).toEqual([])
    const { items } = await own.kubernetes.admin.list('/apis/events.k8s.io/v1/namespaces/default/events')
    const events = (items as unknown as EventObject[]).filter(({ regarding }) => regarding?.name === 'eventful')
    const counts = new Map(events.map(({ reason, note, series }) => [`${reason} ${note.slice(0, 6)}`, series?.count]))
    expect(counts).toEqual(new Map(Object.entries({ 'Created xxxxxx': undefined, 'TooBig first': 3 })))
    expect(events.map(({ regarding }) => regarding.uid)).toEqual([object.metadata.uid, object.metadata.uid])
    expect(events.find(({ reason }) => reason === 'Created')?.note).toHaveLength(1_024)
  })

  test('an event that cannot be written is counted, and one that expired is created again', async () => {
    const object = await writerOf().apply(configMap('expiring', {}))
    const onError = vi.fn()
    const forbidden = writerOf('operator', 'alice').eventRecorder({ controller: 'example.com/operator', onError })
    forbidden.event(object, { reason: 'Forbidden' })
    forbidden.event({}, { reason: 'Nothing' })
    await forbidden.flush()
    expect(forbidden.dropped).toBe(2)
    expect(new Set(onError.mock.calls.map(([{ code }]) => code))).toEqual(new Set(['PROTOCOL', 'UNAUTHORIZED']))

    const recorder = writerOf().eventRecorder({ controller: 'example.com/operator' })
    recorder.event(object, { reason: 'Expires' })
    await recorder.flush()
    const events = '/apis/events.k8s.io/v1/namespaces/default/events'
    const find = async () => (await own.kubernetes.admin.list(events)).items.find(({ reason }) => reason === 'Expires')
    await own.kubernetes.admin.delete(`${events}/${(await find())?.metadata.name}`)
    recorder.event(object, { reason: 'Expires' })
    await recorder.flush()
    expect(await find()).toMatchObject({ series: { count: 2 } })
    expect(recorder.dropped).toBe(0)
  })

  test('the rights that docs/reference/kubernetes.md names are enough', async () => {
    await serveWidgets()
    await writerOf().apply(widget('governed', 1))
    const writer = writerOf('operator', 'alice')
    const run = writer.finalizer<Widget>(FINALIZER, { reconcile: async () => {}, cleanup: async () => {} })
    const object = await read('governed')
    // The mirrored version is old, so that the object is read too.
    const old = { ...object, metadata: { ...object.metadata, resourceVersion: '1' } }
    const recorder = writer.eventRecorder({ controller: 'example.com/operator' })
    const record = async (): Promise<void> => {
      const { dropped } = recorder
      recorder.event(object, { reason: 'Governed' })
      recorder.event(object, { reason: 'Governed' })
      await recorder.flush()
      if (recorder.dropped > dropped) throw new Error('dropped')
    }
    const calls: readonly (readonly [what: string, verbs: string[], work: () => Promise<unknown>])[] = [
      ['widgets', ['get', 'patch'], () => run('default/governed', contextOf(old))],
      ['widgets/status', ['patch'], () => writer.applyStatus(object, { ready: 1 })],
      ['configmaps', ['create', 'patch'], () => writer.apply(configMap(`governed-${Math.random()}`, {}))],
      ['events', ['create', 'patch'], record],
    ]
    for (const [resource, verbs, work] of calls) {
      const name = `alice-${resource.replace('/', '-')}`
      await expect(work(), resource).rejects.toThrow()
      await own.kubernetes.grant('alice', name, verbs, [resource])
      await expect.poll(() => succeeds(work()), { timeout: 20_000, message: resource }).toBe(true)
    }
    expect((await read('governed')).metadata.finalizers).toEqual([FINALIZER])
  })

  describe('leases', () => {
    const JOIN = { member: 'member000001', renewal: 0, members: [], holds: [] }
    const { signal } = new AbortController()

    const leasesOf = (group: string, user?: 'alice') =>
      kubernetesLeases({ kubeConfig: configOf(user), namespace: 'default', group })
    const sessionOf = (group: string, user?: 'alice') => leasesOf(group, user).open()

    test('a watch names a member that claims no key any more', () => expectReleasedMembers(leasesOf('released')))

    test('a missing right is UNAUTHORIZED, the error names all verbs, and without that to list nothing is written', async () => {
      const session = sessionOf('rights', 'alice')
      await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining(
          'resources: ["leases"], verbs: ["create", "get", "list", "watch", "update", "delete"]; kubectl create role leases-editor',
        ),
      })
      const verbs = ['create', 'get', 'watch', 'update', 'delete']
      await own.kubernetes.grant('alice', 'alice-leases', verbs, ['leases'])
      await expect.poll(() => succeeds(session.leave('another')), { timeout: 20_000 }).toBe(true)
      await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
      await own.kubernetes.grant('alice', 'alice-leases', ['list', ...verbs], ['leases'])
      await expect.poll(() => session.renew(JOIN, [], signal).catch(() => undefined), { timeout: 20_000 }).toBeDefined()
      await session.close()
    })

    test('an object of others with the label of the group is PROTOCOL, and the error names its member', async () => {
      const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
      const metadata = { name: 'foreign', labels: { 'listwatch/group': 'foreign' } }
      await own.kubernetes.admin.create(path, { metadata, spec: { holderIdentity: 'someone' } })
      const session = sessionOf('foreign')
      await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject(
        failure('PROTOCOL', 'the record of member someone of kubernetes leases "foreign" is not readable'),
      )
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
})
