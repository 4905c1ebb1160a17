import { type Clock, systemClock } from '../../src/contract/clock.js'

/** A clock that runs `times` times as fast as real time, so that minutes pass in seconds. */
export function fastClock(times: number): Clock {
  const start = systemClock.now()
  return {
    now: () => start + (systemClock.now() - start) * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  }
}

/** A clock that counts pending sleeps: after a stop there must be none. */
export class CountingClock implements Clock {
  #sleeping = 0
  readonly #clock: Clock

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  get sleeping(): number {
    return this.#sleeping
  }

  now(): number {
    return this.#clock.now()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.#sleeping++
    try {
      await this.#clock.sleep(ms, signal)
    } finally {
      this.#sleeping--
    }
  }
}
