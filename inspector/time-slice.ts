import { SLICE_MS } from '../src/util/time-slice.js'

/** Work that waits for its next slice. */
const waiting: (() => void)[] = []

/** Lets the event loop run between the parts of long work. In each turn, all work of the process has one slice. */
export class TimeSlice {
  readonly #signal: AbortSignal
  #until = -Infinity

  /** The work ends with the reason of `signal`. */
  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** Whether the work should wait for its next slice. A loop asks it before `end`, because an `await` takes longer. */
  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  /** Waits for the event loop if the slice is over. Rejects with the signal's reason. */
  async end(): Promise<void> {
    if (!this.isOver) return
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(beginNext)
    })
    this.#signal.throwIfAborted()
    this.#until = performance.now() + SLICE_MS
  }

  async perform(steps: Iterable<void>): Promise<void> {
    for (const _ of steps) if (this.isOver) await this.end()
  }
}

function beginNext(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setImmediate(beginNext)
}
