import type { ListerWatcher, SourceContext } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { OnOtherEpoch } from '../../subscriptions/version-waiters.js'
import type { Settle } from '../../util/deadline.js'
import { headOnce } from './head-request.js'

/**
 * Decides about waits for marks of another epoch than that of the store. The source may be in that epoch already,
 * before the store shows it. The head of the source, read after the wait began, shows the epoch of the source. If it
 * cannot be read now, the wait continues. After an abort of the signal in `context`, nothing is decided.
 */
export function epochCheck(source: ListerWatcher<unknown>, context: SourceContext, mirror: () => object): OnOtherEpoch {
  /** Waits that began after the last read of the head. */
  const waiting = new Map<Settle<void>, { readonly mark: Version; readonly error: unknown }>()
  let isReading = false
  const isOther = (head: Version | undefined, mark: Version): boolean => {
    if (head === undefined) return false
    try {
      source.hasReached?.(head, mark)
      return false
    } catch {
      return true
    }
  }
  /** One request at a time, for all waits that began before it. */
  const readHead = async (): Promise<void> => {
    isReading = true
    while (waiting.size > 0 && !context.signal.aborted) {
      const asked = [...waiting]
      waiting.clear()
      try {
        const head = await headOnce(source, { ...context, mirror: mirror() })
        for (const [settle, { mark, error }] of asked) if (isOther(head, mark)) settle.reject(error)
      } catch {
        // Requested again after the next batch or list.
      }
    }
    isReading = false
  }
  return (settle, mark, error) => {
    if (context.signal.aborted) return
    waiting.set(settle, { mark, error })
    if (!isReading) void readHead()
  }
}
