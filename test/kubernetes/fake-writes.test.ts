import { expect, test } from 'vitest'
import { fakeKubernetes } from '../../testing/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import { useKubernetes } from './support.js'
import { createWidgets } from './widgets.js'
import { type Divergence, divergenceOf, KubeServer } from './write-comparison.js'

/** How many sequences of random writes: 20, or as many as are requested. */
const CHECKS = Number(process.env['LISTWATCH_KUBERNETES_CHECKS'] ?? 20)
const MAPS = '/api/v1/namespaces/default/configmaps'
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'
const NEW = { metadata: { name: 'new' } }
const WIDGET = { ...NEW, kind: 'Widget', apiVersion: 'example.com/v1' }
const APPLY = 'application/apply-patch+yaml'

/** Requests with a wrong path, an object without its type, or a parameter of the content type. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: object, type?: string])[] = [
  ['POST', MAPS, NEW],
  ['PATCH', `${MAPS}/new`, {}, 'application/merge-patch+json; charset=utf-8'],
  ['PATCH', `${MAPS}/new?fieldManager=one`, NEW, APPLY],
  ['POST', '/api/v1/configmaps', NEW],
  ['GET', '/api/v1/configmaps/new'],
  ['POST', WIDGETS, NEW],
  ['POST', WIDGETS, { ...NEW, kind: 'Widget' }],
  ['POST', WIDGETS, WIDGET],
  ['PUT', `${WIDGETS}/new`, NEW],
  ['PATCH', `${WIDGETS}/new?fieldManager=one`, NEW, APPLY],
  ['POST', '/apis/example.com/v1/widgets', WIDGET],
  ['GET', '/api/v1/namespaces/default/namespaces'],
]

/** Of the first sequence; the others count on. */
const SEED = Number(process.env['LISTWATCH_KUBERNETES_SEED'] ?? 1)

describeKubernetes('fakeKubernetes', (server) => {
  const own = useKubernetes(server)

  test('[K17] random writes have the same responses and effects as at a real API server', {
    timeout: 60_000 + CHECKS * 10_000,
  }, async () => {
    await createWidgets(own.kubernetes, { status: {} })
    const config = own.kubernetes.config()
    await using fake = await fakeKubernetes({
      resources: [
        { apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets' },
        { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', plural: 'gateways' },
      ],
    })
    using real = new KubeServer(config)
    using imitation = new KubeServer(fake.kubeConfig)
    const divergences: Divergence[] = []
    for (let seed = SEED; seed < SEED + CHECKS; seed++) {
      const divergence = await divergenceOf(seed, imitation, real)
      if (divergence !== undefined) divergences.push(divergence)
    }
    expect(divergences).toEqual([])
    const differing: string[] = []
    for (const [method, path, body, type] of REQUESTS) {
      const text = JSON.stringify(body)
      const [mine, wanted] = [await imitation.send(method, path, type, text), await real.send(method, path, type, text)]
      if (mine.code !== wanted.code) differing.push(`${method} ${path} ${text}: ${mine.code}, not ${wanted.code}`)
    }
    expect(differing).toEqual([])
    const gateway = '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/a'
    const { code } = await imitation.send('PATCH', gateway, 'application/strategic-merge-patch+json', '{}')
    expect(code, 'as of a custom resource').toBe(415)
  })
})
