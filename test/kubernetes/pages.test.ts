import type { KubeConfig } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { type KubernetesSource, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { systemClock } from '../../src/contract/clock.js'
import type { ListContext, ListerWatcher, ListPage, VersionPage } from '../../src/contract/source.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import type { KubernetesOptions } from '../servers/kubernetes.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

const SERVERS: readonly (readonly [name: string, options: Omit<KubernetesOptions, 'server'>])[] = [
  ['without streamed lists', { watchList: false }],
  ['without a watch cache either', { watchList: false, watchCache: false }],
]
const OBJECTS = 23
const PAGE = 5

type Pages = ListPage<KubeObject>[]

const context = (): ListContext => ({
  signal: new AbortController().signal,
  clock: systemClock,
  random: new SeededRandom(1),
  pageSize: PAGE,
})

/** A source of pages, and all that were read; after the first page something happens before the next one is requested. */
function pagedSource(kubeConfig: KubeConfig | (() => KubeConfig), namespace: string, between?: () => Promise<void>) {
  const source = kubernetesSource<KubeObject>({ kubeConfig, kind: 'ConfigMap', namespace, pageSize: PAGE })
  const pages: Pages = []
  const paged: ListerWatcher<KubeObject> = {
    name: source.name,
    heartbeatMs: source.heartbeatMs,
    watch: (context) => source.watch(context),
    async *list(context) {
      let isFirst = true
      for await (const page of source.list(context)) {
        pages.push(page)
        yield page
        // The reader of this page has requested the next one.
        if (isFirst) await between?.()
        isFirst = false
      }
    },
  }
  return { paged, pages }
}

const keysOf = ({ events }: ListPage<KubeObject>, type: 'put' | 'delete'): (string | undefined)[] =>
  events.filter((event) => event.type === type).map(({ key }) => key)

for (const [name, options] of SERVERS)
  describeKubernetes(`a list in pages, at a server ${name},`, (server) => {
    const own = useKubernetes(server, options)
    const isCached = options.watchCache !== false

    /** Of the same, straight to the server. */
    const sourceOf = ({ namespace }: Stage): KubernetesSource<KubeObject> =>
      kubernetesSource({ kubeConfig: own.kubernetes.config(), kind: 'ConfigMap', namespace, pageSize: PAGE })

    /** A mirror of pages; `between` happens after the first of them. */
    const withPages = async (
      act: (stage: Stage, pages: Pages) => Promise<void>,
      between?: (stage: Stage) => Promise<void>,
    ): Promise<void> => {
      let pages: Pages = []
      let whole: Stage | undefined
      const instead = (config: KubeConfig | (() => KubeConfig), namespace: string): ListerWatcher<KubeObject> => {
        const source = pagedSource(config, namespace, async () => {
          if (whole !== undefined) await between?.(whole)
        })
        pages = source.pages
        return source.paged
      }
      await Stage.with({ kubernetes: own.kubernetes, instead }, async (stage) => {
        whole = stage
        await stage.fill(OBJECTS)
        await act(stage, pages)
      })
    }

    test('is read to its end, each object once', () =>
      withPages(async (stage, pages) => {
        await stage.live()
        await stage.healed()
        expect(pages.map((page) => keysOf(page, 'put').length)).toEqual([5, 5, 5, 5, 3])
        expect(pages.map(({ remaining }) => remaining)).toEqual([18, 13, 8, 3, undefined])
      }))

    test('whose history is compacted between its pages lets go of what is gone since the first', () =>
      withPages(
        async (stage, pages) => {
          await stage.live()
          await stage.healed()
          // The cache remembers what etcd has forgotten; else the list is read again, in one piece.
          expect(pages.map((page) => keysOf(page, 'put').length)).toEqual(isCached ? [5, 5, 5, 5, 3] : [5, OBJECTS])
          // The objects of the second list are deleted first: between the two attempts the server may have been restored.
          const again = pages.slice(0, 1).flatMap((page) => keysOf(page, 'put'))
          const deleted = pages.flatMap((page) => keysOf(page, 'delete'))
          expect(new Set(deleted)).toEqual(new Set(isCached ? [] : again))
          expect(again).toContain(`${stage.namespace}/k0`)
          expect(stage.errors).toEqual([])
        },
        async (stage) => {
          await stage.remove('k0')
          await stage.put('later', 1)
          await own.kubernetes.compact()
        },
      ))

    test('of keys and versions is that of the objects', () =>
      withPages(async (stage) => {
        const pages: VersionPage[] = []
        for await (const page of sourceOf(stage).versions(context())) pages.push(page)
        const { items, version } = await own.kubernetes.admin.list(stage.path)
        const wanted = items.map(({ metadata }) => ({
          key: `${stage.namespace}/${metadata.name}`,
          version: metadata.resourceVersion,
        }))
        expect(pages.map(({ keys }) => keys.length)).toEqual([5, 5, 5, 5, 3])
        expect(pages.flatMap(({ keys }) => keys)).toEqual(wanted)
        const reached = pages.map((page) => Number(page.version ?? 0))
        // The server writes, too: its version may have gone on.
        expect(reached.slice(0, -1)).toEqual([0, 0, 0, 0])
        expect(reached.at(-1)).toBeGreaterThanOrEqual(Math.max(...wanted.map((each) => Number(each.version))))
        expect(reached.at(-1)).toBeLessThanOrEqual(Number(version))
      }))

    if (!isCached)
      test('of keys and versions ends if its history is compacted between its pages', () =>
        withPages(async (stage) => {
          const pages = sourceOf(stage).versions(context())[Symbol.asyncIterator]()
          const first = await pages.next()
          await stage.remove('k0')
          await stage.put('later', 1)
          await own.kubernetes.compact()
          await expect(pages.next()).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
          expect(first).toMatchObject({ done: false })
        }))
  })
