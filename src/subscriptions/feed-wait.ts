import type { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Settle } from '../util/deadline.js'

/** The versions and histories of an informer. */
export interface FeedVersions {
  /** Whether the store mirrors several sources. Then versions are positions of the store itself. */
  readonly isOfSet: boolean
  /**
   * The function that compares versions. Throws a TypeError if the source has none, or if it is unclear which source is
   * meant.
   */
  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean
  /**
   * The history of its source that the store shows; undefined if that history has ended and the next list is not stored
   * yet. With several sources always 0: positions are those of the store.
   */
  readonly history: number | undefined
  /** Follows the history of this source that the store shows now. */
  followHistory(source: string | undefined, onEpochChanged: (error: SourceError) => void): FollowedHistory
  /**
   * Settles a wait when the store includes a version, possibly before this returns. Returns a function that ends the
   * wait.
   */
  waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void
}

export interface FollowedHistory {
  /** With several sources: whether the store still shows this history. With one source the feed compares histories. */
  isShown(): boolean
  leave(): void
}

/** The steps of a wait that the feed itself performs. */
export interface FeedSteps {
  storePosition(): Version | undefined
  /** Settles when the feed has handled `mark`. Returns a function that ends the wait. */
  enterFeed(mark: Version, settle: Settle<void>): () => void
}

/**
 * One wait for a version: first the store has to include it, then the feed has to handle it. With several sources the
 * feed has to handle the position that the store had then. If access to the source was lost before that, both steps are
 * repeated. If the history of the source ends before, the wait rejects.
 */
export class FeedWait {
  readonly #host: FeedVersions
  readonly #version: Version
  readonly #source: string | undefined
  readonly #settle: Settle<void>
  readonly #feed: FeedSteps
  #leaveStore = (): void => {}
  #leaveFeed = (): void => {}

  constructor(host: FeedVersions, version: Version, source: string | undefined, settle: Settle<void>, feed: FeedSteps) {
    this.#host = host
    this.#version = version
    this.#source = source
    this.#settle = settle
    this.#feed = feed
    this.#waitForStore()
  }

  leave(): void {
    this.#leaveStore()
    this.#leaveFeed()
  }

  #waitForStore(): void {
    const resolve = (): void => this.#waitForFeed()
    this.#leaveStore = this.#host.waitForStore(this.#version, this.#source, { resolve, reject: this.#settle.reject })
  }

  // Called by the store itself, so that no history can end between the two waits.
  #waitForFeed(): void {
    this.#leaveStore()
    const { isOfSet } = this.#host
    const mark = isOfSet ? (this.#feed.storePosition() ?? '0') : this.#version
    const history = this.#host.followHistory(this.#source, this.#settle.reject)
    const resolve = (): void => {
      if (history.isShown()) this.#settle.resolve()
      else {
        this.#leaveFeed()
        this.#waitForStore()
      }
    }
    this.#leaveFeed = history.leave
    const leaveWaiters = this.#feed.enterFeed(mark, { resolve, reject: this.#settle.reject })
    this.#leaveFeed = () => {
      history.leave()
      leaveWaiters()
    }
  }
}
