import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { StorePosition } from '../queue/change-queue.js'
import { checkWait, type Settle, type Wait, withDeadline } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import { checkVersionWait, type VersionWait, VersionWaiters } from './version-waiters.js'

/** The store of a feed, as far as its waits need it. */
export interface AwaitedStore {
  readonly clock: Clock
  readonly router: { readonly current: StorePosition }
  /** Whether the store mirrors several sources. Then versions are positions of the store itself. */
  readonly isOfSet: boolean
  /** Throws a TypeError if the source cannot compare versions, or if it is unclear which source is meant. */
  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean
  /** The history of its source that the store shows; undefined from its end to the next list; 0 for several sources. */
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

export interface AwaitedFeed {
  readonly host: AwaitedStore
  readonly closed: SourceError | undefined
  readonly isSynced: boolean
  readonly reached: Version | undefined
  named(what: string): string
}

export class FeedWaits {
  readonly #feed: AwaitedFeed
  readonly #synced = new Latch()
  /** The waits for versions, and those of them that are not settled. Created by the first one: most feeds have none. */
  #versions: { readonly waiters: VersionWaiters; readonly pending: Set<Settle<void>> } | undefined

  constructor(feed: AwaitedFeed) {
    this.#feed = feed
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
    return withDeadline(this.#feed.named('synced'), wait, this.#feed.host.clock, (settle) => {
      const { closed } = this.#feed
      if (closed !== undefined) settle.reject(closed)
      return this.#synced.enter(settle)
    })
  }

  waitFor(version: Version, wait: VersionWait): Promise<void> {
    checkVersionWait(version, wait)
    const { clock } = this.#feed.host
    this.#feed.host.hasReached('waitFor', wait.source)
    const { source, ...rest } = wait
    return withDeadline(this.#feed.named('waitFor'), rest, clock, (settle) => this.#enter(version, source, settle))
  }

  /**
   * First the store has to include the version, then the feed has to handle it. With several sources the feed has to
   * handle the position that the store had then. If access to the source was lost before that, both steps are repeated.
   * If the history of the source ends before, the wait rejects.
   */
  #enter(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    const { closed, reached, host } = this.#feed
    if (closed !== undefined) {
      settle.reject(closed)
      return () => {}
    }
    this.#versions ??= {
      waiters: new VersionWaiters((at, mark) =>
        host.isOfSet ? Number(at) >= Number(mark) : host.hasReached('waitFor')(at, mark),
      ),
      pending: new Set(),
    }
    const { waiters, pending } = this.#versions
    if (!host.isOfSet && reached !== undefined && waiters.includes(reached, version)) {
      settle.resolve()
      return () => {}
    }
    const { reject } = settle
    let leaveStore = (): void => {}
    let leaveFeed = (): void => {}
    const waitForStore = (): void => {
      leaveStore = host.waitForStore(version, source, { resolve: waitForFeed, reject })
    }
    // Called by the store itself, so that no history can end between the two waits.
    const waitForFeed = (): void => {
      leaveStore()
      const mark = host.isOfSet ? (host.router.current.version ?? '0') : version
      const history = host.followHistory(source, reject)
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
}
