import { systemClock } from '../../src/contract/clock.js'

/**
 * Runs `listen` until the signal aborts, and again after a fifth of a lease if it fails or ends. Hints may be missed
 * meanwhile, so `changed` is called when it runs again. An error is not reported: the renewals meet the same server,
 * and report theirs.
 */
export async function keepListening(
  listen: () => Promise<void>,
  {
    changed,
    leaseMs,
    signal,
  }: { readonly changed: () => void; readonly leaseMs: number; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await listen().catch(() => {})
    await systemClock.sleep(leaseMs / 5, signal).catch(() => {}) // It was aborted.
    if (!signal.aborted) changed()
  }
}
