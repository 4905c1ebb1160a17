import { ABORTED, SourceError } from '../../src/contract/errors.js'
import { LeaseLostError } from '../../src/contract/leases.js'
import { onAbort } from '../../src/util/abort-listeners.js'

interface Closable {
  close(): unknown
}

/**
 * The connection of a lease session. It is opened on first use and kept. After a request that failed or was aborted it
 * is closed, and the next request opens another one: a later response on the same connection would wait behind the lost
 * one.
 */
export class LeaseConnection<S extends Closable> {
  readonly #open: (signal: AbortSignal) => Promise<S>
  readonly #closed = new AbortController()
  #opening: Promise<S> | undefined

  constructor(open: (signal: AbortSignal) => Promise<S>) {
    this.#open = open
  }

  /** Aborts when the connection is closed for good. */
  get signal(): AbortSignal {
    return this.#closed.signal
  }

  /** The result of `work`. Rejects with the reason of `signal` as soon as it aborts. */
  async run<V>(signal: AbortSignal, work: (connection: S) => Promise<V>): Promise<V> {
    signal.throwIfAborted()
    if (this.#closed.signal.aborted) throw new SourceError('the lease session was closed', { code: 'STOPPED' })
    this.#opening ??= this.#open(this.#closed.signal)
    const opening = this.#opening
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const unlink = onAbort(signal, () => {
      this.#drop(opening) // At once: a request that follows in the same turn would end with this connection.
      reject(signal.reason)
    })
    try {
      const worked = opening.then((connection) => {
        signal.throwIfAborted() // While the connection was opened.
        return work(connection)
      })
      return await Promise.race([worked, aborted])
    } catch (error) {
      if (!(error instanceof LeaseLostError)) this.#drop(opening)
      throw error
    } finally {
      unlink()
    }
  }

  close(): void {
    this.#closed.abort(ABORTED)
    if (this.#opening !== undefined) this.#drop(this.#opening)
  }

  #drop(opening: Promise<S>): void {
    if (this.#opening !== opening) return // It was dropped before.
    this.#opening = undefined
    opening.then(
      (connection) => connection.close(),
      () => {}, // It never opened.
    )
  }
}
