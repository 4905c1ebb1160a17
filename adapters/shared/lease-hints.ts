import { type Clock, systemClock } from '../../src/contract/clock.js'

/**
 * Runs `listen` until the signal aborts, and again after a pause if it fails or ends. Hints may be missed meanwhile, so `changed` is
 * called when it runs again. An error is not reported: the renewals meet the same server, and report theirs.
 */
export async function keepListening(
  listen: () => Promise<void>,
  {
    changed,
    pauseMs,
    signal,
    clock = systemClock,
  }: {
    readonly changed: () => void
    readonly pauseMs: number
    readonly signal: AbortSignal
    readonly clock?: Clock
  },
): Promise<void> {
  while (!signal.aborted) {
    await listen().catch(() => {})
    await clock.sleep(pauseMs, signal).catch(() => {}) // It was aborted.
    if (!signal.aborted) changed()
  }
}
