import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { ABORTED, SourceError } from '../../../src/contract/errors.js'
import type { MirrorCacheContext, SavedMirror } from '../../../src/contract/mirror-cache.js'
import { assertCleanStop } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { countLists } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'
import { cacheAt, started } from '../../support/warm-starts.js'

/** What another author's cache may do with opened content. */
class OtherCache extends MemoryCache {
  change: ((saved: SavedMirror, context: MirrorCacheContext) => SavedMirror) | undefined

  override async open(context: MirrorCacheContext): Promise<SavedMirror | undefined> {
    const saved = await super.open(context)
    return saved === undefined ? undefined : (this.change?.(saved, context) ?? saved)
  }
}

async function restarted(serveStale: boolean, change: NonNullable<OtherCache['change']>) {
  const source = memorySource({ entries: [['a', 1]] })
  const cache = new OtherCache()
  cache.serveStale = serveStale
  const first = await started(source, cache)
  await assertCleanStop(first.informer, first.clock)
  cache.change = change
  const lists = countLists(source)
  const second = await started(source, cache)
  const seen = { a: second.informer.get('a'), state: second.informer.status.state, lists: lists() }
  await assertCleanStop(second.informer, second.clock)
  return { ...seen, warnings: cache.warnings, unclosed: cache.opened }
}

describe.each([false, true])('with serveStale: %s', (serveStale) => {
  test('[H11] the signal of open is valid until the content was read', async () => {
    let signal: AbortSignal | undefined
    const seen = await restarted(serveStale, (saved, context) => ({
      ...saved,
      async *pages() {
        signal = context.signal
        context.signal.throwIfAborted()
        yield* saved.pages?.() ?? []
      },
    }))
    expect([seen, signal?.aborted]).toEqual([{ a: 1, state: 'live', lists: 0, warnings: [], unclosed: 0 }, true])
  })

  test('[H11] a cache that throws the reason of an earlier abort costs one list', async () => {
    const seen = await restarted(serveStale, (saved) => ({
      ...saved,
      async *pages() {
        yield []
        throw ABORTED
      },
    }))
    expect(seen).toMatchObject({ a: 1, state: 'live', lists: 1, unclosed: 0 })
    expect(seen.warnings).toHaveLength(1)
  })

  test.each([7, '', undefined])('[H11] a saved version %j costs one list', async (version) => {
    const seen = await restarted(serveStale, (saved) => ({ ...saved, version: version as string }))
    expect(seen).toMatchObject({ a: 1, state: 'live', lists: 1, unclosed: 0 })
    expect(seen.warnings).toEqual([expect.stringContaining('the saved version')])
  })
})

test('[H10] access loss ends a save that hangs, and removes the saved content', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const cache = cacheAt(source, '7', { a: 1 })
  let isHanging = false
  cache.onSave = () => {
    const { signal } = cache.contexts.at(-1) as MirrorCacheContext
    isHanging = true
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  cache.saveEveryMs = 1
  const { informer, clock, errors } = await started(source, cache, { onAccessLost: 'clear' })
  source.watches[0]?.batch([put('a', 2)], '8')
  await clock.advance(10)
  expect(isHanging).toBe(true)
  source.watches[0]?.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }))
  await clock.advance(1)
  expect([informer.size, cache.content]).toEqual([0, undefined])
  expect(errors).toMatchObject([{ code: 'UNAUTHORIZED' }])
})

test('[H8] nothing is applied after a handler of the saved objects has stopped the informer', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const { informer, clock } = await started(source, cacheAt(source, '7', { a: 1 }))
  informer.subscribe({ add: () => void informer.stop() })
  source.watches[0]?.batch([put('b', 2)], '8')
  await clock.advance(100)
  expect([informer.version, informer.size]).toEqual(['7', 1])
})

test.each([false, true])(
  '[H4a] a saved version that the source cannot read, because another version of its adapter wrote it costs one list, with serveStale: %s',
  async (serveStale) => {
    const source = memorySource({ entries: [['a', 1]] })
    const cache = cacheAt(source, 'v9.1', { b: 0 }, serveStale)
    const lists = countLists(source)
    const { informer, clock, errors } = await started(source, cache)
    expect(informer.has('b')).toBe(false)
    await clock.advance(5_000)
    expect([informer.status.state, lists(), errors]).toEqual(['live', 1, []])
    expect(cache.warnings).toEqual([
      expect.stringContaining(
        'cannot be used: "v9.1" is not a version of a memory source; the source is listed instead',
      ),
    ])
    expect(informer.list()).toEqual([1])
  },
)
