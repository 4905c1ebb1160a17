import { firstIndex } from '../util/binary-search.js'

/** A key that can wait to be processed. Its owner keeps it for as long as it waits. */
export interface ReadyKey {
  readonly key: string
  /** The list in which it waits. */
  list: ReadyList | undefined
  previous: ReadyKey | undefined
  next: ReadyKey | undefined
}

/** The keys that wait to be processed, each once. */
export interface ReadyKeys {
  readonly size: number
  /** Adds a key. Returns false if it waits already; then only its place may change. */
  add(item: ReadyKey, isLast: boolean): boolean
  /** Removes and returns the next key. */
  take(): string | undefined
  /** Removes all keys. None of them can be added again. */
  clear(): void
}

/**
 * Keys in the order in which they were added: a linked list. A set of keys would stop the process when it grows: the
 * growth of a set of 262 144 keys takes up to 30 ms.
 */
class ReadyList {
  readonly priority: number
  size = 0
  #first: ReadyKey | undefined
  #last: ReadyKey | undefined

  constructor(priority = 0) {
    this.priority = priority
  }

  add(item: ReadyKey): void {
    item.list = this
    item.previous = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
    this.size++
  }

  delete(item: ReadyKey): void {
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.list = undefined
    item.previous = undefined
    item.next = undefined
    this.size--
  }

  take(): string | undefined {
    const item = this.#first
    if (item !== undefined) this.delete(item)
    return item?.key
  }

  clear(): void {
    this.#first = undefined
    this.#last = undefined
    this.size = 0
  }
}

/** Keys in the order in which they were added, those with `isLast` after all others. */
export class OrderedKeys implements ReadyKeys {
  readonly #first = new ReadyList()
  readonly #last = new ReadyList()

  get size(): number {
    return this.#first.size + this.#last.size
  }

  add(item: ReadyKey, isLast: boolean): boolean {
    const { list } = item
    if (list === undefined) {
      const target = isLast ? this.#last : this.#first
      target.add(item)
      return true
    }
    if (!isLast && list === this.#last) {
      list.delete(item)
      this.#first.add(item)
    }
    return false
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
  /** By priority, the highest last. Invariant: no list is empty. */
  readonly #lists: ReadyList[] = []
  #size = 0

  /** `priorityOf` is called when a key is added, also if it is there already. */
  constructor(priorityOf: (key: string) => number) {
    this.#priorityOf = priorityOf
  }

  get size(): number {
    return this.#size
  }

  add(item: ReadyKey): boolean {
    const priority = this.#priorityOf(item.key)
    const { list } = item
    if (list?.priority === priority) return false
    if (list === undefined) this.#size++
    else {
      list.delete(item)
      this.#dropIfEmpty(list)
    }
    this.#listOf(priority).add(item)
    return list === undefined
  }

  take(): string | undefined {
    const highest = this.#lists.at(-1)
    const key = highest?.take()
    if (highest === undefined || key === undefined) return undefined
    this.#size--
    this.#dropIfEmpty(highest)
    return key
  }

  clear(): void {
    this.#lists.length = 0
    this.#size = 0
  }

  #listOf(priority: number): ReadyList {
    const at = this.#indexOf(priority)
    const known = this.#lists[at]
    if (known?.priority === priority) return known
    const list = new ReadyList(priority)
    this.#lists.splice(at, 0, list)
    return list
  }

  #dropIfEmpty(list: ReadyList): void {
    if (list.size === 0) this.#lists.splice(this.#indexOf(list.priority), 1)
  }

  /** The index of a priority, or that at which it belongs. */
  #indexOf(priority: number): number {
    return firstIndex(this.#lists.length, (at) => (this.#lists[at]?.priority ?? 0) >= priority)
  }
}
