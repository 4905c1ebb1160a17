import type { Clock } from './clock.js'
import { over } from './errors.js'

/**
 * Keys that wait to be worked on: each at most once, none while it is being worked on, some not before a given time.
 * A key that is added while it is being worked on waits again as soon as that is done.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #ready = new Set<string>()
  /** Keys that are being worked on, and whether they were added meanwhile. */
  readonly #running = new Map<string, boolean>()
  readonly #due = new Map<string, number>()
  /** A heap of [due, key], least first; what `#due` does not confirm is out of date. */
  readonly #heap: (readonly [number, string])[] = []
  #timer: { readonly due: number; readonly control: AbortController } | undefined

  /** `wake` is called when a key becomes ready. */
  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  /** How many keys are ready or being worked on. */
  get active(): number {
    return this.#ready.size + this.#running.size
  }

  /** How many keys wait for their time. */
  get delayed(): number {
    return this.#due.size
  }

  get running(): number {
    return this.#running.size
  }

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** Ready now, or as soon as the key is no longer being worked on. */
  add(key: string): void {
    if (this.#running.has(key)) {
      this.#running.set(key, true)
      return
    }
    this.#due.delete(key)
    if (this.#ready.has(key)) return
    this.#ready.add(key)
    this.#wake()
  }

  /** Ready at `due`; an earlier time that was set before stays. */
  addAt(key: string, due: number): void {
    if (due <= this.#clock.now()) {
      this.add(key)
      return
    }
    if (this.#ready.has(key) || (this.#due.get(key) ?? Infinity) <= due) return
    this.#due.set(key, due)
    push(this.#heap, [due, key])
    this.#arm()
  }

  /** The key that has been ready for longest; it counts as being worked on until `done`. */
  take(): string | undefined {
    for (const key of this.#ready) {
      this.#ready.delete(key)
      this.#due.delete(key)
      this.#running.set(key, false)
      return key
    }
    return undefined
  }

  /** The key is no longer worked on; unless `again` is false it is ready where it was added meanwhile. */
  done(key: string, again = true): void {
    const wasAdded = this.#running.get(key)
    this.#running.delete(key)
    if (wasAdded === true && again) this.add(key)
  }

  close(): void {
    this.#timer?.control.abort(over)
    this.#timer = undefined
    this.#ready.clear()
    this.#due.clear()
    this.#heap.length = 0
  }

  #arm(): void {
    while (this.#heap[0] !== undefined && this.#due.get(this.#heap[0][1]) !== this.#heap[0][0]) pop(this.#heap)
    const due = this.#heap[0]?.[0]
    if (due === this.#timer?.due) return
    this.#timer?.control.abort(over)
    this.#timer = undefined
    if (due === undefined) return
    const control = new AbortController()
    this.#timer = { due, control }
    this.#clock.sleep(due - this.#clock.now(), control.signal).then(
      () => {
        this.#timer = undefined
        this.#release()
      },
      () => {}, // Another time came first, or the queue was closed.
    )
  }

  #release(): void {
    const now = this.#clock.now()
    while (this.#heap[0] !== undefined && this.#heap[0][0] <= now) {
      const [due, key] = this.#heap[0]
      pop(this.#heap)
      if (this.#due.get(key) === due) this.add(key)
      if (this.#running.has(key)) this.#due.delete(key)
    }
    this.#arm()
  }
}

type Heap = (readonly [number, string])[]

function push(heap: Heap, item: readonly [number, string]): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!swapIfLess(heap, at, parent)) break
    at = parent
  }
}

function pop(heap: Heap): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  heap[0] = last
  for (let at = 0; ; ) {
    const left = 2 * at + 1
    const least = dueOf(heap, left + 1) < dueOf(heap, left) ? left + 1 : left
    if (!swapIfLess(heap, least, at)) break
    at = least
  }
}

function dueOf(heap: Heap, at: number): number {
  return heap[at]?.[0] ?? Infinity
}

function swapIfLess(heap: Heap, child: number, parent: number): boolean {
  const [low, high] = [heap[child], heap[parent]]
  if (low === undefined || high === undefined || low[0] >= high[0]) return false
  heap[child] = high
  heap[parent] = low
  return true
}
