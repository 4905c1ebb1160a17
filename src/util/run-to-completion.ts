/**
 * Runs actions one after the other. An action that is deferred while `run` or another deferred action executes starts
 * after that one has returned, in the order of the calls. So callbacks never see, or change, a half-done step.
 */
export class RunToCompletion {
  readonly #deferred: (() => void)[] = []
  #running = 0
  #isDraining = false

  /** Calls `action` now, also inside another one. Deferred actions start after the outermost `run` has returned. */
  run<V>(action: () => V): V {
    this.#running++
    try {
      return action()
    } finally {
      this.#running--
      this.#drain()
    }
  }

  /** Calls the actions now, or as soon as the running ones have returned. */
  defer(...actions: readonly (() => void)[]): void {
    this.#deferred.push(...actions)
    this.#drain()
  }

  #drain(): void {
    if (this.#running > 0 || this.#isDraining) return
    this.#isDraining = true
    try {
      for (let next = this.#deferred.shift(); next !== undefined; next = this.#deferred.shift()) next()
    } finally {
      this.#isDraining = false
    }
  }
}
