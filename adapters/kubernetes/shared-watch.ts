import type { WatchBatch } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import type { Decoder } from './decoder.js'
import { type FollowContext, isOtherHistory, OpenWatch, type OpenWatchOptions, type WatchEnd } from './open-watch.js'

/** From where somebody wants to follow. */
export interface From {
  readonly after: Version
  /** Before this moment the list began that `after` goes back to. */
  readonly listedAt: number
}

/** The newest that is open of each, by what they watch; each by the configuration that it was opened with. */
const open = new WeakMap<object, Map<string, OpenWatch>>()

/**
 * Follows a watch that is open already, where nothing is missing in it and all that is read there came after the list had begun; else
 * one that is opened for it. A list has all that anybody was told before it began, if it is of the same history: what a watch has told
 * beyond it by then is of another one, from which etcd was restored, though the versions fit.
 */
export async function* followShared<T>(
  { giver, key }: { readonly giver: object; readonly key: string },
  { after, listedAt }: From,
  decoder: Decoder<T>,
  context: FollowContext,
  options: OpenWatchOptions,
): AsyncGenerator<WatchBatch<T>, WatchEnd> {
  const watches = open.get(giver) ?? new Map<string, OpenWatch>()
  open.set(giver, watches)
  const found = watches.get(key)
  const watch = found?.reaches(after, listedAt) === true ? found : new OpenWatch(after, options)
  watches.set(key, watch)
  try {
    return yield* watch.follow(after, decoder, context)
  } catch (error) {
    // It is over for all who follow the same.
    if (isOtherHistory(error)) watch.fail(error)
    throw error
  } finally {
    if (watch.isOver && watches.get(key) === watch) watches.delete(key)
  }
}
