import { ABORTED } from '../contract/errors.js'
import type { Change } from '../queue/change.js'
import { NO_POSITION, type StorePosition } from '../queue/change-queue.js'

/** Whether a feed still accepts changes. It stops when it is drained, and when it is closed. */
export class FeedAcceptance<T> {
  #hasEnded = false
  /** Created when its signal is read: most feeds never need it. */
  #ended: AbortController | undefined
  /** The last commit that is accepted, if it was being routed at the end. */
  #lastCommit: number | undefined
  /** The position of the store at the end. */
  position: StorePosition = NO_POSITION
  /** Called with the changes that are not accepted. */
  onSkipped: ((changes: readonly Change<T>[]) => void) | undefined

  /** Aborts at the end. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController()
    if (this.#hasEnded) this.#ended.abort(ABORTED)
    return this.#ended.signal
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the end came while this commit was being routed. */
  isLast(commit: number): boolean {
    return commit === this.#lastCommit
  }

  accepts(commit: number): boolean {
    return !this.#hasEnded || this.isLast(commit)
  }

  /** Ends the acceptance. `lastCommit` is the commit that is being routed, if there is one. */
  end(lastCommit?: number): void {
    this.#lastCommit ??= lastCommit
    this.#hasEnded = true
    this.#ended?.abort(ABORTED)
  }
}
