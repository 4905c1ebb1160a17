import { type DueItem, popDue, pushDue } from '../system/due-heap.js'

interface Event extends DueItem {
  perform(): void
}

/** Events in the order of their times. Those with the same time are in the order of the calls. */
export class EventQueue {
  readonly #heap: Event[] = []
  #order = 0
  #now = 0

  get now(): number {
    return this.#now
  }

  at(at: number, perform: () => void): void {
    pushDue(this.#heap, { at: Math.max(at, this.#now), tie: this.#order++, perform })
  }

  /** Performs the next event that is not after `end`. Returns false if there is none: then it is `end`. */
  next(end: number): boolean {
    const [first] = this.#heap
    if (first === undefined || first.at > end) {
      this.#now = end
      return false
    }
    popDue(this.#heap)
    this.#now = first.at
    first.perform()
    return true
  }
}
