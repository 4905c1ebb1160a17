import { expect, test } from 'vitest'
import { fakeKubernetes } from '../../testing/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import { useKubernetes } from './support.js'
import { createWidgets } from './widgets.js'
import { type Divergence, divergenceOf, KubeServer } from './write-comparison.js'

/** How many sequences of random writes: 20, or as many as are requested. */
const CHECKS = Number(process.env['LISTWATCH_KUBERNETES_CHECKS'] ?? 20)
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
      resources: [{ apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets' }],
    })
    using real = new KubeServer(config)
    using imitation = new KubeServer(fake.kubeConfig)
    const divergences: Divergence[] = []
    for (let seed = SEED; seed < SEED + CHECKS; seed++) {
      const divergence = await divergenceOf(seed, imitation, real)
      if (divergence !== undefined) divergences.push(divergence)
    }
    expect(divergences).toEqual([])
  })
})
