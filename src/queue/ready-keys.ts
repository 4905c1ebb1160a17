import { firstIndex } from '../util/binary-search.js'

/** A key that can wait to be processed. Its owner keeps it for as long as it waits. */
export interface ReadyKey {
  readonly key: string
  list: ReadyList | undefined
  previous: ReadyKey | undefined
  next: ReadyKey | undefined
}

/** A linked list: the growth of a set of 262 144 keys would stop the process for up to 30 ms. */
class ReadyList {
  readonly priority: number
  size = 0
  #first: ReadyKey | undefined
  #last: ReadyKey | undefined

  constructor(priority: number) {
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
}

/** The keys that wait, each once, by priority, the highest first. Equal ones are in the order of their additions. */
export class ReadyKeys {
  readonly #priorityOf: ((key: string) => number) | undefined
  /** By priority, the highest last. Invariant: none of several lists is empty. */
  readonly #lists: ReadyList[] = []
  size = 0

  /** `priorityOf` is called at each addition. Without it, only keys that are added with `isLast` come last. */
  constructor(priorityOf?: (key: string) => number) {
    this.#priorityOf = priorityOf
  }

  /** Adds a key. Returns false if it waits already; then only its place may change. */
  add(item: ReadyKey, isLast: boolean): boolean {
    const priority = this.#priorityOf === undefined ? Number(!isLast) : this.#priorityOf(item.key)
    const { list } = item
    const isBehind = isLast && this.#priorityOf === undefined
    if (list?.priority === priority || (list !== undefined && isBehind)) return false
    if (list === undefined) this.size++
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
    this.size--
    this.#dropIfEmpty(highest)
    return key
  }

  /** Removes all keys. None of them can be added again. */
  clear(): void {
    this.#lists.length = 0
    this.size = 0
  }

  #listOf(priority: number): ReadyList {
    const highest = this.#lists.at(-1)
    if (highest?.priority === priority) return highest
    if (highest?.size === 0) this.#lists.pop()
    const at = this.#indexOf(priority)
    const known = this.#lists[at]
    if (known?.priority === priority) return known
    const list = new ReadyList(priority)
    this.#lists.splice(at, 0, list)
    return list
  }

  #dropIfEmpty(list: ReadyList): void {
    if (list.size === 0 && this.#lists.length > 1) this.#lists.splice(this.#indexOf(list.priority), 1)
  }

  /** The index of a priority, or that at which it belongs. */
  #indexOf(priority: number): number {
    return firstIndex(this.#lists.length, (at) => (this.#lists[at]?.priority ?? 0) >= priority)
  }
}
