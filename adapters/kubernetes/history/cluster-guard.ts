import { isEpochChange, SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { compareVersions } from './resource-version.js'
import { HeldVersions } from './version-origins.js'

/** A watch that ends where its source turns out to lead elsewhere. */
export interface Stay {
  readonly signal: AbortSignal
  /** It goes on there. Throws `EPOCH_CHANGED` where what it begins with is from elsewhere. */
  goesOn(place: string | undefined): void
  /** Everything up to this version is told. */
  moveTo(version: Version): void
  /** Ends it with an error. */
  leave(reason: SourceError): void
  /** With an error that says so, the mirror trusts no version any more. */
  end(error?: unknown): void
}

interface Staying {
  at: Version
  /** Where that is from; undefined where nobody knows. */
  from: string | undefined
  /** With `next`, the mirror is told to list there. */
  leave(reason: SourceError, next?: { readonly place: string | undefined }): void
}

/** What nobody knows once there have been several: none of them. */
const NOWHERE = ''

/**
 * Which cluster a mirror is of, and how far its history was. A version says nothing of that, and a kubeConfig may come to lead to another one
 * once its credentials are refused: then nothing from there may be compared with what is known before all was listed there. Several mirrors may
 * be of one source: each is told for itself, the ones that stay at once, the others when they come back with a version from elsewhere.
 */
export class Home {
  /** What the mirror shows comes from there. */
  #place: string | undefined
  /** The mirror was told that it has to list there, and trusts no version meanwhile. */
  #next: string | undefined
  /** Another cluster was listed than before. */
  #hasMoved = false
  readonly #staying = new Set<Staying>()
  readonly #held = new HeldVersions()

  /** A list comes from there, for who shows everything up to `shown`. Throws `EPOCH_CHANGED` where that is another cluster, and the mirror was not told. */
  listing(place: string | undefined, shown: Version | undefined, signal: AbortSignal): void {
    if (this.#next === undefined || place !== this.#next) this.#assert(place, signal)
    if (shown === undefined) return
    const from = this.#from(shown)
    if (from !== undefined && from !== place) throw new Elsewhere(place)
    this.#hold(shown, from)
  }

  /** A whole list came from there, for the same. */
  listed(place: string | undefined, shown: Version | undefined, version: Version | undefined): void {
    if (!this.#isHere(place)) {
      this.#leave(new Elsewhere(place))
      this.#hasMoved = true
    }
    this.#place = place
    this.#next = undefined
    if (version === undefined) return
    // A list that is behind what is shown is refused.
    if (shown !== undefined && compareVersions(version, shown) >= 0) this.#from(shown)
    this.#hold(version, place)
  }

  /** A version came from there. Throws `EPOCH_CHANGED` where it is none of the mirror's, which then goes there, too. */
  compare(place: string | undefined): void {
    if (this.#next === undefined && this.#isHere(place)) return
    const error = new Elsewhere(place)
    if (!this.#isHere(place)) this.#leave(error)
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
      from: this.#from(after),
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
      goesOn: (place) => {
        // A shared watch goes on for others when who opened it has left.
        if (this.#staying.has(staying)) {
          this.#assert(place, until.signal)
          this.#place = place
        }
        staying.from ??= place
        if (staying.from !== place) throw new Elsewhere(place)
      },
      moveTo: (version) => {
        staying.at = version
      },
      leave: (reason) => staying.leave(reason),
      end: (error) => {
        signal.removeEventListener('abort', abort)
        this.#staying.delete(staying)
        if (!isEpochChange(error)) this.#hold(staying.at, staying.from)
        // Another source may have found out, whose watch it shared.
        else if (error instanceof Elsewhere && !signal.aborted && !this.#isHere(error.place)) this.#next = error.place
      },
    }
  }

  /** Where it is not here, all are told: those who stay now, the others when they come back. */
  #assert(place: string | undefined, signal: AbortSignal): void {
    if (this.#isHere(place)) return
    // Whoever listens no more is told nothing.
    if (!signal.aborted) this.#next = place
    const error = new Elsewhere(place)
    this.#leave(error)
    throw error
  }

  #leave(error: Elsewhere): void {
    for (const { leave } of [...this.#staying]) leave(error, error)
  }

  #isHere(place: string | undefined): boolean {
    return this.#place === undefined || place === this.#place
  }

  /** Where a version is from that somebody goes on from. */
  #from(version: Version): string | undefined {
    return this.#held.take(version, this.#place) ?? (this.#hasMoved ? NOWHERE : this.#place)
  }

  #hold(version: Version, place: string | undefined): void {
    if (place !== undefined && place !== NOWHERE) this.#held.hold(version, place)
  }
}

/** The mirror was of another cluster than this one. */
class Elsewhere extends SourceError {
  readonly place: string | undefined

  constructor(place: string | undefined) {
    super('the kubeConfig leads to another server than before', { code: 'EPOCH_CHANGED' })
    this.place = place
  }
}

/** A history never goes back by itself. */
export function wentBack(from: Version, to: Version): SourceError {
  return new SourceError(`the history went back from ${from} to ${to}: etcd was restored`, { code: 'EPOCH_CHANGED' })
}
