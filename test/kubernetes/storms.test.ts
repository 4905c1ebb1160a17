import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { SeededRandom } from '../../testing/seeded-random.js'
import { describeKubernetes } from '../servers/index.js'
import { KubeRefusal } from '../servers/kube-client.js'
import type { KubernetesOptions } from '../servers/kubernetes.js'
import { CONFIGMAPS, PODS, type Resource, Stage } from './stage.js'
import { useKubernetes } from './support.js'
import { createWidgets, WIDGETS } from './widgets.js'

/** Each kind of server, and of resource: those without a watch cache and without streamed lists are read by other requests. */
const SERVERS: readonly (readonly [name: string, options: Omit<KubernetesOptions, 'server'>, resource: Resource])[] = [
  ['as it comes', {}, PODS],
  ['without a watch cache', { watchCache: false }, WIDGETS],
  ['without streamed lists', { watchList: false }, CONFIGMAPS],
]

const CALLS = 400
const NAMES = 60

/** Puts the whole object back with a change, unless it is gone or another writer was faster. */
async function replace({ kubernetes: { admin }, path }: Stage, name: string, n: number): Promise<void> {
  try {
    const object = await admin.read(`${path}/${name}`)
    const labels = { half: String(n % 2), put: String(n) }
    await admin.update(`${path}/${name}`, { ...object, metadata: { ...object.metadata, labels } })
  } catch (error) {
    if (!(error instanceof KubeRefusal && [404, 409].includes(error.status))) throw error
  }
}

/** Creates, updates, patches, deletes, and now and then half of all at once. */
async function storm(stage: Stage, random: SeededRandom): Promise<void> {
  const { admin } = stage.kubernetes
  await admin.many(CALLS, async (at) => {
    const name = `k${random.below(NAMES)}`
    const kind = random.next()
    if (kind < 0.5) await stage.put(name, at)
    else if (kind < 0.7) await replace(stage, name, at)
    else if (kind < 0.98) await stage.remove(name)
    else await admin.deleteCollection(stage.path, `half=${at % 2}`)
  })
}

describeKubernetes('a storm of writes, at a server', (server) => {
  describe.each(SERVERS)('%s,', (_name, options, resource) => {
    const own = useKubernetes(server, options)

    test(`leaves a mirror of ${resource.plural} that is what the server has`, async () => {
      const { kubernetes } = own
      if (resource === WIDGETS) await createWidgets(kubernetes)
      await Stage.with({ kubernetes, resource }, async (stage) => {
        await stage.fill(30)
        stage.informer.start()
        await storm(stage, new SeededRandom(7))
        await stage.healed()
        const cuts = new SeededRandom(8)
        const storming = storm(stage, new SeededRandom(9))
        for (let times = 0; times < 5; times++) {
          await sleep(cuts.below(150))
          stage.proxy.reset()
        }
        await storming
        await stage.healed()
        expect(stage.delivered.count).toBeGreaterThan(NAMES)
        expect(stage.relists).toBe(0)
      })
    })
  })
})
