export class SerialQueue {
  #size = 0
  /** Settles when the last action has ended. */
  #last: Promise<void> = Promise.resolve()

  get isBusy(): boolean {
    return this.#size > 0
  }

  /** Resolves when all actions that are queued now have ended. */
  idle(): Promise<void> {
    return this.#last
  }

  /** Runs `action` after all earlier ones, at once if there are none. It may call `run` itself before it returns. */
  run(action: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const earlier = this.#last
    this.#last = promise
    const running = this.#size++ === 0 ? action() : earlier.then(action)
    const ended = (): void => {
      this.#size--
      resolve()
    }
    running.then(ended, ended)
    return running
  }
}
