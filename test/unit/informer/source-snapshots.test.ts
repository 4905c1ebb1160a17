import { describe, expect, onTestFinished, test } from 'vitest'
import { serveShared } from '../../../serving/share/index.js'
import type { MirrorCacheContext, SavedMirror } from '../../../src/contract/mirror-cache.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { InformerOptions } from '../../../src/informer/informer-types.js'
import { type SourceSet, sourceSet } from '../../../src/informer/sources/source-set.js'
import { memorySource, VirtualClock } from '../../../testing/index.js'
import { waitUntil } from '../../servers/wait-until.js'
import { assertCleanStop, informerOf } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { countLists } from '../../support/running.js'

type Options = Partial<InformerOptions<number, object>>

/** A source with a snapshot of its objects, and an informer of it. */
function stage(open?: (context: MirrorCacheContext, saved: SavedMirror) => Promise<SavedMirror | undefined>) {
  const memory = memorySource<number>({ entries: [['a', 1]] })
  const version = memory.put('b', 2)
  const saved: SavedMirror = {
    version,
    resumeState: memory.resumeState?.({}),
    size: 2,
    savedAt: 0,
    async *pages() {
      yield Object.entries({ a: 1, b: 2 }).map(([key, object]) => ({ type: 'entry', key, object }))
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
  const clock = new VirtualClock()
  const warnings: string[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) }
  const mirror = ({ source: of = source, ...options }: Options = {}) =>
    informerOf<number, object, ListerWatcher<number> | SourceSet<number>>(of, { ...options, clock, logger }).informer
  return { clock, source, warnings, mirror, lists, opens: () => opens }
}

describe('a source with a snapshot', () => {
  test('[H19] is not listed, is synced after the first batch of its watch, and is never saved to', async () => {
    const { clock, source, mirror, lists, warnings } = stage()
    source.put('c', 3)
    const informer = mirror()
    const contents = () => Object.fromEntries(informer.entries())
    const seen = informer.synced().then(contents)
    informer.start()
    await clock.advance(1)
    expect([await seen, contents()]).toEqual(Array(2).fill({ a: 1, b: 2, c: 3 }))
    expect(informer.status).toMatchObject({ state: 'live', relists: 0 })
    for (let i = 0; i < 50; i++) source.put(`${i}`, i)
    await clock.advance(3_600_000)
    await assertCleanStop(informer, clock)
    expect([lists(), warnings]).toEqual([0, []])
  })

  test('[H19] is listed if that cannot be opened, with a warning', async () => {
    const { clock, mirror, lists, warnings } = stage(() => Promise.reject(new Error('no memory')))
    const informer = mirror().start()
    await clock.advance(1)
    expect([informer.size, lists()]).toEqual([2, 1])
    expect(warnings).toEqual([expect.stringContaining('the saved content cannot be used: no memory')])
  })

  test('[H19] is waited for as long as it reports progress, and for 30 s without', async () => {
    const { clock, mirror, lists } = stage(async ({ clock: own, alive }, saved) => {
      for (let i = 0; i < 5; i++) {
        await own.sleep(20_000)
        alive?.()
      }
      return saved
    })
    const informer = mirror().start()
    await clock.advance(100_001)
    expect([informer.size, lists()]).toEqual([2, 0])
    const silent = stage(async ({ clock: own }, saved) => {
      await own.sleep(100_000)
      return saved
    })
    const other = silent.mirror().start()
    await silent.clock.advance(30_001)
    expect([other.size, silent.lists()]).toEqual([2, 1])
    await silent.clock.advance(100_000)
  })

  const schema = {
    '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value: Number(value) }) },
  } as const
  test.each<[string, (source: ListerWatcher<number>) => Options]>([
    ['a cache', () => ({ cache: new MemoryCache() })],
    ['a transform', () => ({ transform: (n) => n })],
    ['a schema', () => ({ schema })],
    ['several sources', (source) => ({ source: sourceSet({ one: source }) })],
  ])('[H19] is not opened by an informer with %s', async (_what, optionsOf) => {
    const { clock, source, mirror, opens } = stage()
    const informer = mirror(optionsOf(source)).start()
    await clock.advance(1)
    expect([informer.size, opens()]).toEqual([2, 0])
  })
})

test('a follower that waits for a snapshot hears every 10 s that the share works on it', async () => {
  const clock = new VirtualClock()
  const informer = createInformer({ source: memorySource<number>(), clock })
  await using share = serveShared(informer, { clock })
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
