import { onAbort } from '../../src/util/abort-listeners.js'

/** A signal that aborts with the caller's, and at the end of a call: requests in progress end with it. */
export class OwnSignal {
  readonly #controller = new AbortController()
  readonly #unlink: () => void

  constructor(signal: AbortSignal) {
    if (signal.aborted) this.#controller.abort(signal.reason)
    this.#unlink = onAbort(signal, () => this.#controller.abort(signal.reason))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#unlink()
    this.#controller.abort()
  }
}

export async function* withOwnSignal<V>(
  signal: AbortSignal,
  of: (own: OwnSignal) => AsyncGenerator<V>,
): AsyncGenerator<V, void> {
  const own = new OwnSignal(signal)
  try {
    yield* of(own)
  } finally {
    own.end()
  }
}
