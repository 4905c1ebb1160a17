/** The listeners of a watch that are called when a waiter needs the current version of the source. */
export class ProgressRequests {
  readonly #listeners = new Set<() => void>()
  readonly #onError: (thrown: unknown) => void

  /** `onError` is called with what a listener throws. The waiters continue to wait then. */
  constructor(onError: (thrown: unknown) => void) {
    this.#onError = onError
  }

  /** Adds a listener. It is called at once if `isDue`. */
  add(listener: () => void, isDue: boolean): void {
    this.#listeners.add(listener)
    if (isDue) listener()
  }

  request(): void {
    for (const listener of this.#listeners) {
      try {
        listener()
      } catch (thrown) {
        this.#onError(thrown)
      }
    }
  }

  /** Removes all listeners: the watch has ended. */
  clear(): void {
    this.#listeners.clear()
  }
}
