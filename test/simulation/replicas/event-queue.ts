interface Event {
  readonly at: number
  readonly order: number
  perform(): void
}

/** Events in the order of their times: a binary heap. */
export class EventQueue {
  readonly #heap: Event[] = []
  #order = 0
  #now = 0

  get now(): number {
    return this.#now
  }

  at(at: number, perform: () => void): void {
    const heap = this.#heap
    heap.push({ at: Math.max(at, this.#now), order: this.#order++, perform })
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!isBefore(heap[child], heap[parent])) break
      this.#swap(child, parent)
      child = parent
    }
  }

  /** Performs the next event that is not after `end`. Returns false if there is none: then it is `end`. */
  next(end: number): boolean {
    const [first] = this.#heap
    if (first === undefined || first.at > end) {
      this.#now = end
      return false
    }
    const last = this.#heap.pop() as Event
    if (this.#heap.length > 0) {
      this.#heap[0] = last
      this.#sink()
    }
    this.#now = first.at
    first.perform()
    return true
  }

  #sink(): void {
    const heap = this.#heap
    for (let parent = 0; ; ) {
      let least = 2 * parent + 1
      if (least >= heap.length) return
      if (isBefore(heap[least + 1], heap[least])) least++
      if (!isBefore(heap[least], heap[parent])) return
      this.#swap(least, parent)
      parent = least
    }
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a] as Event, this.#heap[b] as Event]
    this.#heap[a] = second
    this.#heap[b] = first
  }
}

function isBefore(a: Event | undefined, b: Event | undefined): boolean {
  return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order))
}
