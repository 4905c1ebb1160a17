import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Equal, Ordered } from '../../src/store/indexes/index-types.js'
import { DEFAULT_SLICES, type Slices } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { HandlerHistory } from '../support/handler-history.js'
import { MemoryCache } from '../support/memory-cache.js'
import { runs } from '../support/property.js'

type Action =
  | { readonly type: 'put'; readonly key: string; readonly n: number }
  | { readonly type: 'delete' | 'compact' | 'restore' | 'disconnect' | 'stall' | 'relist' }
  | { readonly type: 'wait'; readonly ms: number }
  /** The process ends at once, or after `stop`, and the next one starts. */
  | { readonly type: 'crash' | 'restart' }
  /** From now on the cache fails to save, damages a page, is slow or serves stale content; or it is well again. */
  | { readonly type: 'cache'; readonly fault: 'none' | 'full' | 'damaged' | 'slow' | 'stale' }

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('put' as const), key, n: fc.integer({ min: -2, max: 9 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom('delete', 'compact', 'restore', 'disconnect', 'stall', 'relist') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 300, 5_000, 90_000) }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('crash', 'restart') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('cache' as const),
      fault: fc.constantFrom('none', 'full', 'damaged', 'slow', 'stale'),
    }),
  },
)

/** Negative numbers are filtered out, and 7 is invalid. */
function transform(n: number): number | undefined {
  if (n === 7) throw new Error('invalid')
  return n < 0 ? undefined : n
}

interface Indexes {
  readonly parity: Equal<number, number>
  readonly order: Ordered<number, number>
}

/** The contents that the source had, as the mirror shows them, by version. */
class Truth {
  readonly source: MemorySource<number> = memorySource<number>({ entries: [['a', 1]] })
  readonly #objects = new Map<string, number>([['a', 1]])
  readonly #shown = new Map<string, string>()

  async record(): Promise<void> {
    this.#shown.set(await this.source.head(), JSON.stringify(this.now()))
  }

  write(key: string, n: number | undefined): void {
    if (n === undefined) this.#objects.delete(key)
    else this.#objects.set(key, n)
    if (n === undefined) this.source.delete(key)
    else this.source.put(key, n)
  }

  restore(): void {
    const [first = ['z', 1] as const] = this.#objects
    this.#objects.clear()
    this.#objects.set(first[0], 5)
    this.source.restore([[first[0], 5]])
  }

  get keys(): readonly string[] {
    return [...this.#objects.keys()]
  }

  now(): Record<string, number> {
    const visible = [...this.#objects].filter(([, n]) => n >= 0 && n !== 7)
    return Object.fromEntries(visible.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  at(version: string): string | undefined {
    return this.#shown.get(version)
  }
}

function shown(informer: Informer<number, unknown>): Record<string, number> {
  return Object.fromEntries([...informer.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** One process after the other, over one cache. */
class Processes {
  readonly truth = new Truth()
  cache = new MemoryCache()
  /** Whether objects of the cache are decoded when they are first read, and how large the slices of writes are. */
  readonly #slices: Slices
  readonly clock = new VirtualClock()
  readonly #ends: Promise<void>[] = []
  informer = undefined as unknown as Informer<number, Indexes>
  history = new HandlerHistory<number>()
  lists = 0
  #seed = 1
  #servesStale = false

  constructor(format: 'pages' | 'packed' | 'kept', isSlow: boolean) {
    this.cache.isPacked = format !== 'pages'
    this.cache.keepsPacked = format === 'kept'
    // One step in each slice, or all steps in one.
    this.#slices = { ...DEFAULT_SLICES, ...(isSlow && { stepsPerCheck: 1, sliceMs: 0 }) }
  }

  start(): void {
    const { source } = this.truth
    this.#servesStale = this.cache.serveStale
    const counted = Object.assign(Object.create(source), {
      list: (context: Parameters<typeof source.list>[0]) => {
        this.lists++
        return source.list(context)
      },
      watch: source.watch.bind(source),
      head: source.head.bind(source),
      hasReached: source.hasReached.bind(source),
      resumeState: source.resumeState?.bind(source),
      versions: undefined,
      name: 'memory',
    }) as MemorySource<number>
    this.informer = createInformer({
      source: counted,
      cache: this.cache,
      transform,
      onInvalid: 'omit',
      slices: this.#slices,
      indexes: (ix) => ({ parity: ix.equal((n) => n % 2), order: ix.ordered((n) => n) }),
      clock: this.clock,
      random: new SeededRandom(this.#seed++),
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    this.history = new HandlerHistory<number>()
    this.informer.subscribe(this.history.handlers)
    this.informer.start()
  }

  /** Nothing of a process that crashed is saved after that. */
  crash(): void {
    const dead = this.cache
    this.#ends.push(this.informer.stop())
    this.cache = Object.assign(new MemoryCache(), dead, { opened: 0 })
    this.start()
  }

  async restart(): Promise<void> {
    const stopped = this.informer.stop()
    await this.clock.advance(12_000)
    await stopped
    this.start()
  }

  check(): void {
    const { version } = this.informer
    expect(this.history.violations).toEqual([])
    const { by, size } = this.informer
    // The reads of one object and of the indexes come first, because the read of all decodes all.
    const [one] = by.order({ limit: 1 })
    const odd = [...by.parity(1)].sort((a, b) => a - b)
    const counts = [by.parity.count(0), by.parity.count(1), [...by.order.values()].length]
    if (version !== undefined) expect(JSON.stringify(shown(this.informer)), version).toBe(this.truth.at(version))
    else expect(shown(this.informer)).toEqual({})
    const all = [...this.informer.list()].sort((a, b) => a - b)
    expect([size, one, odd]).toEqual([all.length, all[0], all.filter((n) => n % 2 === 1)])
    const distinct = new Set(all).size
    expect(counts).toEqual([all.filter((n) => n % 2 === 0).length, odd.length, distinct])
    const { state, isSynced } = this.informer.status
    if (state === 'stale')
      expect([isSynced, this.#servesStale, this.informer.health().isReady]).toEqual([false, true, false])
  }

  async end(): Promise<void> {
    const last = this.informer.stop()
    await this.clock.advance(12_000)
    await Promise.all([...this.#ends, last])
    expect(this.cache.opened).toBe(0)
    expect(this.clock.sleeping).toBe(0)
  }
}

async function act(world: Processes, { truth, cache, clock }: Processes, next: Action): Promise<void> {
  switch (next.type) {
    case 'put':
      return truth.write(next.key, next.n)
    case 'delete':
      return truth.write(truth.keys[0] ?? 'a', undefined)
    case 'compact':
      truth.source.disconnect()
      return truth.source.compact()
    case 'restore':
      return truth.restore()
    case 'disconnect':
      return truth.source.disconnect()
    case 'stall':
      return truth.source.stall()
    case 'relist':
      return void world.informer.relist().catch(() => {})
    case 'wait':
      return clock.advance(next.ms)
    case 'crash':
      return world.crash()
    case 'restart':
      return world.restart()
    case 'cache': {
      cache.onSave = undefined
      cache.onPage = undefined
      cache.damagedPage = next.fault === 'damaged' ? 1 : undefined
      cache.serveStale = next.fault === 'stale'
      if (next.fault === 'slow') {
        cache.onPage = () => clock.sleep(50)
        cache.onSave = () => clock.sleep(50)
      }
      if (next.fault === 'full') {
        cache.onSave = () => {
          throw new Error('the disk is full')
        }
      }
    }
  }
}

test('[H8] whatever happens to processes, cache and source, a mirror shows states of the source, and ends equal to it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 5, maxLength: 40 }),
      fc.constantFrom('pages', 'packed', 'kept'),
      fc.boolean(),
      async (actions, format, isSlow) => {
        const world = new Processes(format, isSlow)
        await world.truth.record()
        world.start()
        await world.clock.advance(0)
        for (const next of actions) {
          await act(world, world, next)
          await world.truth.record()
          await world.clock.advance(0)
          world.check()
        }
        await world.clock.advance(120_000)
        world.check()
        expect(shown(world.informer)).toEqual(world.truth.now())
        expect(Object.fromEntries(world.history.objects)).toEqual(world.truth.now())
        expect(world.informer.status).toMatchObject({ state: 'live', isSynced: true })
        // A healthy restart resumes without a list.
        await act(world, world, { type: 'cache', fault: 'none' })
        await world.restart()
        const { lists } = world
        await world.restart()
        await world.clock.advance(1)
        expect([world.lists, shown(world.informer)]).toEqual([lists, world.truth.now()])
        await world.end()
      },
    ),
    runs(300),
  )
})
