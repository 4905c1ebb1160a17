import type { Clock } from '../../contract/clock.js'
import { ABORTED } from '../../contract/errors.js'

/** A handler that has run for this many milliseconds is reported, once for each call. */
export const SLOW_MS = 10_000

interface Running {
  readonly key: string
  readonly since: number
  isReported: boolean
}

/** Reports handlers that do not settle in time. It has one timer while handlers run, and no timer otherwise. */
export class SlowHandlerMonitor {
  readonly #clock: Clock
  readonly #report: (key: string, ms: number) => void
  readonly #limitMs: number
  readonly #running = new Set<Running>()
  #timer: AbortController | undefined
  #isStopped = false
  /** Of the calls that have ended, the one that took the longest time. */
  slowest: { readonly key: string; readonly ms: number; readonly endedAt: number } | undefined

  constructor(clock: Clock, report: (key: string, ms: number) => void, limitMs: number = SLOW_MS) {
    this.#clock = clock
    this.#report = report
    this.#limitMs = limitMs
  }

  get longest(): { readonly key: string; readonly since: number } | undefined {
    const [first] = this.#running
    return first
  }

  /** The returned promise settles as `work` does. */
  monitor(key: string, work: PromiseLike<unknown>): Promise<void> {
    const running: Running = { key, since: this.#clock.now(), isReported: false }
    this.#running.add(running)
    const settled = this.#settled(running, work)
    const arm = (): void => {
      // Work that has settled already needs no timer.
      if (this.#running.has(running) && !this.#isStopped) this.#timer ??= this.#startTimer()
    }
    if (this.#timer === undefined) void Promise.resolve().then(arm)
    return settled
  }

  async #settled(running: Running, work: PromiseLike<unknown>): Promise<void> {
    try {
      await work
    } finally {
      this.#running.delete(running)
      const endedAt = this.#clock.now()
      const ms = endedAt - running.since
      if (this.slowest === undefined || ms > this.slowest.ms) this.slowest = { key: running.key, ms, endedAt }
      if (this.#running.size === 0) this.#endTimer()
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#endTimer()
  }

  #endTimer(): void {
    this.#timer?.abort(ABORTED)
    this.#timer = undefined
  }

  #startTimer(): AbortController {
    const timer = new AbortController()
    const check = async (): Promise<void> => {
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
    check().catch(() => {}) // `stop` aborts the sleep.
    return timer
  }
}
