/** One call of a handler, or one run of a controller, that has not settled. */
interface Piece {
  readonly of: { readonly isClosed: boolean }
  readonly key: string
  readonly since: number
}

/** All calls of handlers and runs of controllers that have not settled. */
export class OpenCalls {
  readonly #pieces = new Set<Piece>()

  /** A call or a run begins; the result is called when it has settled. */
  begins(of: { readonly isClosed: boolean }, key: string, since: number): () => void {
    const piece = { of, key, since }
    this.#pieces.add(piece)
    return () => void this.#pieces.delete(piece)
  }

  /** The keys of calls that began before `by`; without `mayBeClosed`, only of open followers. */
  begunBefore(by: number, mayBeClosed: boolean): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const { of, key, since } of this.#pieces) if (since < by && (mayBeClosed || !of.isClosed)) keys.add(key)
    return keys
  }
}
