import { SourceError } from '../../src/errors.js'
import type { Version } from '../../src/version.js'
import { compareVersions } from './kubernetes-version.js'

/** A watch that ends where its source turns out to lead elsewhere. */
export interface Stay {
  readonly signal: AbortSignal
  /** Everything up to this version is told. */
  moveTo(version: Version): void
  end(): void
}

interface Staying {
  at: Version
  /** With `next`, the mirror is told to list there. */
  leave(reason: SourceError, next?: { readonly place: string | undefined }): void
}

/**
 * Which cluster a mirror is of, and how far its history was. A version says nothing of that, and a kubeConfig may come to lead to another one
 * once its credentials are refused: then nothing from there may be compared with what is known before all was listed there.
 */
export class Home {
  /** What the mirror shows comes from there. */
  #place: string | undefined
  /** The mirror was told that it has to list there, and trusts no version meanwhile. */
  #next: string | undefined
  readonly #staying = new Set<Staying>()

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
    if (!this.#isHere(place)) for (const { leave } of [...this.#staying]) leave(error, { place })
    throw error
  }

  /**
   * Before something is read that is as new as that which a majority of etcd has when it is asked for. What it gives is told at which version
   * that was, and throws `EPOCH_CHANGED` where a watch was ahead of it; these end so, too.
   */
  reading(): (version: Version) => void {
    const before = Array.from(this.#staying, (staying) => ({ staying, at: staying.at }))
    return (version) => {
      const ahead = before.filter(({ at }) => compareVersions(version, at) < 0)
      const [first] = ahead
      if (first === undefined) return
      const error = wentBack(first.at, version)
      for (const { staying } of ahead) staying.leave(error)
      throw error
    }
  }

  /** For a watch from `after`, until its signal aborts or home turns out to be elsewhere, or another. */
  stay(signal: AbortSignal, after: Version): Stay {
    const until = new AbortController()
    const abort = (): void => until.abort(signal.reason)
    const staying: Staying = {
      at: after,
      leave: (reason, next) => {
        if (!until.signal.aborted && next !== undefined) this.#next = next.place
        until.abort(reason)
      },
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#staying.add(staying)
    return {
      signal: until.signal,
      moveTo: (version) => {
        staying.at = version
      },
      end: () => {
        signal.removeEventListener('abort', abort)
        this.#staying.delete(staying)
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

/** A history never goes back by itself. */
export function wentBack(from: Version, to: Version): SourceError {
  return new SourceError(`the history went back from ${from} to ${to}: etcd was restored`, { code: 'EPOCH_CHANGED' })
}

function elsewhere(): SourceError {
  return new SourceError('the kubeConfig leads to another server than before', { code: 'EPOCH_CHANGED' })
}
