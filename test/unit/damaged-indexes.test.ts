import { afterEach, expect, test, vi } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { IndexBuilder } from '../../src/store/indexes/index-types.js'
import { SortedIndex } from '../../src/store/indexes/sorted-index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { assertCleanStop } from '../support/informers.js'
import { MemoryCache } from '../support/memory-cache.js'

const indexes = (ix: IndexBuilder<number>) => ({ half: ix.equal((n) => n % 2), n: ix.ordered((n) => n) })

const outOfMemory = new RangeError('Array buffer allocation failed')

afterEach(() => {
  vi.restoreAllMocks()
})

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
  return { source, cache, clock, errors, informer }
}

test('an index that throws while a save prepares it is reported once, and the save is tried again later', async () => {
  const { source, cache, clock, errors, informer } = await live()
  const prepare = vi.spyOn(SortedIndex.prototype, 'prepare').mockImplementation(() => {
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
  await assertCleanStop(informer, clock)
})
