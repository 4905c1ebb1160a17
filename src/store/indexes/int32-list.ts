/** A growing array of 32-bit integers, initially 0. It has no pointers, so the garbage collector does not scan it. */
export class Int32List {
  #values = new Int32Array(256)

  get(at: number): number {
    return this.#values[at] ?? 0
  }

  set(at: number, value: number): void {
    if (at >= this.#values.length) {
      const grown = new Int32Array(Math.max(at + 1, this.#values.length * 2))
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[at] = value
  }

  clear(): void {
    this.#values = new Int32Array(256)
  }
}
