const PAGE_BITS = 16
const PAGE = 2 ** PAGE_BITS
const IN_PAGE = PAGE - 1
const LEAST = 256

/**
 * A growing array of 32-bit integers, initially 0. It has no pointers, so the garbage collector does not scan it. A
 * large one grows by pages: a copy of all numbers takes long, and their old memory counts until it is collected.
 */
export class Int32List {
  /** The first one may be smaller than the others. */
  #pages: Int32Array<ArrayBuffer>[] = [new Int32Array(LEAST)]

  get(at: number): number {
    return this.#pages[at >>> PAGE_BITS]?.[at & IN_PAGE] ?? 0
  }

  set(at: number, value: number): void {
    const page = this.#pages[at >>> PAGE_BITS]
    if (page !== undefined && (at & IN_PAGE) < page.length) page[at & IN_PAGE] = value
    else this.#add(at)[at & IN_PAGE] = value
  }

  /** Returns the values now. Those after the end of the array are 0. */
  copy(): Int32Array {
    const pages = this.#pages
    const copy = new Int32Array((pages.length - 1) * PAGE + (pages.at(-1)?.length ?? 0))
    for (const [i, page] of pages.entries()) copy.set(page, i * PAGE)
    return copy
  }

  clear(): void {
    this.#pages = [new Int32Array(LEAST)]
  }

  #add(at: number): Int32Array<ArrayBuffer> {
    const pages = this.#pages
    const [first = new Int32Array(LEAST)] = pages
    if (at < PAGE) {
      pages[0] = new Int32Array(Math.min(Math.max(at + 1, 2 * first.length), PAGE))
      pages[0].set(first)
      return pages[0]
    }
    const page = new Int32Array(PAGE)
    while (pages.length < at >>> PAGE_BITS) pages.push(new Int32Array(PAGE))
    pages.push(page)
    return page
  }
}

/** Returns an array with at least `length` elements: `array` itself, or a copy of at least twice its length. */
export function grown(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (length <= array.length) return array
  const larger = new Int32Array(Math.max(length, array.length * 2))
  larger.set(array)
  return larger
}
