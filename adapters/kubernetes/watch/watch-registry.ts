import { isEpochChange } from '../../../src/contract/errors.js'
import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { Decoder } from '../decode/decoder.js'
import { historyRewound } from '../history/cluster-guard.js'
import { compareVersions } from '../history/resource-version.js'
import { type FollowContext, SharedWatch, type SharedWatchOptions, type WatchEnd } from './shared-watch.js'

/** From where somebody wants to follow. */
export interface ResumePoint {
  readonly after: Version
  /** Before this moment the list began that `after` goes back to. */
  readonly listedAt: number
}

export interface RegistryOptions extends SharedWatchOptions {
  /** How far the server is: as far as a majority of etcd is when it is asked. */
  head(): Promise<Version>
}

type WatchesByKey = Map<string, readonly SharedWatch[]>

/** What is open, the newest last, by what they watch; each by the configuration that it was opened with. */
const open = new WeakMap<object, WatchesByKey>()

/**
 * Follows a watch that is open already, where nothing is missing in it and all that is read there came after the list had begun; else
 * one that is opened for it. A list has all that anybody was told before it began, if it is of the same history: what a watch has told
 * beyond it by then is of another one, from which etcd was restored, though the versions fit. Where the server says so, too, such a watch
 * is over for all who follow it; else the list came from one that was behind.
 */
export async function* followShared<T>(
  { giver, key }: { readonly giver: object; readonly key: string },
  { after, listedAt }: ResumePoint,
  decoder: Decoder<T>,
  context: FollowContext,
  options: RegistryOptions,
): AsyncGenerator<WatchBatch<T>, WatchEnd> {
  const watches: WatchesByKey = open.get(giver) ?? new Map()
  open.set(giver, watches)
  const stillOpen = (): readonly SharedWatch[] => (watches.get(key) ?? []).filter(({ isOver }) => !isOver)
  const ahead = stillOpen().filter((watch) => !watch.canServe(after, listedAt))
  if (ahead.length > 0) await failRewound(ahead, options)
  const all = stillOpen()
  const newest = all.at(-1)
  const watch = newest?.canServe(after, listedAt) === true ? newest : new SharedWatch(after, options)
  if (watch !== newest) watches.set(key, [...all, watch])
  try {
    return yield* watch.follow(after, decoder, context)
  } catch (error) {
    // It is over for all who follow the same.
    if (isEpochChange(error)) watch.fail(error)
    throw error
  } finally {
    const left = stillOpen()
    if (left.length > 0) watches.set(key, left)
    else watches.delete(key)
  }
}

/** Ends those that tell of a history that was further than the server is now. */
async function failRewound(watches: readonly SharedWatch[], { head }: RegistryOptions): Promise<void> {
  const before = watches.map((watch) => ({ watch, heard: watch.lastVersion }))
  const now = await head()
  for (const { watch, heard } of before)
    if (heard !== undefined && compareVersions(now, heard) < 0) watch.fail(historyRewound(heard, now))
}
