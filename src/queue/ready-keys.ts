import { firstIndex } from '../util/binary-search.js'
import { KeyOrder } from './key-order.js'

/** The keys that wait to be processed, each once. */
export interface ReadyKeys {
  readonly size: number
  /** Adds a key. Returns false if it is there already; then only its place may change. */
  add(key: string, isLast: boolean): boolean
  has(key: string): boolean
  /** Removes and returns the next key. */
  take(): string | undefined
  clear(): void
}

/** Keys in the order in which they were added. */
class Fifo {
  readonly #keys = new Set<string>()
  readonly #order = new KeyOrder(this.#keys)

  get size(): number {
    return this.#keys.size
  }

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  add(key: string): void {
    this.#keys.add(key)
  }

  delete(key: string): boolean {
    return this.#keys.delete(key)
  }

  take(): string | undefined {
    const key = this.#order.next()
    if (key !== undefined) this.#keys.delete(key)
    return key
  }

  clear(): void {
    this.#keys.clear()
  }
}

/** Keys in the order in which they were added, those with `isLast` after all others. */
export class OrderedKeys implements ReadyKeys {
  readonly #first = new Fifo()
  readonly #last = new Fifo()

  get size(): number {
    return this.#first.size + this.#last.size
  }

  has(key: string): boolean {
    return this.#first.has(key) || this.#last.has(key)
  }

  add(key: string, isLast: boolean): boolean {
    if (this.#first.has(key)) return false
    if (isLast) {
      if (this.#last.has(key)) return false
      this.#last.add(key)
      return true
    }
    const isNew = this.#last.size === 0 || !this.#last.delete(key)
    this.#first.add(key)
    return isNew
  }

  take(): string | undefined {
    return this.#first.take() ?? this.#last.take()
  }

  clear(): void {
    this.#first.clear()
    this.#last.clear()
  }
}

/** Keys by priority, the highest first. Keys of equal priority are in the order in which they were added. */
export class PrioritizedKeys implements ReadyKeys {
  readonly #priorityOf: (key: string) => number
  readonly #levels = new Map<number, Fifo>()
  /** The priorities of the levels, the highest last. Invariant: no level is empty. */
  readonly #order: number[] = []
  readonly #known = new Map<string, number>()

  /** `priorityOf` is called when a key is added, also if it is there already. */
  constructor(priorityOf: (key: string) => number) {
    this.#priorityOf = priorityOf
  }

  get size(): number {
    return this.#known.size
  }

  has(key: string): boolean {
    return this.#known.has(key)
  }

  add(key: string): boolean {
    const priority = this.#priorityOf(key)
    const known = this.#known.get(key)
    if (known === priority) return false
    if (known !== undefined) this.#leave(known, (level) => level.delete(key))
    this.#known.set(key, priority)
    this.#level(priority).add(key)
    return known === undefined
  }

  take(): string | undefined {
    const highest = this.#order.at(-1)
    const key = highest === undefined ? undefined : this.#leave(highest, (level) => level.take())
    if (key !== undefined) this.#known.delete(key)
    return key
  }

  clear(): void {
    this.#levels.clear()
    this.#order.length = 0
    this.#known.clear()
  }

  #level(priority: number): Fifo {
    let level = this.#levels.get(priority)
    if (level === undefined) {
      level = new Fifo()
      this.#levels.set(priority, level)
      this.#order.splice(this.#indexOf(priority), 0, priority)
    }
    return level
  }

  #leave<R>(priority: number, remove: (level: Fifo) => R): R | undefined {
    const level = this.#levels.get(priority)
    if (level === undefined) return undefined
    const removed = remove(level)
    if (level.size === 0) {
      this.#levels.delete(priority)
      this.#order.splice(this.#indexOf(priority), 1)
    }
    return removed
  }

  /** The index of a priority in the order, or that at which it belongs. */
  #indexOf(priority: number): number {
    return firstIndex(this.#order.length, (at) => (this.#order[at] ?? 0) >= priority)
  }
}
