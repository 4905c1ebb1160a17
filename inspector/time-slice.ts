import { SLICE_MS } from '../src/util/time-slice.js'

/** Lets the event loop run between the parts of long work. */
export class TimeSlice {
  #since = performance.now()

  /** Waits for the event loop if the slice is over. Rejects with the signal's reason. */
  async end(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    signal.throwIfAborted()
    this.#since = performance.now()
  }
}
