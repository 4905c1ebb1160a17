import type { Clock } from '../../src/contract/clock.js'

/** A constant: an abort without a reason creates an error with a stack. */
const WOKEN = 'woken'

/** A sleep that can be ended early, for one sleeper. */
export class WakeableTimer {
  readonly #clock: Clock
  #sleeping: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async sleep(ms: number): Promise<void> {
    const sleeping = new AbortController()
    this.#sleeping = sleeping
    await this.#clock.sleep(ms, sleeping.signal).catch(() => {}) // It was woken.
    this.#sleeping = undefined
  }

  wake(): void {
    this.#sleeping?.abort(WOKEN)
  }
}
