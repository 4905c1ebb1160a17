type Result<V> = IteratorResult<V, undefined>

/** An async iterator that is fed from outside. */
export class Channel<V> implements AsyncIterableIterator<V, undefined> {
  readonly #waiting: { resolve(result: Result<V>): void; reject(reason: unknown): void }[] = []
  readonly #values: V[] = []
  #end: { readonly error: unknown } | 'ended' | undefined
  isReturned = false
  /** Whether the reader has left, but the iterator notices that only with the next value, like an async generator. */
  isLeft = false

  get isOver(): boolean {
    return this.#end !== undefined || this.isReturned
  }

  emit(value: V): void {
    if (this.isLeft) this.isReturned = true
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#values.push(value)
    else waiting.resolve({ value, done: false })
  }

  end(): void {
    this.#end ??= 'ended'
    for (const waiting of this.#waiting.splice(0)) waiting.resolve({ value: undefined, done: true })
  }

  fail(error: unknown): void {
    this.#end ??= { error }
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
  }

  next(): Promise<Result<V>> {
    if (this.#values.length > 0) return Promise.resolve({ value: this.#values.shift() as V, done: false })
    if (this.#end === 'ended' || this.isReturned) return Promise.resolve({ value: undefined, done: true })
    if (this.#end !== undefined) return Promise.reject(this.#end.error)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  return(): Promise<Result<V>> {
    this.isReturned = true
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
