import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type ErrorCallback,
  type IntOrString,
  KubeConfig,
  type KubernetesListObject,
  NetworkingV1Api,
  type ObjectCache,
  type KubernetesObject as TheirObject,
  type Informer as Theirs,
  makeInformer as theirs,
  type V1CustomResourceDefinition,
  type V1DeviceAttribute,
  type V1JSONSchemaProps,
  type V1Lease,
  type V1LimitRange,
  type V1ListMeta,
  type V1NetworkPolicy,
  type V1NetworkPolicyPeer,
  type V1Pod,
  type V1Secret,
  type V1ServicePort,
} from '@kubernetes/client-node'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type ClientNodeInformer,
  type KubernetesNamespaces,
  type KubernetesObject,
  type KubernetesSource,
  kubernetesSource,
  makeInformer,
  type Wire,
} from '../../adapters/kubernetes/index.js'
import { createInformer, type ListerWatcher } from '../../src/index.js'

const kubeConfig = new KubeConfig()

/** The type at a path, even if every step is optional. */
type In<T, Path extends readonly PropertyKey[]> = Path extends readonly [infer K, ...infer Rest extends PropertyKey[]]
  ? K extends keyof NonNullable<T>
    ? In<NonNullable<T>[K], Rest>
    : never
  : NonNullable<T>

describe('Wire', () => {
  test('has dates as strings, those with microseconds too', () => {
    expectTypeOf<In<Wire<V1Pod>, ['metadata', 'creationTimestamp']>>().toEqualTypeOf<string>()
    expectTypeOf<In<Wire<V1Pod>, ['metadata', 'managedFields', number, 'time']>>().toEqualTypeOf<string>()
    expectTypeOf<In<Wire<V1Pod>, ['status', 'conditions', number, 'lastTransitionTime']>>().toEqualTypeOf<string>()
    expectTypeOf<In<Wire<V1Lease>, ['spec', 'renewTime']>>().toEqualTypeOf<string>()
  })

  test('has the names of the server, and no longer those of client-node', () => {
    type Rule = In<Wire<V1NetworkPolicy>, ['spec', 'ingress', number]>
    expectTypeOf<keyof Rule>().toEqualTypeOf<'from' | 'ports'>()
    expectTypeOf<Rule['from']>().toEqualTypeOf<Wire<V1NetworkPolicyPeer>[] | undefined>()
    type Limits = In<Wire<V1LimitRange>, ['spec', 'limits', number]>
    expectTypeOf<Limits['default']>().toEqualTypeOf<{ [key: string]: string } | undefined>()
    expectTypeOf<Limits>().not.toHaveProperty('_default')
    expectTypeOf<keyof Wire<V1DeviceAttribute> & `${'_' | ''}int`>().toEqualTypeOf<'int'>()
    expectTypeOf<keyof Wire<V1ListMeta> & `${'_' | ''}continue`>().toEqualTypeOf<'continue'>()
  })

  test('of a JSON schema, which contains itself, has every name of the server', () => {
    type Schema = Wire<V1JSONSchemaProps>
    expectTypeOf<Schema['$ref']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Schema['$schema']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Extract<keyof Schema, `_${string}` | `x_${string}` | 'ref' | 'schema'>>().toEqualTypeOf<never>()
    expectTypeOf<Extract<keyof Schema, `x-${string}`>>().toEqualTypeOf<
      | 'x-kubernetes-embedded-resource'
      | 'x-kubernetes-int-or-string'
      | 'x-kubernetes-list-map-keys'
      | 'x-kubernetes-list-type'
      | 'x-kubernetes-map-type'
      | 'x-kubernetes-preserve-unknown-fields'
      | 'x-kubernetes-validations'
    >()
    expectTypeOf<In<Schema, ['properties', string, 'not', 'allOf', number, 'enum']>>().toEqualTypeOf<
      NonNullable<V1JSONSchemaProps['_enum']>
    >()
  })

  test('does not change a field that has the name schema in another type', () => {
    type Declared = In<Wire<V1CustomResourceDefinition>, ['spec', 'versions', number, 'schema', 'openAPIV3Schema']>
    expectTypeOf<Declared>().toEqualTypeOf<Wire<V1JSONSchemaProps>>()
  })

  test('does not change a type that is equal', () => {
    expectTypeOf<Wire<IntOrString>>().toEqualTypeOf<IntOrString>()
    expectTypeOf<Wire<unknown>>().toBeUnknown()
    expectTypeOf<Wire<V1JSONSchemaProps>['items']>().toBeAny()
    expectTypeOf<Wire<V1Secret>['data']>().toEqualTypeOf<V1Secret['data']>()
    expectTypeOf<Wire<V1ServicePort>>().toEqualTypeOf<{ [K in keyof V1ServicePort]: V1ServicePort[K] }>()
    expectTypeOf<Wire<'Always' | 5 | true | null | undefined>>().toEqualTypeOf<'Always' | 5 | true | null | undefined>()
  })

  test('goes through arrays, tuples, records and unions, and keeps what is optional or read-only', () => {
    interface Theirs {
      readonly at: Date
      list?: readonly Date[]
      pair: [Date, number]
      record: Record<string, { _from: Date }>
      either: { type: 'a'; at: Date } | { type: 'b'; _enum?: string } | null
    }
    expectTypeOf<Wire<Theirs>>().toEqualTypeOf<{
      readonly at: string
      list?: readonly string[]
      pair: [string, number]
      record: Record<string, { from: string }>
      either: { type: 'a'; at: string } | { type: 'b'; enum?: string } | null
    }>()
    expectTypeOf<Wire<Wire<V1NetworkPolicy>>>().toEqualTypeOf<Wire<V1NetworkPolicy>>()
  })

  test('is not accepted as a body by client-node while it has dates', () => {
    const networking = kubeConfig.makeApiClient(NetworkingV1Api)
    const seen = {} as Wire<V1NetworkPolicy>
    const place = { name: 'web', namespace: 'shop' }
    expectTypeOf<Wire<V1NetworkPolicy>>().not.toExtend<V1NetworkPolicy>()
    expectTypeOf<Wire<V1LimitRange>>().not.toExtend<V1LimitRange>()
    // @ts-expect-error: its dates are strings
    void networking.replaceNamespacedNetworkPolicy({ ...place, body: seen })
    const metadata = { ...seen.metadata, labels: { touched: 'yes' } }
    // @ts-expect-error: its dates are strings
    void networking.replaceNamespacedNetworkPolicy({ ...place, body: { ...seen, metadata } })
  })

  test('is what is mirrored, indexed and handled', () => {
    const policies = createInformer({
      source: kubernetesSource<Wire<V1NetworkPolicy>>({
        kubeConfig,
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
      }),
      indexes: (ix) => ({ created: ix.ordered((policy) => policy.metadata?.creationTimestamp) }),
    })
    expectTypeOf(policies.by.created({ gte: '2026-01-01' })).toEqualTypeOf<readonly Wire<V1NetworkPolicy>[]>()
    // @ts-expect-error: they are strings
    policies.by.created({ gte: new Date() })
  })
})

describe('kubernetesSource', () => {
  test('without a type argument has the fields of every object', () => {
    const widgets = createInformer({
      source: kubernetesSource({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Widget' }),
      indexes: (ix) => ({ app: ix.equal((widget) => widget.metadata.labels?.['app']) }),
    })
    expectTypeOf(widgets.list()).toEqualTypeOf<readonly KubernetesObject[]>()
    expectTypeOf<KubernetesObject['metadata']['creationTimestamp']>().toBeString()
  })

  test('without a type argument takes the expected type, or that of a schema', () => {
    const source: ListerWatcher<Wire<V1Pod>> = kubernetesSource({ kubeConfig, kind: 'Pod' })
    const pods = createInformer({
      source: kubernetesSource({ kubeConfig, kind: 'Pod' }),
      schema: z.object({ metadata: z.object({ name: z.string() }) }),
    })
    expectTypeOf(source).toExtend<ListerWatcher<Wire<V1Pod>>>()
    expectTypeOf(pods.list()).toEqualTypeOf<readonly { metadata: { name: string } }[]>()
  })

  test('takes namespaces that may not be given, and createInformer takes what it makes of them', () => {
    const namespaces = process.env['WATCH_NAMESPACE']?.split(',')
    const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', namespaces })
    expectTypeOf(source).toEqualTypeOf<KubernetesSource<Wire<V1Pod>> | KubernetesNamespaces<Wire<V1Pod>>>()
    const pods = createInformer({ source, indexes: (ix) => ({ node: ix.equal((pod) => pod.spec?.nodeName) }) })
    expectTypeOf(pods.by.node('node-7')).toEqualTypeOf<readonly Wire<V1Pod>[]>()
    if ('addNamespace' in source) expectTypeOf(source).toEqualTypeOf<KubernetesNamespaces<Wire<V1Pod>>>()
  })

  test('takes namespaces that are spread in conditionally', () => {
    const namespaces = process.env['WATCH_NAMESPACE']?.split(',')
    const [isMany, one] = [Math.random() > 0.5, { kubeConfig, kind: 'Pod' }]
    kubernetesSource({ ...one, ...(isMany ? { namespaces: ['shop'] } : {}) })
    kubernetesSource({ ...one, ...(namespaces && { namespaces }) })
    kubernetesSource({ ...one, ...(namespaces === undefined ? {} : { namespaces }) })
  })

  test('is one source or a set if that is known', () => {
    const [one, many] = [kubernetesSource({ kubeConfig, kind: 'Pod', namespaces: undefined }), ['shop'] as const]
    expectTypeOf(one).toEqualTypeOf<KubernetesSource<KubernetesObject>>()
    expectTypeOf(kubernetesSource({ kubeConfig, kind: 'Pod', namespaces: many })).toEqualTypeOf<
      KubernetesNamespaces<KubernetesObject>
    >()
    // @ts-expect-error: either one namespace or several
    kubernetesSource({ kubeConfig, kind: 'Pod', namespace: 'shop', namespaces: process.env['NS']?.split(',') })
  })
})

describe("makeInformer in the place of client-node's", () => {
  const core = kubeConfig.makeApiClient(CoreV1Api)
  const path = '/api/v1/namespaces/default/pods'
  const listFn = () => core.listNamespacedPod({ namespace: 'default' })

  test('takes the type of the objects from listFn', () => {
    const informer = makeInformer(kubeConfig, path, listFn)
    expectTypeOf(informer).toEqualTypeOf<ClientNodeInformer<V1Pod>>()
    informer.on('add', (pod) => expectTypeOf(pod).toEqualTypeOf<V1Pod>())
    informer.on('change', (pod: V1Pod) => void pod.metadata?.name)
    expectTypeOf(informer.list('default')).toEqualTypeOf(theirs(kubeConfig, path, listFn).list('default'))
    expectTypeOf(informer.get('web-0')).toEqualTypeOf<V1Pod | undefined>()
    const apps = kubeConfig.makeApiClient(AppsV1Api)
    const deployments = makeInformer(kubeConfig, '/apis/apps/v1/deployments', async () => {
      const list = await apps.listDeploymentForAllNamespaces()
      return { ...list, items: list.items.filter(({ metadata }) => metadata?.name !== 'hidden') }
    })
    deployments.on('update', ({ spec }) => expectTypeOf(spec?.replicas).toEqualTypeOf<number | undefined>())
  })

  test('takes the listFn of a custom resource, whose type has to be said', () => {
    interface Widget extends TheirObject {
      spec: { size: number }
    }
    const custom = kubeConfig.makeApiClient(CustomObjectsApi)
    const widgets = () =>
      custom.listClusterCustomObject({ group: 'example.com', version: 'v1', plural: 'widgets' }) as Promise<
        KubernetesListObject<Widget>
      >
    const informer = makeInformer(kubeConfig, '/apis/example.com/v1/widgets', widgets)
    informer.on('add', ({ spec }) => expectTypeOf(spec.size).toBeNumber())
    const untyped = () => custom.listClusterCustomObject({ group: 'example.com', version: 'v1', plural: 'widgets' })
    makeInformer<Widget>(kubeConfig, '/apis/example.com/v1/widgets', untyped).on('add', ({ spec }) => void spec.size)
    makeInformer(kubeConfig, '/apis/example.com/v1/widgets', untyped).on('add', (widget) =>
      expectTypeOf(widget).toEqualTypeOf<KubernetesObject>(),
    )
  })

  test('takes what the caller says that the objects are', () => {
    const informer = makeInformer<Wire<V1Pod>>(kubeConfig, path, listFn, 'app=web')
    informer.on('add', (pod) => expectTypeOf(pod.metadata?.creationTimestamp).toEqualTypeOf<string | undefined>())
  })

  test('takes callbacks for errors whatever they say that they are told', () => {
    const informer = makeInformer(kubeConfig, path, listFn)
    informer.on('error', (error) => expectTypeOf(error).toEqualTypeOf<Error>())
    informer.on('error', (error) => {
      console.error(error.message)
      setTimeout(() => void informer.start(), 5_000)
    })
    const told = [] as unknown[]
    const callbacks = {
      error: (error: Error) => void told.push(error.message),
      optional: (error?: Error) => void told.push(error?.message),
      unknown: (error: unknown) => void told.push(error),
      coded: (error: NodeJS.ErrnoException) => void told.push(error.code),
      pod: (pod: V1Pod) => void told.push(pod.metadata),
      theirs: {} as ErrorCallback,
    }
    informer.on('error', callbacks.error)
    informer.on('error', callbacks.optional)
    informer.on('error', callbacks.unknown)
    informer.on('error', callbacks.coded)
    informer.on('error', callbacks.pod)
    informer.on('error', callbacks.theirs)
    informer.off('error', callbacks.coded)
    informer.on('connect', () => {})
    informer.on('connect', callbacks.theirs)
    informer.off('connect', callbacks.error)
    // @ts-expect-error: there is no such event
    informer.on('disconnect', () => {})
    // @ts-expect-error: an object is told, no number
    informer.on('add', (object: number) => void object)
  })

  test('is accepted as an informer of client-node, also from generic code', () => {
    const informer: Theirs<V1Pod> & ObjectCache<V1Pod> = makeInformer(kubeConfig, path, listFn)
    const cached = <T extends TheirObject>(list: () => Promise<KubernetesListObject<T>>): ObjectCache<T> =>
      makeInformer(kubeConfig, path, list)
    expectTypeOf(informer.list()).toEqualTypeOf<readonly V1Pod[]>()
    expectTypeOf(cached(listFn)).toEqualTypeOf<ObjectCache<V1Pod>>()
    const make: typeof theirs = makeInformer
    expectTypeOf(make(kubeConfig, path, listFn).get('web-0')).toEqualTypeOf<V1Pod | undefined>()
  })
})
