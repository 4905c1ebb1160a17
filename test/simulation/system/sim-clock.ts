import type { Clock } from '../../../src/contract/clock.js'

/** A callback that is due at a time. Of several with the same time the lowest `tie` is first. */
type Due = { readonly at: number; readonly tie: number; fire: (() => void) | undefined }

/**
 * Virtual time. Callbacks that are due at the same time are called in an order that `tie` draws. The caller takes one
 * callback at a time, and lets everything that follows from it happen before the next.
 */
export class SimClock {
  /** The next one is first. */
  readonly #due: Due[] = []
  readonly #tie: () => number
  #now = START
  /** The time that passes with each read of the clock: simulates slow code, in milliseconds. */
  driftMs = 0
  /** The total time that passed while the machine was suspended. */
  skipped = 0
  /** The last suspension; empty before the first. */
  lastSkip: { readonly from: number; readonly to: number } = { from: 0, to: 0 }
  #reached = START

  constructor(tie: () => number) {
    this.#tie = tie
  }

  /** The time in milliseconds since the Unix epoch. */
  get wall(): number {
    return this.#now
  }

  /** The milliseconds since the beginning. */
  get elapsed(): number {
    return this.#now - START
  }

  /** The same without the time of suspensions. */
  get awake(): number {
    return this.elapsed - this.skipped
  }

  /** Everything due before this time has happened. With slow code or a suspension, the time is later. */
  get reached(): number {
    return this.#reached - START
  }

  /** Calls `fn` once, later. The result cancels the call. */
  in(ms: number, fn: () => void): () => void {
    const due: Due = { at: this.#now + Math.max(0, ms), tie: this.#tie(), fire: fn }
    this.#due.splice(this.#due.findLastIndex((earlier) => isBefore(earlier, due)) + 1, 0, due)
    return () => (due.fire = undefined)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.in(ms, resolve))
  }

  still<V>(read: () => V): V {
    const { driftMs } = this
    this.driftMs = 0
    try {
      return read()
    } finally {
      this.driftMs = driftMs
    }
  }

  /** Advances the time without calling anything: a machine that was suspended. */
  skip(ms: number): void {
    const from = this.elapsed
    this.#now += ms
    this.skipped += ms
    this.lastSkip = { from, to: this.elapsed }
  }

  /** Advances to the next callback if it is due by then. False if there is none. */
  advance(by: number): boolean {
    for (let [next] = this.#due; next !== undefined; [next] = this.#due) {
      if (next.fire !== undefined && next.at - START > by) break
      this.#due.shift()
      if (next.fire === undefined) continue
      if (next.at > this.#now) this.#now = next.at
      this.#reached = next.at
      const { fire } = next
      next.fire = undefined
      fire()
      return true
    }
    if (this.elapsed < by) this.#now = START + by
    this.#reached = Math.max(this.#reached, START + by)
    return false
  }

  facade(): SleepCounter {
    const counter = {
      sleeping: 0,
      yields: 0,
      now: (): number => {
        this.#now += this.driftMs
        return this.#now
      },
      sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) {
            reject(signal.reason)
            return
          }
          const yielded = ms > 0 ? 0 : 1
          counter.sleeping++
          counter.yields += yielded
          const end = (): void => {
            counter.sleeping--
            counter.yields -= yielded
          }
          const abort = (): void => {
            cancel()
            end()
            reject(signal?.reason)
          }
          // With slow code, a yield to the event loop takes time too.
          const cancel = this.in(yielded === 0 ? ms : YIELD_FACTOR * this.driftMs * this.#tie(), () => {
            end()
            signal?.removeEventListener('abort', abort)
            resolve()
          })
          signal?.addEventListener('abort', abort, { once: true })
        }),
    }
    return counter
  }
}

export interface SleepCounter extends Clock {
  readonly sleeping: number
  /** How many of them only yield to the event loop. */
  readonly yields: number
}

/** How much longer a yield takes than a clock read. */
const YIELD_FACTOR = 20
const START = Date.UTC(2026, 0, 1)

const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.tie < b.tie)
