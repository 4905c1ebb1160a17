import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { Waiting } from './taken-batch-checker.js'

export interface BacklogSeen {
  readonly now: number
  /** The last time at which the queue was empty; undefined: never. */
  readonly idleAt: number | undefined
  /** Whether batches are read: then taken changes do not count. */
  readonly isRead: boolean
}

/** Times are sums of fractions of milliseconds. */
export const SLACK_MS = 0.001

/**
 * The defect of a reported backlog. Each key with a certain pending change counts. `oldestMs` is at least the age of
 * the oldest such change, merged or not. It is at most the time since the queue was last empty.
 */
export function backlogViolation(
  { keys, oldestMs }: Subscription['backlog'],
  all: readonly Waiting[],
  { now, idleAt, isRead }: BacklogSeen,
): string | undefined {
  if (keys === 0 && oldestMs !== 0) return `reports an empty backlog, for ${oldestMs} ms`
  const left = all.filter(({ mayBeGone, mayBeInHand }) => !mayBeGone && !(isRead && mayBeInHand))
  // A deleted key may merge to nothing.
  const deleted = new Set(left.flatMap(({ change: { type, key } }) => (type === 'delete' ? [key] : [])))
  const sure = left.filter(({ change: { key } }) => !deleted.has(key))
  const least = new Set(sure.map(({ change: { key } }) => key)).size
  if (keys < least) return `reports ${keys} pending keys, and ${least} are pending`
  const [first] = sure
  if (first !== undefined && oldestMs < now - first.since - SLACK_MS)
    return `reports an oldest change of ${oldestMs} ms, and one waits for ${now - first.since} ms`
  // A reader may have a pending bookmark, which has no key.
  if (!isRead && idleAt !== undefined && oldestMs > now - idleAt + SLACK_MS)
    return `reports an oldest change of ${oldestMs}ms, and the queue was empty ${now - idleAt} ms ago`
  return undefined
}
