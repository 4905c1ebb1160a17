import type { Clock } from '../../src/contract/clock.js'

/** Time that passes only during `work`. Sleepers that are due by then are woken afterwards, in order. */
export class BusyClock implements Clock {
  readonly #sleepers = new Set<{ readonly due: number; readonly wake: () => void }>()
  #now = 0

  now(): number {
    return this.#now
  }

  /** Lets time pass synchronously, so that no other code runs meanwhile. */
  work(ms: number): void {
    this.#now += ms
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const abort = (): void => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      const wake = (): void => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      const sleeper = { due: this.#now + Math.max(0, ms), wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Waits for `count` turns of the event loop. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      const due = [...this.#sleepers].filter((sleeper) => sleeper.due <= this.#now)
      for (const { wake } of due.sort((a, b) => a.due - b.due)) wake()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}
