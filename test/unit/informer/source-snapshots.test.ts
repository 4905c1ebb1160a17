import { describe, expect, onTestFinished, test } from 'vitest'
import { shareInformer } from '../../../adapters/share/index.js'
import type { MirrorCacheContext, SavedMirror } from '../../../src/contract/mirror-cache.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { InformerOptions } from '../../../src/informer/informer-types.js'
import { sourceSet } from '../../../src/informer/source-set.js'
import { memorySource, SeededRandom, VirtualClock } from '../../../testing/index.js'
import { waitUntil } from '../../servers/wait-until.js'
import { assertCleanStop } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { countLists } from '../../support/running.js'

type Options = Partial<InformerOptions<number, object>>

/** A source with a snapshot of its objects, which counts its lists, and an informer of it. */
function stage(open?: (context: MirrorCacheContext, saved: SavedMirror) => Promise<SavedMirror | undefined>) {
  const clock = new VirtualClock()
  const memory = memorySource<number>({ entries: [['a', 1]] })
  const version = memory.put('b', 2)
  const saved: SavedMirror = {
    version,
    resumeState: memory.resumeState?.({}),
    size: 2,
    savedAt: 0,
    async *pages() {
      yield [
        { type: 'entry', key: 'a', object: 1 },
        { type: 'entry', key: 'b', object: 2 },
      ]
    },
    close: async () => {},
  }
  let opens = 0
  const lists = countLists(memory)
  const source = Object.assign(memory, {
    openSnapshot: async (context: MirrorCacheContext) => {
      opens++
      return open === undefined ? saved : await open(context, saved)
    },
  })
  const warnings: string[] = []
  const informerOf = (options: Options = {}) => {
    const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) }
    const informer = createInformer<number, object>({
      ...options,
      source: options.source ?? source,
      clock,
      random: new SeededRandom(1),
      logger,
    })
    onTestFinished(() => assertCleanStop(informer, clock))
    return informer
  }
  return { clock, source, warnings, informerOf, lists, opens: () => opens }
}

describe('a source with a snapshot', () => {
  test('[H19] is not listed, and its later changes arrive', async () => {
    const { clock, source, informerOf, lists, warnings } = stage()
    source.put('c', 3)
    const informer = informerOf().start()
    await clock.advance(1)
    expect(Object.fromEntries(informer.entries())).toEqual({ a: 1, b: 2, c: 3 })
    expect(informer.status).toMatchObject({ state: 'live', relists: 0 })
    expect([lists(), warnings]).toEqual([0, []])
  })

  test('[H19] is listed if that cannot be opened, with a warning', async () => {
    const { clock, informerOf, lists, warnings } = stage(() => Promise.reject(new Error('no memory')))
    const informer = informerOf().start()
    await clock.advance(1)
    expect(informer.size).toBe(2)
    expect(lists()).toBe(1)
    expect(warnings).toEqual([expect.stringContaining('the saved content cannot be used: no memory')])
  })

  test('[H19] is waited for as long as it reports progress, and for 30 s without', async () => {
    const { clock, informerOf, lists } = stage(async ({ clock: own, alive }, saved) => {
      for (let i = 0; i < 5; i++) {
        await own.sleep(20_000)
        alive?.()
      }
      return saved
    })
    const informer = informerOf().start()
    await clock.advance(100_001)
    expect([informer.size, lists()]).toEqual([2, 0])
    const silent = stage(async ({ clock: own }, saved) => {
      await own.sleep(100_000)
      return saved
    })
    const other = silent.informerOf().start()
    await silent.clock.advance(30_001)
    expect([other.size, silent.lists()]).toEqual([2, 1])
    await silent.clock.advance(100_000)
  })

  test('[H19] is synced after the first batch of its watch, and not before', async () => {
    const { clock, source, informerOf } = stage()
    source.put('c', 3)
    const informer = informerOf()
    let seen: readonly string[] | undefined
    void informer.synced().then(() => {
      seen = [...informer.keys()]
    })
    informer.start()
    await clock.advance(1)
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  const others: readonly [string, (source: never) => Options][] = [
    ['a cache', () => ({ cache: new MemoryCache() })],
    ['a transform', () => ({ transform: (n) => n })],
    [
      'a schema',
      () => ({
        schema: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value: value as number }) } },
      }),
    ],
    ['several sources', (source) => ({ source: sourceSet({ one: source }) })],
  ]
  test.each(others)('[H19] is not opened by an informer with %s', async (_what, optionsOf) => {
    const { clock, source, informerOf, opens } = stage()
    const informer = informerOf(optionsOf(source as never)).start()
    await clock.advance(1)
    expect([informer.size, opens()]).toEqual([2, 0])
  })

  test('[H19] is never saved to', async () => {
    const { clock, source, informerOf, warnings } = stage()
    const informer = informerOf().start()
    await clock.advance(1)
    for (let i = 0; i < 50; i++) source.put(`${i}`, i)
    await clock.advance(3_600_000)
    await assertCleanStop(informer, clock)
    expect(warnings).toEqual([])
  })
})

test('a follower that waits for a snapshot hears every 10 s that the share works on it', async () => {
  const clock = new VirtualClock()
  const informer = createInformer({ source: memorySource<number>(), clock })
  await using share = shareInformer(informer, { clock })
  const port = share.port()
  const received: string[] = []
  port.on('message', ({ type }) => received.push(type))
  onTestFinished(() => port.close())
  port.postMessage({ type: 'open', id: 1 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (let i = 1; i <= 4; i++) {
    await clock.advance(10_000)
    await waitUntil('the message', () => received.length === i)
  }
  expect(new Set(received)).toEqual(new Set(['alive']))
  informer.start()
  for (let i = 0; i < 100 && !received.includes('opened'); i++) {
    await clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(received.at(-1)).toBe('opened')
  await assertCleanStop(informer, clock)
})
