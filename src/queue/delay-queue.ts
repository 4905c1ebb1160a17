import type { Clock } from '../contract/clock.js'
import { ABORTED } from '../contract/errors.js'

type Heap = (readonly [due: number, key: string])[]

/** So many entries that are out of date may be kept, however few keys wait. */
const FEW = 16

/** Keys that each wait for a time: of those that are set for one, the earliest. One timer, however many there are. */
export class Delays {
  readonly #clock: Clock
  readonly #onDue: (key: string) => void
  readonly #due = new Map<string, number>()
  /** Least first; what `#due` does not confirm is out of date. Never much more than twice what waits. */
  #heap: Heap = []
  #timer: { readonly due: number; readonly control: AbortController } | undefined

  /** `onDue` is called at the time of a key, which waits no more then. */
  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  /** How many keys wait. */
  get size(): number {
    return this.#due.size
  }

  /** How many times are kept of them. */
  get held(): number {
    return this.#heap.length
  }

  /** An earlier time that was set before stays. */
  set(key: string, due: number): void {
    if ((this.#due.get(key) ?? Infinity) <= due) return
    this.#due.set(key, due)
    push(this.#heap, [due, key])
    this.#tidy()
    this.#arm()
  }

  delete(key: string): void {
    if (this.#due.delete(key)) this.#tidy()
  }

  clear(): void {
    this.#timer?.control.abort(ABORTED)
    this.#timer = undefined
    this.#due.clear()
    this.#heap = []
  }

  #tidy(): void {
    if (this.#heap.length <= 2 * this.#due.size + FEW) return
    // What is sorted is a heap.
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
      () => {}, // Another time came first, or nobody waits any more.
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

  /** What comes first of what is confirmed; what was before it is dropped. */
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
