import { useCallback, useSyncExternalStore } from 'react'
import type { Status } from '../../src/contract/status.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { signalOf } from './signal-of.js'

/** The last status of each informer that a component has read. Components share it. */
const known = new WeakMap<object, Status>()

/**
 * Returns the status of an informer. The component renders again when its state, `isSynced`, its reason or its last
 * error has changed. Ages such as `silentMs`, and `version`, are those of that change.
 *
 * @returns The status at the last such change.
 * @throws TypeError if `informer` is not an informer that `createInformer` returned.
 *
 * @example
 * ```ts
 * import { useStatus } from 'listwatch/react'
 *
 * function Connection(): string {
 *   const { isSynced, lastError } = useStatus(orders)
 *   return isSynced ? 'ready' : (lastError?.message ?? 'loading')
 * }
 * ```
 */
export function useStatus<T>(informer: Informer<T, object>): Status {
  signalOf('useStatus', informer)
  const listen = useCallback(
    (listener: () => void) => {
      const call = (): void => listener()
      informer.on('status', call)
      return () => informer.off('status', call)
    },
    [informer],
  )
  const read = (): Status => {
    const now = informer.status
    const before = known.get(informer)
    if (before !== undefined && isSame(before, now)) return before
    known.set(informer, now)
    return now
  }
  return useSyncExternalStore(listen, read, read)
}

function isSame(a: Status, b: Status): boolean {
  return (
    a.state === b.state &&
    a.isSynced === b.isSynced &&
    a.reason === b.reason &&
    a.lastError === b.lastError &&
    a.attempt === b.attempt &&
    a.savedAt === b.savedAt
  )
}
