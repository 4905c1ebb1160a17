// Delays of the event loop with a full store: node stalls.ts <objects>
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInformer, type ListerWatcher, type Subscription } from 'listwatch'
import type { WatchEvent } from 'listwatch/adapter'
import { longestPause } from './gc-pauses.ts'

interface Pod {
  readonly namespace: string
  readonly node: string
  readonly created: number
  readonly restarts: number
}

/** The delays of the event loop during one operation, in milliseconds. */
export interface Stall {
  readonly operation: string
  readonly longestMs: number
  readonly p999Ms: number
  /** The longest pause for garbage collection. */
  readonly pauseMs: number
  readonly seconds: number
}

/** A watch that is live for this long ends the spacing of lists (SPEC.md, R10). */
const SPACING_RESET_MS = 1_100

const objects = Number(process.argv[2])
const stalls: Stall[] = []

/** The collection of the source: `shift` replaces keys, `generation` changes values. */
let collection = { shift: 0, share: 0, generation: 0, hasVersions: true }
let version = 0
let deliver: ((events: readonly WatchEvent<Pod>[]) => void) | undefined

/** Object `at` of the collection. The first `share` of the objects have the newest generation or shifted keys. */
function event(at: number): { type: 'put'; key: string; object: Pod; version?: string } {
  const { shift, share, generation, hasVersions } = collection
  const isChanged = at < objects * share
  const id = isChanged ? at + shift : at
  const current = isChanged ? generation : 0
  const object = {
    namespace: namespaceOf(id),
    node: `node-${(id + current) % 5_000}`,
    created: id,
    restarts: current,
  }
  return {
    type: 'put',
    key: `team-${id % 1_000}/pod-${id}`,
    object,
    ...(hasVersions && { version: `${id}.${current}` }),
  }
}

/** Half of the objects are in one namespace. */
function namespaceOf(id: number): string {
  return id % 2 === 0 ? 'main' : `team-${id % 1_000}`
}

const source: ListerWatcher<Pod> = {
  name: 'bench',
  heartbeatMs: 600_000,
  hasReached: (at, mark) => Number(at) >= Number(mark),
  async *list({ pageSize }) {
    for (let at = 0; at < objects; at += pageSize) {
      yield { events: Array.from({ length: Math.min(pageSize, objects - at) }, (_, nth) => event(at + nth)) }
      await new Promise(setImmediate) // A real source waits for its server.
    }
    yield { events: [], version: String(++version) }
  },
  async *watch({ signal }) {
    const stopped = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', reject, { once: true }))
    for (;;) {
      const next = new Promise<readonly WatchEvent<Pod>[]>((resolve) => {
        deliver = resolve
      })
      yield { events: await Promise.race([next, stopped]), version: String(++version) }
    }
  },
}

async function measure(operation: string, run: () => unknown): Promise<void> {
  globalThis.gc?.()
  await rest()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  delay.reset()
  await rest(20) // The first delay after a reset is not recorded.
  const since = performance.now()
  await run()
  const seconds = (performance.now() - since) / 1_000
  await rest(20)
  delay.disable()
  const pauseMs = longestPause(since, performance.now())
  stalls.push({ operation, longestMs: delay.max / 1e6, p999Ms: delay.percentile(99.9) / 1e6, pauseMs, seconds })
}

function rest(ms = 200): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const pods = createInformer({
  source,
  audit: false,
  indexes: (ix) => ({
    namespace: ix.equal((pod) => pod.namespace),
    created: ix.ordered((pod) => pod.created),
    latest: ix.compound((pod) => [pod.node, pod.created]),
  }),
})
let handled = 0
const count = (): void => void handled++
const all = pods.subscribe({ add: count, update: count, delete: count }, { delivery: 'latest' })
const some = pods.subscribe(
  { add: count, update: count, delete: count },
  { delivery: 'latest', filter: (pod) => pod.created % 10 === 0 },
)
let controller: Subscription | undefined
let concurrent: Subscription | undefined
const settled = (): Promise<unknown> =>
  Promise.all([all, some, controller, concurrent].map(async (each) => each?.waitFor(String(version))))
/**
 * Lists a changed collection. Lists that follow each other are spaced: without a live watch in between, most of the time
 * would be a wait, and V8 collects garbage when a process waits for long.
 */
async function relist(operation: string, change: Partial<typeof collection> = {}): Promise<void> {
  deliver?.([])
  await pods.waitFor(String(version + 1))
  await rest(SPACING_RESET_MS)
  await measure(operation, async () => {
    collection = { ...collection, ...change }
    await pods.relist()
    await settled()
  })
}

await measure('the first list', async () => {
  await pods.start().synced()
  await all.synced()
  await some.synced()
})
await measure('the first query of the ordered index', () => pods.by.created({ gte: 5, limit: 10 }))
await measure('the first query of the compound index', () => pods.by.latest(['node-7'], { limit: 10 }))
await relist('a relist without a change')
for (const share of [0.1, 0.5, 1]) {
  const generation = collection.generation + 1
  await relist(`a relist with ${share * 100} % of the objects changed`, { share, generation })
}
await relist('a relist with half of the keys replaced', { share: 0.5, shift: collection.shift + objects })
await relist('a relist without versions', { hasVersions: false })
async function changeAll(operation: string, restarts: number): Promise<void> {
  const events = Array.from({ length: objects }, (_, at) => {
    const { key, object } = event(at)
    return { type: 'put', key, object: { ...object, restarts, node: `node-${(at - restarts) % 5_000}` } } as const
  })
  await measure(operation, async () => {
    deliver?.(events)
    await pods.waitFor(String(version + 1))
    await settled()
  })
}
await changeAll('a batch that changes every object', -1)
await measure('addIndex of an equal index', () => pods.addIndex('node', (ix) => ix.equal((pod) => pod.node)))
await measure('addIndex and the first query of an ordered index', async () => {
  const restarts = await pods.addIndex('restarts', (ix) => ix.ordered((pod) => pod.created % 777))
  return restarts({ limit: 1 })
})
await measure('subscribe with a filter', async () => {
  const late = pods.subscribe({ add: count }, { filter: (pod) => pod.created % 3 === 0 })
  await late.synced()
  await late.close()
})
await measure('subscribe with a value of an index', async () => {
  const late = pods.subscribe({ add: count }, { where: { namespace: 'team-7' } })
  await late.synced()
  await late.close()
})
await measure('subscribe with an index value of half of the objects', async () => {
  const late = pods.subscribe({ add: count }, { where: { namespace: 'main' } })
  await late.synced()
  await late.close()
})
await measure('ten changes() with a filter at once', async () => {
  const late = Array.from({ length: 10 }, () => pods.changes({ filter: (pod) => pod.created % 1_000 === 0 }))
  for (const stream of late) for await (const { isSynced } of stream) if (isSynced) break
})
await measure('reconcile with a filter', async () => {
  controller = pods.reconcile(async () => count(), { filter: (pod) => pod.created % 3 === 0, concurrency: 16 })
  await controller.synced()
})
concurrent = pods.subscribe({ add: count, update: count }, { delivery: 'latest', concurrency: 4 })
await concurrent.synced()
await changeAll('the same batch, with a controller and concurrent handlers', -2)
await Promise.all([controller?.close(), concurrent?.close()])
await measure('a snapshot, two queries of it, and its disposal', () => {
  using view = pods.snapshot()
  handled += view.by.namespace('team-5').length + view.by.created({ limit: 1_000 }).length
})
await measure('stop', () => pods.stop())
console.log(JSON.stringify({ stalls, handled }))
