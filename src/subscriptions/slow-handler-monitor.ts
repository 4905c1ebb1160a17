import type { Clock } from '../contract/clock.js'
import { ABORTED } from '../contract/errors.js'

/** A handler that has not settled for this long is reported, once for each time. */
export const SLOW_MS = 10_000

interface Running {
  readonly key: string
  readonly since: number
  isReported: boolean
}

/** Notices work that does not end. One timer however much runs, and none while nothing does. */
export class SlowWatch {
  readonly #clock: Clock
  readonly #report: (key: string, ms: number) => void
  readonly #limitMs: number
  readonly #running = new Set<Running>()
  #timer: AbortController | undefined

  constructor(clock: Clock, report: (key: string, ms: number) => void, limitMs: number = SLOW_MS) {
    this.#clock = clock
    this.#report = report
    this.#limitMs = limitMs
  }

  get size(): number {
    return this.#running.size
  }

  /** The work that has run for longest. */
  get longest(): { readonly key: string; readonly since: number } | undefined {
    const [first] = this.#running
    return first
  }

  /** Watches `work` until it settles, and settles as it does. */
  async during(key: string, work: PromiseLike<unknown>): Promise<void> {
    const running: Running = { key, since: this.#clock.now(), isReported: false }
    this.#running.add(running)
    this.#timer ??= this.#watch()
    try {
      await work
    } finally {
      this.#running.delete(running)
      if (this.#running.size === 0) this.stop()
    }
  }

  stop(): void {
    this.#timer?.abort(ABORTED)
    this.#timer = undefined
  }

  #watch(): AbortController {
    const timer = new AbortController()
    const look = async (): Promise<void> => {
      for (;;) {
        await this.#clock.sleep(this.#limitMs, timer.signal)
        for (const running of this.#running) {
          const ms = this.#clock.now() - running.since
          if (running.isReported || ms < this.#limitMs) continue
          running.isReported = true
          this.#report(running.key, ms)
        }
      }
    }
    look().catch(() => {}) // Only ever ended by `stop`.
    return timer
  }
}
