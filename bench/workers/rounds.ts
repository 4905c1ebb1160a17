// Runs contestants in turn, in many rounds of one process: node rounds.ts <rounds> <job>[@<folder of a build>] …
import { pathToFileURL } from 'node:url'
import type * as Library from 'listwatch'
import type { WatchBatch } from 'listwatch/adapter'
import { median, medianRatio } from '../figures.ts'
import { nsEach } from './busy.ts'

interface Pod {
  readonly namespace: string
  readonly node: string
  readonly phase: string
  readonly restarts: number
}

type Lib = typeof Library
type Batch = WatchBatch<Pod>
/** Runs one round. Returns the nanoseconds for each event. */
type Round = () => Promise<number>

const OBJECTS = 50_000
/** The objects of a load. */
const LOADED = 30_000
/** The events of a round: about 20 ms, because the kernel counts a thread's time in steps of up to 4 ms. */
const EVENTS = 4_000
const PHASES = ['Running', 'Pending', 'Failed', 'Succeeded']

const keys = Array.from({ length: OBJECTS }, (_, i) => `team-${i % 500}/pod-${i}`)
const indexes = (ix: Library.IndexBuilder<Pod>) => ({
  namespace: ix.equal((pod) => pod.namespace),
  node: ix.equal((pod) => pod.node),
  phase: ix.equal((pod) => pod.phase),
})

let seed = 1
function below(limit: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * limit)
}

let lastVersion = 0
/** One in five updates changes the phase, one in twenty the node. */
function put(i: number) {
  const random = below(100)
  const object: Pod = {
    namespace: `team-${i % 500}`,
    node: `node-${random < 5 ? below(10_000) : i % 10_000}`,
    phase: PHASES[random < 20 ? below(4) : 0] ?? '',
    restarts: ++lastVersion,
  }
  return { type: 'put', key: keys[i] ?? '', object, version: String(lastVersion) } as const
}

function batches(count: number, size: number): readonly Batch[] {
  return Array.from({ length: count }, () => {
    const events = Array.from({ length: size }, () => put(below(OBJECTS)))
    return { events, version: String(lastVersion) }
  })
}

function informerOf(lib: Lib, objects: number) {
  const sent: Batch[] = []
  let wake = () => {}
  const source: Library.ListerWatcher<Pod> = {
    name: 'bench',
    heartbeatMs: 600_000,
    hasReached: (at, mark) => Number(at) >= Number(mark),
    async *list() {
      for (let from = 0; from < objects; from += 500) {
        yield { events: Array.from({ length: Math.min(500, objects - from) }, (_, i) => put(from + i)) }
      }
      yield { events: [], version: String(lastVersion) }
    },
    async *watch() {
      for (;;) {
        yield* sent.splice(0)
        if (sent.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
  const informer = lib.createInformer({ source, indexes })
  const send = (all: readonly Batch[]): void => {
    sent.push(...all)
    wake()
  }
  return { informer, send }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

interface Setup {
  readonly informer: Library.Informer<Pod, ReturnType<typeof indexes>>
}

/** Watches batches of `size`, after `prepare`. */
function watching(
  size: number,
  prepare: (setup: Setup) => unknown = ({ informer }) => informer.subscribe({ add() {}, update() {} }),
): (lib: Lib) => Promise<Round> {
  return async (lib) => {
    const { informer, send } = informerOf(lib, OBJECTS)
    await informer.start().synced()
    prepare({ informer })
    await settled()
    const count = EVENTS / size
    return async () => {
      const all = batches(count, size)
      const version = String(lastVersion)
      return nsEach(EVENTS, async () => {
        send(all)
        await informer.waitFor(version)
        await settled()
      })
    }
  }
}

async function stream({ informer }: Setup): Promise<void> {
  for await (const _ of informer.changes());
}

function applying(size: number, prepare: (indexer: Library.Indexer<Pod, unknown>) => unknown = () => {}) {
  return async (lib: Lib): Promise<Round> => {
    const indexer = new lib.Indexer<Pod, unknown>({ indexes })
    void indexer.apply({ events: keys.map((_, i) => put(i)), version: '1' })
    while (indexer.size === 0) await settled()
    prepare(indexer)
    const count = EVENTS / size
    return async () => {
      const all = batches(count, size)
      return nsEach(EVENTS, () => {
        for (const batch of all) void indexer.apply(batch)
      })
    }
  }
}

const jobs: Readonly<Record<string, (lib: Lib) => Promise<Round>>> = {
  'watch 1': watching(1),
  'watch 10': watching(10),
  'watch 100': watching(100),
  'apply 1': applying(1),
  'apply 10': applying(10),
  'apply 100': applying(100),
  /** Batches of one without a subscription. */
  'watch alone': watching(1, () => {}),
  'watch others': watching(1, ({ informer }) => {
    for (let i = 0; i < 10_000; i++) informer.subscribe({}, { where: { node: `other-${i}` } })
  }),
  'watch own': watching(1, ({ informer }) => {
    for (let i = 0; i < 10_000; i++) informer.subscribe({ add() {}, update() {} }, { where: { node: `node-${i}` } })
  }),
  'watch stream': watching(1, (setup) => void stream(setup)),
  'apply snapshots': applying(1, (indexer) => {
    const taken = []
    for (let i = 0; i < 1_000; i++) {
      taken.push((indexer as unknown as { snapshot(): Disposable }).snapshot())
      void indexer.apply(batches(1, 1)[0] as Batch)
    }
    Object.assign(indexer, { taken })
  }),
  load: async (lib) => async () => {
    const { informer } = informerOf(lib, LOADED)
    const subscription = informer.subscribe({ add() {}, update() {} })
    const time = await nsEach(LOADED, async () => {
      await informer.start().synced()
      await subscription.synced()
    })
    await informer.stop()
    return time
  },
  /** A full controller: enqueue, and run. */
  enqueue: async (lib) => {
    const { informer } = informerOf(lib, OBJECTS)
    let left = OBJECTS
    let done = () => {}
    const controller = informer.reconcile(async () => {
      if (--left === 0) done()
    })
    const idle = new Promise<void>((resolve) => (done = resolve))
    await informer.start().synced()
    await idle
    await settled()
    return async () => {
      left = EVENTS
      const idle = new Promise<void>((resolve) => (done = resolve))
      return nsEach(EVENTS, async () => {
        for (let i = 0; i < EVENTS; i++) controller.enqueue(keys[i] ?? '')
        await idle
        await settled()
      })
    }
  },
  subscribe: async (lib) => {
    const { informer } = informerOf(lib, 1_000)
    await informer.start().synced()
    return () =>
      nsEach(EVENTS, async () => {
        for (let i = 0; i < EVENTS; i++) await informer.subscribe({}, { where: { node: 'none' } }).close()
      })
  },
}

const [count, ...contestants] = process.argv.slice(2)
const rounds: Round[] = []
for (const contestant of contestants) {
  const [job = '', folder] = contestant.split('@')
  const path = folder === undefined ? 'listwatch' : new URL('dist/src/index.js', pathToFileURL(`${folder}/`)).href
  const prepare = jobs[job]
  if (prepare === undefined) throw new Error(`there is no job "${job}"; there are ${Object.keys(jobs).join(', ')}`)
  rounds.push(await prepare((await import(path)) as Lib))
}
const times: number[][] = rounds.map(() => [])
for (let n = -5; n < Number(count); n++) {
  const order = [...rounds.keys()]
  for (const i of n % 2 === 0 ? order : order.reverse()) {
    const time = await rounds[i]?.()
    if (n >= 0 && time !== undefined) times[i]?.push(time)
  }
}
const [first = []] = times
const results = times.map((each) => ({
  ns: median(each),
  /** Against the first contestant, round by round. */
  ratio: medianRatio(each, first),
  added: median(each.map((time, n) => time - (first[n] ?? Number.NaN))),
}))
console.log(JSON.stringify(results))
process.exit()
