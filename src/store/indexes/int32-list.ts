/** A growing array of 32-bit integers, initially 0. It has no pointers, so the garbage collector does not scan it. */
export class Int32List {
  #values = new Int32Array(256)

  get(at: number): number {
    return this.#values[at] ?? 0
  }

  set(at: number, value: number): void {
    this.#values = grown(this.#values, at + 1)
    this.#values[at] = value
  }

  /** Returns the values now. Those after the end of the array are 0. */
  copy(): Int32Array {
    return this.#values.slice()
  }

  clear(): void {
    this.#values = new Int32Array(256)
  }
}

/** Returns an array with at least `length` elements: `array` itself, or a copy of at least twice its length. */
export function grown(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (length <= array.length) return array
  const larger = new Int32Array(Math.max(length, array.length * 2))
  larger.set(array)
  return larger
}
