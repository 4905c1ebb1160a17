import type { InformerOptions, ListerWatcher } from '../../src/index.js'
import { informerOf, type World } from './informers.js'
import { MemoryCache } from './memory-cache.js'

export type CacheOptions = Omit<InformerOptions<number, object>, 'source' | 'clock' | 'random' | 'cache'>

/** An informer over a cache, whose warnings the cache has. It is not started. */
export function cached<S extends ListerWatcher<number>>(
  source: S,
  cache: MemoryCache,
  options: CacheOptions = {},
): World<number, object, S> & { readonly held: () => Record<string, number> } {
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void cache.warnings.push(message) }
  const world = informerOf<number, object, S>(source, { ...options, cache, logger })
  return { ...world, held: () => Object.fromEntries(world.informer.entries()) }
}

/** A cache that another process has filled with these objects of the source. */
export function cacheAt(
  source: ListerWatcher<number>,
  version: string,
  objects: Readonly<Record<string, number>>,
  serveStale = false,
): MemoryCache {
  const records = Object.entries(objects).map(([key, object]) => ({ type: 'entry', key, object }) as const)
  const fingerprint = JSON.stringify([source.name, null, null, null, 'keep-previous', false])
  const header = { version, size: records.length, resumeState: 'state' }
  return Object.assign(new MemoryCache(), { content: { fingerprint, savedAt: 5, header, records }, serveStale })
}

/** The same, started. */
export async function started<S extends ListerWatcher<number>>(source: S, cache: MemoryCache, options?: CacheOptions) {
  const world = cached(source, cache, options)
  world.informer.start()
  await world.clock.advance(1)
  return world
}
