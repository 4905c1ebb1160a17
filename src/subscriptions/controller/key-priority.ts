import { assertSynchronous } from '../../util/type-guards.js'
import type { ReconcileContext } from './controller-types.js'

/** Returns a function that calls `priority`, and returns 0 if that fails. `failed` is called for the first failure. */
export function checkedPriority(
  priority: (key: string, reason: ReconcileContext<unknown>['reason']) => number,
  reasonOf: (key: string) => ReconcileContext<unknown>['reason'] | undefined,
  failed: (key: string, error: unknown) => void,
): (key: string) => number {
  let hasFailed = false
  return (key) => {
    try {
      const number = priority(key, reasonOf(key) ?? 'requeued')
      assertSynchronous(number, 'priority function')
      if (Number.isFinite(number)) return number
      throw new TypeError(`it returned ${number}`)
    } catch (error) {
      if (!hasFailed) failed(key, error)
      hasFailed = true
      return 0
    }
  }
}
