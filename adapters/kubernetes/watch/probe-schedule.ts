/** Most awaited versions arrive by themselves within this number of milliseconds. */
const FIRST_DELAY_MS = 250
/** The shortest time between two probes, in milliseconds. It grows after several inconclusive probes. */
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
const EAGER_PROBES = 3
/** The delay after a failed probe if the server requests none, in milliseconds. */
export const BUSY_MS: number = 5_000
/** The shortest time between two probes while events arrive, in milliseconds. */
const SPACING_MS = 10_000

/** Schedules the probes for readers that wait for a version. Times are those of a `Clock`. */
export class ProbeSchedule {
  /** When the next probe is due; undefined if none is. */
  at: number | undefined
  #startedAt = -Infinity
  #inconclusive = 0

  /** A reader waits. Probes start at most once a second, however many readers wait. */
  request(now: number): void {
    this.#inconclusive = 0
    this.at ??= Math.max(now + FIRST_DELAY_MS, this.#startedAt + RETRY_MS)
  }

  /** Events have arrived. They most likely include the awaited version; otherwise the probe can wait. */
  postpone(): void {
    if (this.at !== undefined) this.at = Math.max(this.at, this.#startedAt + SPACING_MS)
  }

  start(now: number): void {
    this.at = undefined
    this.#startedAt = now
  }

  cancel(): void {
    this.at = undefined
  }

  /** A probe has ended without the awaited version. `retryAfterMs` is the delay that the server requested. */
  recordInconclusive(now: number, retryAfterMs = 0): void {
    const afterMs = Math.min(RETRY_MS * 2 ** Math.max(0, ++this.#inconclusive - EAGER_PROBES), MAX_RETRY_MS)
    this.at = now + Math.max(afterMs, retryAfterMs)
  }

  recordFailure(now: number, retryAfterMs = 0): void {
    this.recordInconclusive(now, Math.max(retryAfterMs, BUSY_MS))
  }
}
