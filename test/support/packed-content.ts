import { expect, onTestFinished } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { SourceError } from '../../src/contract/errors.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer, InformerOptions } from '../../src/informer/informer-types.js'
import type { Equal, IndexBuilder, Ordered } from '../../src/store/indexes/index-types.js'
import { DEFAULT_SLICES, type Slices } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { Fold } from './fold.js'
import { assertCleanStop } from './informers.js'
import { MemoryCache } from './memory-cache.js'

export type Item = { readonly n: number }
export type Parity = 'even' | 'odd'
export type Indexes = { readonly parity: Equal<Item, Parity>; readonly order: Ordered<Item, number> }

/** More than the samples whose index values are compared. */
export const KEYS = 200
export const names = Array.from({ length: KEYS }, (_, i) => `k${i}`)

export function indexes(ix: IndexBuilder<Item>): Indexes {
  return { parity: ix.equal(({ n }) => (n % 2 === 0 ? 'even' : 'odd')), order: ix.ordered(({ n }) => n) }
}

/** One step in each slice. */
const SMALL_SLICES: Slices = { ...DEFAULT_SLICES, stepsPerCheck: 1, sliceMs: 0 }

export interface World {
  readonly informer: Informer<Item, Indexes>
  readonly clock: VirtualClock
  readonly fold: Fold<Item>
  readonly warnings: string[]
}

type Source = ReturnType<typeof memorySource<Item>>

export interface Life {
  readonly source: Source
  readonly cache: MemoryCache
  readonly declare?: (ix: IndexBuilder<Item>) => Indexes
  readonly clock?: VirtualClock
  /** Objects for which it returns false are invalid. */
  readonly isValid?: (item: Item) => boolean
  /** Whether a handler receives all objects, which decodes them. Default: true. */
  readonly hasHandler?: boolean
  /** Default: one step in each slice. */
  readonly slices?: Slices
  readonly options?: Pick<InformerOptions<Item, Indexes>, 'onAccessLost' | 'audit'>
}

/** A clock with which each slice takes half a second. */
export class SlowClock extends VirtualClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(ms === 0 ? 500 : ms, signal)
  }
}

export function begin(life: Life): World {
  const {
    source,
    cache,
    declare = indexes,
    clock = new VirtualClock(),
    isValid = () => true,
    hasHandler = true,
    slices = SMALL_SLICES,
    options = {},
  } = life
  const warnings: string[] = []
  const informer = createInformer({
    source,
    cache,
    clock,
    random: new SeededRandom(1),
    freeze: true,
    transform: (item: Item) => {
      if (!isValid(item)) throw new Error('it is not valid')
      return item
    },
    indexes: declare,
    slices,
    logger: { debug() {}, info() {}, error() {}, warn: (message) => void warnings.push(message) },
    ...options,
  })
  const fold = new Fold<Item>()
  if (hasHandler) informer.subscribe(fold.handlers)
  informer.start()
  onTestFinished(() => assertCleanStop(informer, clock))
  return { informer, clock, fold, warnings }
}

/** A source, and a cache with its objects in a packed form. */
export async function saved(
  of: Pick<Life, 'isValid' | 'declare'> = {},
): Promise<Life & { readonly decoded: string[] }> {
  const source = memorySource<Item>({ entries: names.map((name, n) => [name, { n }]) })
  const cache = new MemoryCache()
  cache.isPacked = true
  const { informer, clock } = begin({ source, cache, ...of })
  await clock.advance(100)
  await assertCleanStop(informer, clock)
  expect(cache.content?.records).toHaveLength(KEYS)
  const decoded: string[] = []
  cache.onDecode = (key) => void decoded.push(key)
  return { source, cache, decoded, ...of }
}

/** Starts a process, and calls `now` when readers see the saved content, before most of it is decoded. */
export async function whenShown(
  life: Life & { readonly decoded: string[] },
  now: (world: World) => void,
): Promise<World> {
  const world = begin(life)
  const shown = Promise.withResolvers<void>()
  const check = async (): Promise<void> => {
    life.decoded.length = 0
    now(world)
    expect(life.decoded.length).toBeLessThan(KEYS - 1)
  }
  world.informer.on('status', ({ state }, previous) => {
    if (state === 'stale' && previous.state !== state) shown.resolve(check())
  })
  await world.clock.advance(0)
  await shown.promise
  return world
}

/** Lists of the source fail until the returned function is called. */
export function failLists(source: Source): () => void {
  const { list } = source
  let isDown = true
  source.list = (context) => {
    if (isDown) throw new SourceError('it is down', { code: 'UNAVAILABLE' })
    return list.call(source, context)
  }
  return () => (isDown = false)
}
