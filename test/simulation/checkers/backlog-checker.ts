import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { Waiting } from './taken-batch-checker.js'

export interface BacklogSeen {
  readonly now: number
  /** When nothing waited last; undefined: never. */
  readonly idleAt: number | undefined
  /** Whether batches are read: then what was taken does not wait. */
  readonly isRead: boolean
}

/** Times are compared as they are added up: in fractions of milliseconds. */
const SLACK_MS = 0.001

/**
 * What is wrong with what a follower says of its backlog. Each key of which something surely waits counts, and the oldest is
 * as old as the first of that, merged or not; and no older than the last moment at which nothing waited.
 */
export function backlogViolation(
  { keys, oldestMs }: Subscription['backlog'],
  all: readonly Waiting[],
  { now, idleAt, isRead }: BacklogSeen,
): string | undefined {
  if (keys === 0 && oldestMs !== 0) return `says that nothing waits, for ${oldestMs} ms`
  const left = all.filter(({ mayBeGone, mayBeInHand }) => !mayBeGone && !(isRead && mayBeInHand))
  // What is deleted may come to nothing.
  const deleted = new Set(left.flatMap(({ change: { type, key } }) => (type === 'delete' ? [key] : [])))
  const sure = left.filter(({ change: { key } }) => !deleted.has(key))
  const least = new Set(sure.map(({ change: { key } }) => key)).size
  if (keys < least) return `says that ${keys} wait, and ${least} keys do`
  const [first] = sure
  if (first !== undefined && oldestMs < now - first.since - SLACK_MS)
    return `says that the oldest waits for ${oldestMs} ms, and one does for ${now - first.since} ms`
  // Somebody who reads may have a bookmark waiting, which is no key.
  if (!isRead && idleAt !== undefined && oldestMs > now - idleAt + SLACK_MS)
    return `says that the oldest waits for ${oldestMs} ms, and nothing waited ${now - idleAt} ms ago`
  return undefined
}
