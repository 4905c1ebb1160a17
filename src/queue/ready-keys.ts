import { firstIndex } from '../util/binary-search.js'
import { OrderedTable } from '../util/ordered-table.js'

interface ReadyList {
  readonly priority: number
  readonly keys: OrderedTable<true>
}

/** The keys that wait, each once, by priority, the highest first. Equal ones are in the order of their additions. */
export class ReadyKeys {
  readonly #priorityOf: ((key: string) => number) | undefined
  /** By priority, the highest last. Invariant: none of several lists is empty. */
  readonly #lists: ReadyList[] = []
  #listByKey = new OrderedTable<ReadyList>()

  /** `priorityOf` is called at each addition. Without it, only keys that are added with `isLast` come last. */
  constructor(priorityOf?: (key: string) => number) {
    this.#priorityOf = priorityOf
  }

  get size(): number {
    return this.#listByKey.size
  }

  has(key: string): boolean {
    return this.#listByKey.get(key) !== undefined
  }

  /** Adds a key. Returns false if it waits already; then only its place may change. */
  add(key: string, isLast: boolean): boolean {
    const priority = this.#priorityOf === undefined ? Number(!isLast) : this.#priorityOf(key)
    const list = this.#listByKey.get(key)
    const isBehind = isLast && this.#priorityOf === undefined
    if (list?.priority === priority || (list !== undefined && isBehind)) return false
    if (list !== undefined) this.#delete(key, list)
    const next = this.#listOf(priority)
    next.keys.set(key, true)
    this.#listByKey.set(key, next)
    return list === undefined
  }

  take(): string | undefined {
    const highest = this.#lists.at(-1)
    const key = highest?.keys.firstKey()
    if (highest === undefined || key === undefined) return undefined
    this.#listByKey.delete(key)
    this.#delete(key, highest)
    return key
  }

  clear(): void {
    this.#lists.length = 0
    this.#listByKey = new OrderedTable()
  }

  #listOf(priority: number): ReadyList {
    const highest = this.#lists.at(-1)
    if (highest?.priority === priority) return highest
    if (highest?.keys.size === 0) this.#lists.pop()
    const at = this.#indexOf(priority)
    const known = this.#lists[at]
    if (known?.priority === priority) return known
    const list: ReadyList = { priority, keys: new OrderedTable() }
    this.#lists.splice(at, 0, list)
    return list
  }

  #delete(key: string, { priority, keys }: ReadyList): void {
    keys.delete(key)
    if (keys.size === 0 && this.#lists.length > 1) this.#lists.splice(this.#indexOf(priority), 1)
  }

  /** The index of a priority, or that at which it belongs. */
  #indexOf(priority: number): number {
    return firstIndex(this.#lists.length, (at) => (this.#lists[at]?.priority ?? 0) >= priority)
  }
}
