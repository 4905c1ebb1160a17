import type { Steps } from './steps.js'

/** Work that several callers perform together, each of them some of its steps. */
export class SharedSteps {
  readonly #begin: () => Steps
  #current: { readonly state: number; readonly steps: Steps } | undefined

  constructor(begin: () => Steps) {
    this.#begin = begin
  }

  /** Returns the steps that are left, or all of them if the work began in another state, or has ended. */
  at(state: number): Steps {
    if (this.#current?.state !== state) this.#current = { state, steps: this.#all() }
    return this.#current.steps
  }

  *#all(): Steps {
    try {
      yield* this.#begin()
    } finally {
      this.#current = undefined
    }
  }
}
