import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { memorySource } from '../../../../adapters/memory/index.js'
import { createInformer, type IndexBuilder, Indexer } from '../../../../src/index.js'
import { SortedIndex } from '../../../../src/store/indexes/sorted-index.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'
import { breakEqualIndexes } from '../../../support/broken-index.js'
import { assertCleanStop } from '../../../support/informers.js'
import { MemoryCache } from '../../../support/memory-cache.js'

const indexes = (ix: IndexBuilder<number>) => ({ half: ix.equal((n) => n % 2), n: ix.ordered((n) => n) })
const outOfMemory = new RangeError('Array buffer allocation failed')

afterEach(() => void vi.restoreAllMocks())

/** From now on an index throws at every object after the first two. Returns a function that ends this. */
function damage(): () => void {
  return breakEqualIndexes((ordinal) => ordinal >= 2, outOfMemory)
}

const FOUR = ['a', 'b', 'c', 'd'].map((key, n) => [key, n] as const)

async function live() {
  const source = memorySource<number>({ entries: FOUR })
  const cache = new MemoryCache()
  cache.isPacked = true
  const clock = new VirtualClock()
  const errors: string[] = []
  const informer = createInformer({ source, cache, clock, random: new SeededRandom(1), indexes, audit: false })
  informer.on('error', ({ message }) => errors.push(message))
  informer.start()
  await clock.advance(10)
  expect(cache.saves).toEqual([informer.version])
  onTestFinished(() => assertCleanStop(informer, clock))
  return { source, cache, clock, errors, informer }
}

test('[S9] a mirror whose indexes are damaged is not saved, and is saved after they were rebuilt', async () => {
  const { source, cache, clock, errors, informer } = await live()
  source.put('a', 10)
  await clock.advance(10)
  const before = informer.version
  const repair = damage()
  source.put('d', 13)
  await clock.advance(60_000)
  expect(() => informer.by.half(1)).toThrow('the indexes were damaged')
  expect(cache.saves).not.toContain(before)
  expect(errors).toContainEqual(expect.stringContaining('could not be saved to memory:cache: the indexes were damaged'))
  repair()
  await clock.advance(120_000)
  expect([informer.by.half.count(1), cache.saves.length, cache.saves.at(-1)]).toEqual([2, 2, informer.version])
})

test('[S9] the last save of a mirror whose indexes are damaged keeps the content before it', async () => {
  const { source, cache, clock, errors, informer } = await live()
  const { content } = cache
  source.put('a', 10)
  await clock.advance(10)
  damage()
  source.put('d', 13)
  await clock.advance(10)
  await assertCleanStop(informer, clock)
  expect(cache.content).toBe(content)
  expect(errors.at(-1)).toContain('the next start uses the content before it')
})

test('[H7] an index that throws while a save prepares it is reported once, and the save is tried again later', async () => {
  const { source, cache, clock, errors, informer } = await live()
  const prepare = vi.spyOn(SortedIndex.prototype, 'prepare')
  // Not all calls: attempts without a delay would never end.
  for (let call = 0; call < 100; call++)
    prepare.mockImplementationOnce(() => {
      throw outOfMemory
    })
  source.put('a', 10)
  await clock.advance(200_000)
  expect(errors).toEqual([
    expect.stringContaining('could not be saved to memory:cache: Array buffer allocation failed'),
  ])
  expect(prepare.mock.calls.length).toBeLessThanOrEqual(4)
  prepare.mockRestore()
  await clock.advance(60_000)
  expect(cache.saves.at(-1)).toBe(informer.version)
})

test('an index that throws while a new history is saved is prepared again later', async () => {
  const { source, cache, clock, informer } = await live()
  const prepare = vi.spyOn(SortedIndex.prototype, 'prepare')
  source.restore([['a', 10]])
  await clock.advance(5_000)
  expect(cache.saves.at(-1)).toBe(informer.version)
  prepare.mockClear()
  for (let call = 0; call < 100; call++)
    prepare.mockImplementationOnce(() => {
      throw outOfMemory
    })
  source.restore([['a', 20]])
  await clock.advance(50_000)
  expect(prepare.mock.calls.length).toBeLessThanOrEqual(2)
  prepare.mockRestore()
  await clock.advance(60_000)
  expect(cache.saves.at(-1)).toBe(informer.version)
})

test('[S9] damaged indexes are not packed, and leave no pin', () => {
  const indexer = new Indexer<number, ReturnType<typeof indexes>>({ indexes }, { report: () => {} })
  const list = indexer.replace()
  void list.page(FOUR.map(([key, object]) => ({ type: 'put', key, object })))
  void list.commit('1')
  damage()
  expect(() => indexer.apply({ events: [{ type: 'put', key: 'd', object: 4 }], version: '2' })).toThrow(outOfMemory)
  expect(() => indexer.whole.pinObjects()).toThrow('the indexes were damaged')
  expect(() => indexer.whole.pin()).toThrow('the indexes were damaged')
  expect(indexer.store.pinCount).toBe(0)
})
