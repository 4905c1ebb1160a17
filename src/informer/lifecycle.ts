import type { Clock } from '../contract/clock.js'
import type { Lifecycle } from './informer-types.js'
import type { RelistLimiter } from './relist-limiter.js'

/** The methods of informers and groups that only a group calls. */
export interface GroupMember extends Lifecycle {
  /** Throws the error with which `start` would fail now. */
  assertStartable(): void
  /** Adds a limiter of all later relists. A relist needs a slot of each limiter. */
  limitRelists(limiter: RelistLimiter): void
  readonly clock: Clock
  /** This member, and of a group all members. */
  readonly parts: readonly object[]
  /** The informers and groups that the controllers of this member wait for. */
  readonly dependencies: Iterable<object>
}

/** Returns false for a `Lifecycle` that the program itself implements. */
export function isGroupMember(value: Lifecycle): value is GroupMember {
  return 'assertStartable' in value && 'limitRelists' in value
}
