import type { Clock } from '../contract/clock.js'
import { ABORTED } from '../contract/errors.js'

type Heap = (readonly [due: number, key: string])[]

/** The heap may always keep this many outdated entries. */
const OUTDATED_ALLOWED = 16

/** Calls back for each key at its time, the earliest of the times scheduled for it. Uses one timer for all keys. */
export class DelayQueue {
  readonly #clock: Clock
  readonly #onDue: (key: string) => void
  readonly #due = new Map<string, number>()
  /** Outdated entries differ from `#due`. Invariant: at most twice as many as keys, and `OUTDATED_ALLOWED` more. */
  #heap: Heap = []
  #timer: { readonly due: number; readonly control: AbortController } | undefined

  /** `onDue` is called at the time of a key. The key has left the queue by then. */
  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  get size(): number {
    return this.#due.size
  }

  get heapSize(): number {
    return this.#heap.length
  }

  /** Schedules a key at `due`. An earlier time of the key is kept. */
  schedule(key: string, due: number): void {
    if ((this.#due.get(key) ?? Infinity) <= due) return
    this.#due.set(key, due)
    push(this.#heap, [due, key])
    this.#dropOutdated()
    this.#arm()
  }

  delete(key: string): void {
    if (this.#due.delete(key)) this.#dropOutdated()
  }

  clear(): void {
    this.#timer?.control.abort(ABORTED)
    this.#timer = undefined
    this.#due.clear()
    this.#heap = []
  }

  #dropOutdated(): void {
    if (this.#heap.length <= 2 * this.#due.size + OUTDATED_ALLOWED) return
    // A sorted array is a heap.
    this.#heap = Array.from(this.#due, ([key, due]) => [due, key] as const).sort(([a], [b]) => a - b)
  }

  #arm(): void {
    const due = this.#first()?.[0]
    if (due === this.#timer?.due) return
    this.#timer?.control.abort(ABORTED)
    this.#timer = undefined
    if (due === undefined) return
    const control = new AbortController()
    this.#timer = { due, control }
    this.#clock.sleep(due - this.#clock.now(), control.signal).then(
      () => {
        this.#timer = undefined
        this.#release()
      },
      () => {}, // Aborted: the earliest time changed.
    )
  }

  #release(): void {
    const now = this.#clock.now()
    for (let first = this.#first(); first !== undefined && first[0] <= now; first = this.#first()) {
      const [, key] = first
      this.#due.delete(key)
      this.#onDue(key)
    }
    this.#arm()
  }

  /** Removes outdated entries from the top of the heap, and returns the first valid one. */
  #first(): Heap[number] | undefined {
    for (;;) {
      const [first] = this.#heap
      if (first === undefined || this.#due.get(first[1]) === first[0]) return first
      pop(this.#heap)
    }
  }
}

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
