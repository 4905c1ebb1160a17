import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { StorePosition } from '../queue/change-queue.js'
import { checkWait, type Settle, type Wait, withDeadline } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import { type FeedVersions, FeedWait } from './feed-wait.js'
import { checkVersionWait, type VersionWait, VersionWaiters } from './version-waiters.js'

/** The parts of an informer that the waits of a feed use. */
export interface FeedWaitsHost {
  readonly clock: Clock
  readonly versions: FeedVersions
  readonly router: { readonly current: StorePosition }
}

/** A feed, as far as its waits need it. */
export interface AwaitedFeed {
  readonly closed: SourceError | undefined
  /** Whether its first synced batch was acknowledged. */
  readonly isSynced: boolean
  /** The version with which waits are compared; undefined if its history has ended. */
  readonly reached: Version | undefined
  /** Names a part of the feed in errors. */
  named(what: string): string
}

/** The pending waits of one feed: for its first synced batch, and for versions. */
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

  /** Resolves the waits that are over: for the first synced batch, and for versions that the feed has reached. */
  check(): void {
    if (this.#feed.isSynced && !this.#synced.isOpen) this.#synced.open()
    const waiters = this.#versions?.waiters
    if (waiters !== undefined && waiters.size > 0) waiters.check(this.#feed.reached)
  }

  /** Rejects all waits. The feed was closed. */
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

  #enter(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    const { closed } = this.#feed
    if (closed !== undefined) {
      settle.reject(closed)
      return () => {}
    }
    const reached = this.#host.versions.isOfSet ? undefined : this.#feed.reached
    this.#versions ??= {
      waiters: new VersionWaiters((at, mark) => this.#hasReached(at, mark)),
      pending: new Set(),
    }
    const { waiters, pending } = this.#versions
    if (reached !== undefined && hasHandled(waiters, reached, version)) {
      settle.resolve()
      return () => {}
    }
    const wait = new FeedWait(this.#host.versions, version, source, settle, {
      storePosition: () => this.#host.router.current.version,
      enterFeed: (mark, both) => waiters.enter(mark, this.#feed.reached, both),
    })
    pending.add(settle)
    return () => {
      pending.delete(settle)
      wait.leave()
    }
  }

  #hasReached(at: Version, mark: Version): boolean {
    if (this.#host.versions.isOfSet) return Number(at) >= Number(mark)
    return this.#host.versions.hasReached('waitFor')(at, mark)
  }
}

/** False also for a mark that is not a version. The wait for the store rejects that. */
function hasHandled(waiters: VersionWaiters, reached: Version, version: Version): boolean {
  try {
    return waiters.includes(reached, version)
  } catch {
    return false
  }
}
