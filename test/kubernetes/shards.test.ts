import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type KubernetesSource,
  type KubernetesSourceOptions,
  kubernetesSource,
} from '../../adapters/kubernetes/index.js'
import { systemClock, systemRandom } from '../../src/adapter.js'
import { createInformer, type Informer, type SourceError } from '../../src/index.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import type { Kubernetes } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { CONFIGMAPS, type Resource } from './stage.js'
import { useKubernetes } from './support.js'
import { createWidgets, WIDGETS } from './widgets.js'

const COUNT = 3
const OBJECTS = 60
const GATE = '--feature-gates=ShardedListAndWatch=true'

interface Mirrored {
  readonly source: KubernetesSource<KubeObject>
  readonly informer: Informer<KubeObject>
  readonly errors: SourceError[]
}

let collections = 0

/** A namespace of its own, and what a mirror of it needs. */
class Collection {
  readonly #kubernetes: Kubernetes
  readonly #resource: Resource
  readonly #namespace = `shards-${++collections}`
  readonly #path: string

  private constructor(kubernetes: Kubernetes, resource: Resource) {
    this.#kubernetes = kubernetes
    this.#resource = resource
    const { apiVersion, plural } = resource
    const api = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    this.#path = `${api}/namespaces/${this.#namespace}/${plural}`
  }

  static async create(kubernetes: Kubernetes, resource: Resource): Promise<Collection> {
    const collection = new Collection(kubernetes, resource)
    await kubernetes.admin.create('/api/v1/namespaces', { metadata: { name: collection.#namespace } })
    return collection
  }

  async fill(numbers: readonly number[]): Promise<void> {
    const { admin } = this.#kubernetes
    await admin.many(numbers.length, (at) =>
      admin.create(this.#path, this.#resource.draft(`k${numbers[at]}`, 0, this.#namespace)),
    )
  }

  async change(number: number): Promise<void> {
    await this.#kubernetes.admin.patch(`${this.#path}/k${number}`, { metadata: { labels: { changed: 'yes' } } })
  }

  async delete(number: number): Promise<void> {
    await this.#kubernetes.admin.delete(`${this.#path}/k${number}`)
  }

  async versions(): Promise<ReadonlyMap<string, string | undefined>> {
    return versionsOf((await this.#kubernetes.admin.list(this.#path)).items)
  }

  mirror(source: Partial<KubernetesSourceOptions>): Mirrored {
    const kubeConfig = this.#kubernetes.config()
    const { apiVersion, kind } = this.#resource
    const namespace = this.#namespace
    const own = kubernetesSource<KubeObject>({ kubeConfig, apiVersion, kind, namespace, pageSize: 7, ...source })
    const informer = createInformer({ source: own, audit: false })
    const errors: SourceError[] = []
    informer.on('error', (error) => errors.push(error))
    onTestFinished(() => informer.stop())
    informer.start()
    return { source: own, informer, errors }
  }
}

function versionsOf(objects: Iterable<KubeObject>): ReadonlyMap<string, string | undefined> {
  const entries = Array.from(objects, ({ metadata }) => [metadata.name, metadata.resourceVersion] as const)
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function keysOf(source: KubernetesSource<KubeObject>): Promise<string[]> {
  const { signal } = new AbortController()
  const keys: string[] = []
  for await (const page of source.versions({ signal, clock: systemClock, random: systemRandom, pageSize: 500 }))
    keys.push(...page.keys.map(({ key }) => key))
  return keys
}

/** Waits until the shards together have the collection. No object may be in two of them. */
async function together(collection: Collection, shards: readonly Mirrored[]): Promise<void> {
  const expected = await collection.versions()
  const found = (): readonly KubeObject[] => shards.flatMap(({ informer }) => informer.list())
  await waitUntil('the shards to have the collection', () => found().length === expected.size && isSame())
  expect(versionsOf(found())).toEqual(expected)
  expect(shards.flatMap(({ errors }) => errors)).toEqual([])

  function isSame(): boolean {
    return JSON.stringify([...versionsOf(found())]) === JSON.stringify([...expected])
  }
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

describeKubernetes('shards', (server) => {
  describe('of a server with the feature', () => {
    const own = useKubernetes(server, { flags: [GATE] })
    const uncached = useKubernetes(server, { flags: [GATE], watchCache: false })

    test.each([
      ['ConfigMaps in streamed lists', CONFIGMAPS, {}, own],
      ['the metadata of ConfigMaps, in pages', CONFIGMAPS, { metadataOnly: true, streamingLists: false }, own],
      ['custom resources without a watch cache', WIDGETS, {}, uncached],
    ])(
      '%s: are together the collection, and disjoint, through changes and a relist',
      async (_what, resource, options, { kubernetes }) => {
        if (resource === WIDGETS) await createWidgets(kubernetes)
        const collection = await Collection.create(kubernetes, resource)
        await collection.fill(range(0, OBJECTS))
        const shards = range(0, COUNT).map((index) => collection.mirror({ ...options, shard: { index, count: COUNT } }))
        await Promise.all(shards.map(({ informer }) => informer.synced({ timeoutMs: 30_000 })))
        await together(collection, shards)
        for (const { informer } of shards) expect(informer.size).toBeGreaterThan(0)

        for (const number of range(0, 10)) await collection.change(number)
        // A new object of the same name has another uid, and mostly another shard.
        for (const number of range(10, 30)) await collection.delete(number)
        await collection.fill([...range(10, 20), ...range(OBJECTS, OBJECTS + 20)])
        await together(collection, shards)

        await Promise.all(shards.map(({ informer }) => informer.relist()))
        await together(collection, shards)
        for (const { informer, source } of shards)
          expect((await keysOf(source)).sort()).toEqual([...informer.keys()].sort())
      },
    )
  })

  describe('of a server without the feature', () => {
    const own = useKubernetes(server)

    test.each([
      ['a streamed list', true],
      ['a list in pages', false],
    ])('are refused at the first object of another shard, in %s and in a watch', async (_list, streamingLists) => {
      const collection = await Collection.create(own.kubernetes, CONFIGMAPS)
      const watched = collection.mirror({ streamingLists, shard: { index: 0, count: 1_000_000 } })
      await watched.informer.synced({ timeoutMs: 30_000 })
      await collection.fill([0, 1, 2])
      const listed = collection.mirror({ streamingLists, shard: { index: 0, count: 1_000_000 } })
      for (const { informer, errors } of [watched, listed]) {
        await waitUntil('an error', () => errors.length > 0)
        expect(errors[0]).toMatchObject({
          code: 'PROTOCOL',
          message: expect.stringMatching(
            /the API server sent shards-\d+\/k\d, which is not in shard 0 of 1000000: .*--feature-gates=ShardedListAndWatch=true/,
          ),
        })
        expect([informer.size, informer.status.state]).toEqual([0, 'failed'])
      }
      expect([watched.errors[0]?.phase, listed.errors[0]?.phase]).toEqual(['watch', 'list'])
    })
  })
})
