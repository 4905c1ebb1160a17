import { ABORTED } from '../../../src/contract/errors.js'
import type { ListContext } from '../../../src/contract/source.js'

/**
 * The core's limit of 30 s without a page knows nothing of the longer deadlines of credentials and requests, in
 * milliseconds.
 */
const REPORT_MS = 10_000

/** Reports progress to the core every 10 s until the result is called. The caller limits each of its own waits. */
export function reportProgress(context: ListContext): () => void {
  const stopped = new AbortController()
  const report = async (): Promise<void> => {
    for (;;) {
      await context.clock.sleep(REPORT_MS, stopped.signal)
      context.alive?.()
    }
  }
  report().catch(() => {})
  return () => stopped.abort(ABORTED)
}
