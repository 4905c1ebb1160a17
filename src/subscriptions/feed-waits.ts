import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { StorePosition } from '../queue/change-queue.js'
import { checkWait, type Settle, type Wait, withDeadline } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import { checkVersionWait, type VersionWait, VersionWaiters } from './version-waiters.js'

export interface FeedVersions {
  /** Whether the store mirrors several sources. Then versions are positions of the store itself. */
  readonly isOfSet: boolean
  /** Throws a TypeError if the source cannot compare versions, or if it is unclear which source is meant. */
  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean
  /**
   * The history of its source that the store shows; undefined if that history has ended and the next list is not stored
   * yet. With several sources always 0: positions are those of the store.
   */
  readonly history: number | undefined
  /** Follows the history of this source that the store shows now. */
  followHistory(source: string | undefined, onEpochChanged: (error: SourceError) => void): FollowedHistory
  /** Settles a wait when the store includes a version, possibly before this returns. Returns how to end the wait. */
  waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void
}

export interface FollowedHistory {
  /** With several sources: whether the store still shows this history. With one source the feed compares histories. */
  isShown(): boolean
  leave(): void
}

export interface FeedWaitsHost {
  readonly clock: Clock
  readonly versions: FeedVersions
  readonly router: { readonly current: StorePosition }
}

export interface AwaitedFeed {
  readonly closed: SourceError | undefined
  readonly isSynced: boolean
  readonly reached: Version | undefined
  named(what: string): string
}

export class FeedWaits {
  readonly #feed: AwaitedFeed
  readonly #host: FeedWaitsHost
  readonly #synced = new Latch()
  /** The waits for versions, and those of them that are not settled. Created by the first one: most feeds have none. */
  #versions: { readonly waiters: VersionWaiters; readonly pending: Set<Settle<void>> } | undefined

  constructor(feed: AwaitedFeed, host: FeedWaitsHost) {
    this.#feed = feed
    this.#host = host
    if (feed.isSynced) this.#synced.open()
  }

  check(): void {
    if (this.#feed.isSynced && !this.#synced.isOpen) this.#synced.open()
    const waiters = this.#versions?.waiters
    if (waiters !== undefined && waiters.size > 0) waiters.check(this.#feed.reached)
  }

  rejectAll(reason: SourceError): void {
    for (const settle of [...(this.#versions?.pending ?? [])]) settle.reject(reason)
    this.#synced.rejectAll(reason)
    this.#versions?.waiters.rejectAll(reason)
  }

  synced(call: string, wait: Wait): Promise<void> {
    checkWait(call, wait)
    return withDeadline(this.#feed.named('synced'), wait, this.#host.clock, (settle) => {
      const { closed } = this.#feed
      if (closed !== undefined) settle.reject(closed)
      return this.#synced.enter(settle)
    })
  }

  waitFor(version: Version, wait: VersionWait): Promise<void> {
    checkVersionWait(version, wait)
    this.#host.versions.hasReached('waitFor', wait.source)
    const { source, ...rest } = wait
    const { clock } = this.#host
    return withDeadline(this.#feed.named('waitFor'), rest, clock, (settle) => this.#enter(version, source, settle))
  }

  /**
   * First the store has to include the version, then the feed has to handle it. With several sources the feed has to
   * handle the position that the store had then. If access to the source was lost before that, both steps are repeated.
   * If the history of the source ends before, the wait rejects.
   */
  #enter(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    const { closed, reached } = this.#feed
    const { versions, router } = this.#host
    if (closed !== undefined) {
      settle.reject(closed)
      return () => {}
    }
    this.#versions ??= {
      waiters: new VersionWaiters((at, mark) => this.#hasReached(at, mark)),
      pending: new Set(),
    }
    const { waiters, pending } = this.#versions
    if (!versions.isOfSet && reached !== undefined && waiters.includes(reached, version)) {
      settle.resolve()
      return () => {}
    }
    const { reject } = settle
    let leaveStore = (): void => {}
    let leaveFeed = (): void => {}
    const waitForStore = (): void => {
      leaveStore = versions.waitForStore(version, source, { resolve: waitForFeed, reject })
    }
    // Called by the store itself, so that no history can end between the two waits.
    const waitForFeed = (): void => {
      leaveStore()
      const mark = versions.isOfSet ? (router.current.version ?? '0') : version
      const history = versions.followHistory(source, reject)
      const resolve = (): void => {
        if (history.isShown()) settle.resolve()
        else {
          leaveFeed()
          waitForStore()
        }
      }
      leaveFeed = history.leave
      const leaveWaiters = waiters.enter(mark, this.#feed.reached, { resolve, reject })
      leaveFeed = () => {
        history.leave()
        leaveWaiters()
      }
    }
    waitForStore()
    pending.add(settle)
    return () => {
      pending.delete(settle)
      leaveStore()
      leaveFeed()
    }
  }

  #hasReached(at: Version, mark: Version): boolean {
    if (this.#host.versions.isOfSet) return Number(at) >= Number(mark)
    return this.#host.versions.hasReached('waitFor')(at, mark)
  }
}
