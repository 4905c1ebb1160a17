import {
  type IntOrString,
  KubeConfig,
  NetworkingV1Api,
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
  type KubernetesNamespaces,
  type KubernetesObject,
  type KubernetesSource,
  kubernetesSource,
  type Wire,
} from '../../adapters/kubernetes/index.js'
import { createInformer, type ListerWatcher } from '../../src/index.js'

const kubeConfig = new KubeConfig()

/** What is there, also where it is optional at every step. */
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

  test('leaves a field alone that is called schema elsewhere', () => {
    type Declared = In<Wire<V1CustomResourceDefinition>, ['spec', 'versions', number, 'schema', 'openAPIV3Schema']>
    expectTypeOf<Declared>().toEqualTypeOf<Wire<V1JSONSchemaProps>>()
  })

  test('leaves alone what is the same', () => {
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

  test('is no body for client-node as long as it has its dates', () => {
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
  test('without a type gives what every object has', () => {
    const widgets = createInformer({
      source: kubernetesSource({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Widget' }),
      indexes: (ix) => ({ app: ix.equal((widget) => widget.metadata.labels?.['app']) }),
    })
    expectTypeOf(widgets.list()).toEqualTypeOf<readonly KubernetesObject[]>()
    expectTypeOf<KubernetesObject['metadata']['creationTimestamp']>().toBeString()
  })

  test('without a type still takes one from where it goes, or from a schema', () => {
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

  test('takes namespaces that are spread in where there are any', () => {
    const namespaces = process.env['WATCH_NAMESPACE']?.split(',')
    const [isMany, one] = [Math.random() > 0.5, { kubeConfig, kind: 'Pod' }]
    kubernetesSource({ ...one, ...(isMany ? { namespaces: ['shop'] } : {}) })
    kubernetesSource({ ...one, ...(namespaces && { namespaces }) })
    kubernetesSource({ ...one, ...(namespaces === undefined ? {} : { namespaces }) })
  })

  test('is one source or a set where that is known', () => {
    const [one, many] = [kubernetesSource({ kubeConfig, kind: 'Pod', namespaces: undefined }), ['shop'] as const]
    expectTypeOf(one).toEqualTypeOf<KubernetesSource<KubernetesObject>>()
    expectTypeOf(kubernetesSource({ kubeConfig, kind: 'Pod', namespaces: many })).toEqualTypeOf<
      KubernetesNamespaces<KubernetesObject>
    >()
    // @ts-expect-error: either one namespace or several
    kubernetesSource({ kubeConfig, kind: 'Pod', namespace: 'shop', namespaces: process.env['NS']?.split(',') })
  })
})
