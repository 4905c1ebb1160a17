/** Runs asynchronous writes one after the other, in the order of the calls. */
export class WriteQueue {
  #size = 0
  /** Settles when the last write has ended. */
  #last: Promise<void> = Promise.resolve()

  /** Whether a write runs or waits. */
  get isBusy(): boolean {
    return this.#size > 0
  }

  /** Resolves when all writes that are queued now have ended. */
  idle(): Promise<void> {
    return this.#last
  }

  /** Runs `write` after all earlier ones, at once if there are none. It may call `run` itself before it returns. */
  run(write: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const earlier = this.#last
    this.#last = promise
    const running = this.#size++ === 0 ? write() : earlier.then(write)
    const ended = (): void => {
      this.#size--
      resolve()
    }
    running.then(ended, ended)
    return running
  }
}
