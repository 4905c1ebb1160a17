import { SLICE_MS } from '../src/util/time-slice.js'

/** Work that waits for its next slice. */
const waiting: (() => void)[] = []

/**
 * Lets the event loop run between the parts of long work. All work of the process has one slice in each of its turns.
 */
export class TimeSlice {
  #until = -Infinity

  /** Waits for the event loop if the slice is over. Rejects with the signal's reason. */
  async end(signal: AbortSignal): Promise<void> {
    if (performance.now() < this.#until) return
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(beginNext)
    })
    signal.throwIfAborted()
    this.#until = performance.now() + SLICE_MS
  }
}

function beginNext(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setImmediate(beginNext)
}
