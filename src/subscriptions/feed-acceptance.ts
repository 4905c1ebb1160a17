import { ABORTED } from '../contract/errors.js'
import type { Change } from '../queue/change.js'
import { NO_POSITION, type StorePosition } from './delivery-progress.js'

/** Whether a feed still accepts changes. It stops when it is drained, and when it is closed. */
export class FeedAcceptance<T> {
  readonly #ended = new AbortController()
  /** The last commit that is accepted, if it was being routed at the end. */
  #lastCommit: number | undefined
  /** The position of the store at the end. */
  position: StorePosition = NO_POSITION
  /** Called with the changes that are not accepted. */
  onSkipped: ((changes: readonly Change<T>[]) => void) | undefined

  /** Aborts at the end. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  get hasEnded(): boolean {
    return this.#ended.signal.aborted
  }

  /** Whether the end came while this commit was being routed. */
  isLast(commit: number): boolean {
    return commit === this.#lastCommit
  }

  accepts(commit: number): boolean {
    return !this.hasEnded || this.isLast(commit)
  }

  /** Ends the acceptance. `lastCommit` is the commit that is being routed, if there is one. */
  end(lastCommit?: number): void {
    this.#lastCommit ??= lastCommit
    this.#ended.abort(ABORTED)
  }
}
