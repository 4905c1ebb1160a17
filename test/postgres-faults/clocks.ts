import { type Clock, systemClock } from '../../src/contract/clock.js'

/** Time that runs so many times as fast as ours: what waits for minutes is tested in seconds. */
export function fastClock(times: number): Clock {
  const start = systemClock.now()
  return {
    now: () => start + (systemClock.now() - start) * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  }
}

/** Real time that knows how many sleep: after a stop, nobody may. */
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
