import type { Clock } from '../../../src/contract/clock.js'

/** A callback that is due at a time. Of several with the same time the lowest `tie` is first. */
type Due = { readonly at: number; readonly tie: number; fire: (() => void) | undefined }

/**
 * Virtual time. Callbacks that are due at the same time are called in an order that `tie` draws. The caller takes one
 * callback at a time, and lets everything that follows from it happen before the next.
 */
export class SimClock {
  readonly #heap: Due[] = []
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
    pushDue(this.#heap, due)
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
    for (let next = this.#heap[0]; next !== undefined; next = this.#heap[0]) {
      if (next.fire !== undefined && next.at - START > by) break
      popDue(this.#heap)
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

/** Adds an item to a binary heap, whose first item is the next one. */
function pushDue(heap: Due[], due: Due): void {
  let at = heap.push(due) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent]
    if (above === undefined || !isBefore(due, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = due
}

/** Removes the first item of a heap. */
function popDue(heap: Due[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    let least = heap[child]
    const right = heap[child + 1]
    if (least !== undefined && right !== undefined && isBefore(right, least)) {
      least = right
      child++
    }
    if (least === undefined || !isBefore(least, last)) break
    heap[at] = least
    at = child
  }
  heap[at] = last
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie)
}
