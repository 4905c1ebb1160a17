import type { Clock } from '../contract/clock.js'
import type { Updated } from '../queue/change.js'
import type { Wait } from '../util/deadline.js'
import type { ScopeFilter } from './scope-filter.js'

/** The largest number of parts of a resync, and the shortest time between two parts, in milliseconds. */
const RESYNC_PARTS = 100
const RESYNC_MIN_MS = 10

/** A feed whose objects are delivered again. */
export interface ResyncTarget<T> {
  readonly scope: ScopeFilter<T>
  readonly hasQueued: boolean
  readonly isBehind: boolean
  synced(call: string, wait: Wait): Promise<void>
}

/**
 * Delivers the objects in scope again once a period, in parts that are spread over it, until `signal` aborts. A part
 * waits until the queue of the feed is empty. Then the store holds what the feed delivered last, and parts never pile
 * up.
 */
export async function resync<T>(
  feed: ResyncTarget<T>,
  periodMs: number,
  clock: Clock,
  signal: AbortSignal,
  deliver: (changes: readonly Updated<T>[]) => void,
): Promise<never> {
  await feed.synced('resync', { signal })
  for (;;) {
    const { size } = feed.scope
    const parts = Math.max(1, Math.min(size, RESYNC_PARTS, Math.floor(periodMs / RESYNC_MIN_MS)))
    const entries = feed.scope.entries()
    for (let part = 0; part < parts; part++) {
      await clock.sleep(periodMs / parts, signal)
      while (feed.hasQueued || feed.isBehind) await clock.sleep(periodMs / parts, signal)
      const changes: Updated<T>[] = []
      // An object that leaves the scope and returns is listed twice, so the last part has no limit.
      for (let left = part === parts - 1 ? Infinity : Math.ceil(size / parts); left > 0; left--) {
        const { done, value: entry } = entries.next()
        if (done) break
        const { key, object } = entry
        changes.push({ type: 'update', key, object, previous: object, version: undefined, origin: 'resync' })
      }
      if (changes.length > 0) deliver(changes)
    }
  }
}
