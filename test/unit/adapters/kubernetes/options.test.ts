import { KubeConfig, type V1Pod } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { type KubernetesSourceOptions, kubernetesSource, makeInformer } from '../../../../adapters/kubernetes/index.js'
import { createInformer, OptionError } from '../../../../src/index.js'

const kubeConfig = new KubeConfig()
kubeConfig.loadFromOptions({
  clusters: [{ name: 'c', server: 'https://127.0.0.1:1' }],
  users: [{ name: 'u' }],
  contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
  currentContext: 'x',
})

/** What a program in JavaScript can say, whatever the types are. */
function sourceOf(options: object): unknown {
  return kubernetesSource({ kubeConfig, kind: 'Pod', ...options } as KubernetesSourceOptions)
}

const numbers = ['pageSize', 'maxObjectBytes', 'maxWatchMs', 'heartbeatMs', 'timeoutMs']

describe('the options of a source', () => {
  const wrong: readonly (readonly [option: string, values: readonly unknown[]])[] = [
    ...numbers.map((name) => [name, [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, '5', null, {}]] as const),
    ['maxWatchMs', [2_000, 59_999]],
    [
      'kubeConfig',
      [
        null,
        {},
        'https://host',
        new URL('https://host'),
        { applyToHTTPSOptions: () => {}, getCurrentCluster: () => {} },
      ],
    ],
    ['apiVersion', ['', 'apps', 'apps/', 'apps/v1/x', '../v1', './v1', '.apps/v1', 'a..b/v1', 7]],
    ['kind', ['', 'a/b', 7]],
    ['namespace', ['', 'Default', 'a/b', 'a.b', '-a', 'a'.repeat(64), 7]],
    ['namespaces', ['a', ['Default'], [7], ['a', 'b', 'a'], {}]],
    ['labelSelector', ['', 7]],
    ['fieldSelector', ['', 7]],
    [
      'shard',
      [
        1,
        '0/3',
        {},
        { index: 3, count: 3 },
        { index: -1, count: 3 },
        { index: 0.5, count: 3 },
        { index: 0 },
        { index: 0, count: 2, of: 1 },
      ],
    ],
    ['metadataOnly', ['yes']],
    ['stripManagedFields', ['no']],
    ['streamingLists', [1]],
    ['limit', [5]],
  ]

  test.each(wrong.flatMap(([option, values]) => values.map((value) => [option, value] as const)))(
    '%s: %j is a TypeError at the call that names it',
    (option, value) => {
      const call = (): unknown => sourceOf({ [option]: value })
      expect(call).toThrow(TypeError)
      expect(call).toThrow(option)
    },
  )

  test('a missing kubeConfig is a TypeError that says how to have one', () => {
    expect(() => sourceOf({ kubeConfig: undefined })).toThrow('kubeConfig.loadFromDefault()')
  })

  test.each([
    ['neither', {}],
    ['both', { kind: 'Pod', plural: 'pods' }],
  ])('%s of kind and plural is a TypeError', (_what, names) => {
    const call = (): unknown => sourceOf({ kind: undefined, ...names })
    expect(call).toThrow('give either "kind" (Pod) or "plural" (pods)')
  })

  test.each([
    ['undefined', undefined],
    ['a path', '/etc/kube/config'],
    ['a plain object', { clusters: [] }],
    ['null', null],
  ])('[K3] a kubeConfig that is %s is an OptionError at the call', (_what, wrong) => {
    expect(() => sourceOf({ kubeConfig: wrong as never })).toThrow(OptionError)
    expect(() => makeInformer(wrong as never, '/api/v1/pods', () => Promise.resolve({ items: [] }))).toThrow(
      OptionError,
    )
  })

  test('[K3] a kubeConfig that turns out to be wrong at the first use ends synced with the OptionError, not with retries', async () => {
    const informer = createInformer({
      source: kubernetesSource({ kubeConfig: () => undefined as never, kind: 'Pod' }),
      audit: false,
    })
    informer.on('error', () => {})
    await expect(informer.start().synced({ timeoutMs: 10_000 })).rejects.toMatchObject({ option: 'kubeConfig' })
    await informer.stop()
  })

  test('a namespace beside namespaces is a TypeError', () => {
    expect(() => sourceOf({ namespace: 'a', namespaces: ['b'] })).toThrow('give either "namespace" or "namespaces"')
  })

  test.each([
    [{ kind: 'Pod' }, 'kubernetes:Pod'],
    [{ kind: undefined, plural: 'pods', namespace: 'default' }, 'kubernetes:default/pods'],
    [{ kind: 'Deployment', apiVersion: 'apps/v1', namespace: 'shop' }, 'kubernetes:shop/Deployment.apps'],
  ])('%j is called %s', (options, name) => expect(sourceOf(options)).toMatchObject({ name }))
})

test('several namespaces are one source each, and may come and go', () => {
  const sources = kubernetesSource<V1Pod>({ kubeConfig, kind: 'Pod', namespaces: ['a', 'b'] })
  sources.addNamespace('c')
  sources.removeNamespace('a')
  expect([...sources.sources].map(([name, source]) => [name, source.name])).toEqual([
    ['b', 'kubernetes:b/Pod'],
    ['c', 'kubernetes:c/Pod'],
  ])
})

test('several namespaces that cannot be, or are there already, are a TypeError', () => {
  const sources = kubernetesSource({ kubeConfig, kind: 'Pod', namespaces: ['a'] })
  expect(() => sources.addNamespace('Default')).toThrow('must be the name of a namespace')
  expect(() => sources.addNamespace('a')).toThrow('there is a source "a" already')
  expect(() => sources.removeNamespace('b')).toThrow('there is no source "b"')
})

describe('versions', () => {
  const source = kubernetesSource({ kubeConfig, kind: 'Pod' })

  test.each([
    ['10', '9', true],
    ['9', '10', false],
    ['10', '10', true],
    ['18446744073709551615', '18446744073709551614', true],
    ['9007199254740993', '9007199254740994', false],
  ])('%s includes %s: %s', (at, mark, includes) => expect(source.hasReached(at, mark)).toBe(includes))

  test.each(['', '0', '-1', '007', '1e3', 'abc', '1.5', '9'.repeat(40)])('%j is not a version', (mark) => {
    expect(() => source.hasReached('5', mark)).toThrow('is not a resourceVersion')
  })
})

describe('makeInformer', () => {
  const listFn = (): Promise<never> => Promise.reject(new Error('it is not called'))

  test.each(['', '/', 'api/v1/pods', '/api/v1', '/version', '/api/v1/namespaces/a/pods/b'])(
    'refuses the path %j at the call',
    (path) => {
      expect(() => makeInformer(kubeConfig, path, listFn)).toThrow('path must be as /api/v1/namespaces/default/pods')
    },
  )

  test('refuses an unknown verb, and names those that there are', () => {
    const informer = makeInformer(kubeConfig, '/api/v1/pods', listFn)
    expect(() => informer.on('added' as 'add', () => {})).toThrow('use change, add, update, delete, error, connect')
  })
})
