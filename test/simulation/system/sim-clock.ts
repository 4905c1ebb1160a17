import type { Clock } from '../../../src/contract/clock.js'

/** Something that happens at a moment. */
interface Due {
  readonly at: number
  readonly tie: number
  fire: (() => void) | undefined
}

/**
 * Virtual time. What is due at one moment happens in an order that `tie` draws. The caller takes one event at a time and
 * lets everything that follows from it happen before the next.
 */
export class SimClock {
  readonly #heap: Due[] = []
  readonly #tie: () => number
  #now = START
  /** How far time moves by itself each time somebody asks: our own code is slow. */
  driftMs = 0
  /** How much of the time went by unnoticed. */
  skipped = 0
  /** The last such time; none of it before there was one. */
  lastSkip: { readonly from: number; readonly to: number } = { from: 0, to: 0 }
  #reached = START

  constructor(tie: () => number) {
    this.#tie = tie
  }

  /** Since the beginning. */
  get elapsed(): number {
    return this.#now - START
  }

  /** All that was due before this has happened. Where our own code is slow, or was suspended, the time is later. */
  get reached(): number {
    return this.#reached - START
  }

  /** Calls `fn` once, later; the result takes it back. */
  in(ms: number, fn: () => void): () => void {
    const due: Due = { at: this.#now + Math.max(0, ms), tie: this.#tie(), fire: fn }
    push(this.#heap, due)
    return () => {
      due.fire = undefined
    }
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.in(ms, resolve))
  }

  /** Reads something, and no time passes though our own code is slow. */
  still<V>(read: () => V): V {
    const { driftMs } = this
    this.driftMs = 0
    try {
      return read()
    } finally {
      this.driftMs = driftMs
    }
  }

  /** Moves on without anything happening on the way: a machine that was suspended. */
  skip(ms: number): void {
    const from = this.elapsed
    this.#now += ms
    this.skipped += ms
    this.lastSkip = { from, to: this.elapsed }
  }

  /** Goes on to what is next, if it is due by then. False where nothing is. */
  advance(by: number): boolean {
    for (let next = this.#heap[0]; next !== undefined; next = this.#heap[0]) {
      if (next.fire !== undefined && next.at - START > by) break
      pop(this.#heap)
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

  /** The clock for the code under test, which counts the sleeps that it has not ended. */
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
          // Where our own code is slow, a turn of the event loop takes its time too.
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
  /** How many of them only gave the event loop a turn. */
  readonly yields: number
}

/** How much longer a turn takes than a look at the clock. */
const YIELD_FACTOR = 20
const START = Date.UTC(2026, 0, 1)

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie)
}

function push(heap: Due[], due: Due): void {
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

function pop(heap: Due[]): void {
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
