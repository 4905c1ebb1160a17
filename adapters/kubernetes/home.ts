import { SourceError } from '../../src/errors.js'

/** A watch that ends where its source turns out to lead elsewhere. */
export interface Stay {
  readonly signal: AbortSignal
  end(): void
}

/**
 * Which cluster a mirror is of. A version says nothing of that, and a kubeConfig may come to lead to another one once its
 * credentials are refused: then nothing from there may be compared with what is known before all was listed there.
 */
export class Home {
  /** What the mirror shows comes from there. */
  #place: string | undefined
  /** The mirror was told that it has to list there, and trusts no version meanwhile. */
  #next: string | undefined
  readonly #leaving = new Set<(place: string | undefined, reason: SourceError) => void>()

  /** A list comes from there. Throws `EPOCH_CHANGED` where that is another cluster, and the mirror was not told. */
  listing(place: string | undefined, signal: AbortSignal): void {
    if (this.#next === undefined || place !== this.#next) this.#assert(place, signal)
  }

  /** A whole list came from there. */
  listed(place: string | undefined): void {
    this.#place = place
    this.#next = undefined
  }

  /** A watch goes on there. Throws `EPOCH_CHANGED` where that is another cluster. */
  watching(place: string | undefined, signal: AbortSignal): void {
    this.#assert(place, signal)
    this.#place = place
  }

  /** A version came from there. Throws `EPOCH_CHANGED` where it is none of the mirror's, which then goes there, too. */
  compare(place: string | undefined): void {
    if (this.#next === undefined && this.#isHere(place)) return
    const error = elsewhere()
    if (!this.#isHere(place)) for (const leave of [...this.#leaving]) leave(place, error)
    throw error
  }

  /** For a watch, until its signal aborts or home turns out to be elsewhere. */
  stay(signal: AbortSignal): Stay {
    const staying = new AbortController()
    const abort = (): void => staying.abort(signal.reason)
    const leave = (place: string | undefined, reason: SourceError): void => {
      if (!staying.signal.aborted) this.#next = place
      staying.abort(reason)
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#leaving.add(leave)
    return {
      signal: staying.signal,
      end: () => {
        signal.removeEventListener('abort', abort)
        this.#leaving.delete(leave)
      },
    }
  }

  #assert(place: string | undefined, signal: AbortSignal): void {
    if (this.#isHere(place)) return
    // Whoever listens no more is told nothing.
    if (!signal.aborted) this.#next = place
    throw elsewhere()
  }

  #isHere(place: string | undefined): boolean {
    return this.#place === undefined || place === this.#place
  }
}

function elsewhere(): SourceError {
  return new SourceError('the kubeConfig leads to another server than before', { code: 'EPOCH_CHANGED' })
}
