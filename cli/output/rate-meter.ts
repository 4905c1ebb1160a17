import { systemClock } from '../../src/contract/clock.js'

export class RateMeter {
  readonly #startedAt = systemClock.now()
  readonly #perSecond = new Map<number, number>()
  #lags: number[] = []
  #total = 0

  get total(): number {
    return this.#total
  }

  add(lagMs: number | undefined): void {
    this.#total++
    const second = Math.floor(systemClock.now() / 1_000)
    this.#perSecond.set(second, (this.#perSecond.get(second) ?? 0) + 1)
    if (lagMs === undefined) return
    this.#lags.push(lagMs)
    if (this.#lags.length > 2_000) this.#lags = this.#lags.slice(-1_000)
  }

  /** Changes per second, over the last three whole seconds. */
  get rate(): number {
    const now = Math.floor(systemClock.now() / 1_000)
    for (const second of this.#perSecond.keys()) if (second < now - 3) this.#perSecond.delete(second)
    const seconds = Math.min(3, Math.max(1, now - Math.floor(this.#startedAt / 1_000)))
    let count = 0
    for (let second = now - seconds; second < now; second++) count += this.#perSecond.get(second) ?? 0
    return Math.round(count / seconds)
  }

  /** The quantile `part` of the newest 1 000 lags, in milliseconds; undefined if there are none. */
  lag(part: number): number | undefined {
    const sorted = this.#lags.slice(-1_000).sort((a, b) => a - b)
    const lag = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
    return lag === undefined ? undefined : Math.round(lag)
  }
}
