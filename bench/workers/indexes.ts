// Builds, writes and reads indexes directly: node indexes.ts <kind> <objects> <folder of a build>
import { pathToFileURL } from 'node:url'
import type { Entry } from 'listwatch/adapter'
import { SeededRandom } from 'listwatch/testing'
import type { EqualIndex } from '../../src/store/indexes/hash-index.ts'
import type { MultiIndex } from '../../src/store/indexes/multi-index.ts'
import type { Scalar } from '../../src/store/indexes/scalar.ts'
import type { SortedIndex } from '../../src/store/indexes/sorted-index.ts'
import type { StoreIndex } from '../../src/store/indexes/store-index.ts'
import type { Store } from '../../src/store/store.ts'
import { nsEach } from './busy.ts'

interface Pod {
  readonly namespace: string
  readonly node: string
  readonly phase: string
  readonly created: number
  readonly restarts: number
  readonly labels: readonly string[]
}

const [kind = '', objects, folder = ''] = [process.argv[2], Number(process.argv[3]), process.argv[4]]
const load = async <M>(file: string): Promise<M> =>
  (await import(new URL(`dist/src/store/${file}.js`, pathToFileURL(`${folder}/`)).href)) as M
const { Store: StoreOf } = await load<{ Store: typeof Store }>('store')
const { EqualIndex: Equal } = await load<{ EqualIndex: typeof EqualIndex }>('indexes/hash-index')
const { MultiIndex: Multi } = await load<{ MultiIndex: typeof MultiIndex }>('indexes/multi-index')
const { SortedIndex: Sorted } = await load<{ SortedIndex: typeof SortedIndex }>('indexes/sorted-index')

const random = new SeededRandom(7)
/**
 * Returns a string in one piece, as from a parser: V8 would join the pieces of a concatenation only at its first use.
 */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')
const pick = (prefix: string, count: number): string => flat(`${prefix}-${random.below(count)}`)

function makeEntry(id: number): Entry<Pod> {
  const namespace = pick('team', 1_000)
  const object: Pod = {
    namespace,
    node: pick('node', 5_000),
    phase: pick('phase', 5),
    created: 1.7e12 + random.below(1e9) * 10,
    restarts: random.below(50),
    labels: [pick('app', 200), pick('tier', 20)],
  }
  return { key: flat(`${namespace}/pod-${id}`), object, version: flat(String(id)) }
}

const first = makeEntry(0)
const entries = Array.from({ length: objects }, (_, id) => (id === 0 ? first : makeEntry(id)))
const store = new StoreOf<Pod>()

function heap(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const equal = (of: (pod: Pod) => Scalar): StoreIndex<Pod> => new Equal(store, ({ object }) => of(object))
const multi = (): StoreIndex<Pod> => new Multi(store, ({ object }) => object.labels)
const created = (): SortedIndex<Pod> => new Sorted(store, ({ object }) => [object.created])
const restarts = (): SortedIndex<Pod> => new Sorted(store, ({ object }) => [object.restarts])
const node = (): SortedIndex<Pod> => new Sorted(store, ({ object }) => [object.node])
const compound = (): SortedIndex<Pod> => new Sorted(store, ({ object }) => [object.node, object.created])
const sorted: Readonly<Record<string, () => SortedIndex<Pod>>> = { created, restarts, node, compound }

function add(index: StoreIndex<Pod>): void {
  // An earlier build adds it at once.
  const steps: Iterable<void> | undefined = store.addIndex(index)
  if (steps !== undefined) Array.from(steps)
}

/** Returns the bytes of the store and its indexes for each object, without the objects and their entries. */
function heapOf(indexes: readonly StoreIndex<Pod>[], read: () => void = () => {}): { readonly bytes: number } {
  const before = heap()
  for (const entry of entries) store.set(entry)
  for (const index of indexes) add(index)
  read()
  return { bytes: (heap() - before) / objects }
}

async function speedOf(index: SortedIndex<Pod>, ranges: readonly (() => readonly Pod[])[]): Promise<object> {
  for (const entry of entries) store.set(entry)
  add(index)
  const build = await nsEach(objects, () => ranges[0]?.())
  // Each write has the key of one entry, and the object of another one.
  const writes = Array.from({ length: objects / 5 }, () => {
    const ordinal = random.below(objects)
    const [{ key } = first, { object } = first] = [entries[ordinal], entries[random.below(objects)]]
    return { ordinal, entry: { key, object, version: '' } }
  })
  const write = (): void => {
    for (const { ordinal, entry } of writes) index.set(ordinal, entry)
  }
  const update = await nsEach(writes.length, write)
  for (const { ordinal } of writes) index.delete(ordinal)
  const insert = await nsEach(writes.length, write)
  const floors = floorsOf(ranges.length)
  const once = await nsEachFound(ranges, 1)
  const range = (once + 4 * (await nsEachFound(ranges, 4))) / 5
  return { build, update, insert, range, 'range floor': await nsEachFound(floors, 5), once }
}

/** Returns the nanoseconds for each object of all ranges, each of which is read `passes` times. */
async function nsEachFound(ranges: readonly (() => readonly Pod[])[], passes: number): Promise<number> {
  let found = 0
  const time = await nsEach(1, () => {
    for (let pass = 0; pass < passes; pass++) for (const range of ranges) found += range().length
  })
  return time / found
}

/** The minimum of work: positions in the order of a random value, and a loop that reads 1 000 objects there. */
function floorsOf(count: number): (() => readonly Pod[])[] {
  const order = Float64Array.from(entries, () => random.next())
  const positions = Int32Array.from(entries.keys()).sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0))
  return Array.from({ length: count }, () => {
    const from = random.below(objects - 1_000)
    return () => {
      const found: Pod[] = []
      for (let at = from; at < from + 1_000; at++) found.push((entries[positions[at] ?? 0] ?? first).object)
      return found
    }
  })
}

function rangesOf(kind: string, index: SortedIndex<Pod>): (() => readonly Pod[])[] {
  const byValue = index.ordered<Scalar>()
  const byTuple = index.compound<readonly Scalar[]>()
  return Array.from({ length: 200 }, () => {
    const { object } = entries[random.below(objects)] ?? first
    if (kind === 'compound') return () => byTuple([], { gte: object.node, limit: 1_000 })
    const gte = kind === 'created' ? object.created : kind === 'restarts' ? object.restarts : object.node
    return () => byValue({ gte, limit: 1_000 })
  })
}

const kinds: Readonly<Record<string, () => unknown>> = {
  'three equal': () => heapOf([equal((pod) => pod.namespace), equal((pod) => pod.node), equal((pod) => pod.phase)]),
  'three multi': () => heapOf([multi(), multi(), multi()]),
  'three ordered': () => {
    const indexes = [created(), restarts(), node()]
    return heapOf(indexes, () => {
      for (const index of indexes) index.ordered<Scalar>()({ limit: 1 })
    })
  },
}
const index = sorted[kind]?.()
console.log(JSON.stringify(await (index === undefined ? kinds[kind]?.() : speedOf(index, rangesOf(kind, index)))))
