import type { Commit } from '../store/commit.js'
import type { ChangeRouter } from '../subscriptions/change-router.js'
import type { Latch } from '../util/latch.js'
import type { Steps } from '../util/steps.js'
import type { CommitSignal } from './commit-signal.js'
import type { InformerFeedHost } from './feed-host.js'
import type { InformerSources } from './informer-sources.js'
import type { InformerWaits } from './informer-waits.js'
import type { Observation } from './observation.js'
import type { SourceRunner } from './source-runner.js'

interface Parts<S, T> {
  readonly router: ChangeRouter<T>
  readonly signal: CommitSignal
  readonly feedHost: InformerFeedHost<S, T>
  readonly observation: Observation<S, T>
  readonly sources: InformerSources<S, T>
  readonly waits: InformerWaits<S, T>
  /** Opens when the first list of each source is in the store. */
  readonly synced: Latch
}

/** Routes each commit of the store to the feeds, and resolves the waits that it satisfies. */
export class CommitRouting<S, T> {
  readonly #parts: Parts<S, T>

  constructor(parts: Parts<S, T>) {
    this.#parts = parts
  }

  /** Whether changes of a visible commit are not queued in each feed yet. */
  get isRouting(): boolean {
    const { routed, indexer } = this.#parts.feedHost
    return routed.commit < indexer.writer.commits
  }

  /** Called after each commit. Returns the steps that route a large one. */
  committed(runner: SourceRunner<S, T>, commit: Commit<T>): Steps | undefined {
    const { feedHost, router, signal } = this.#parts
    const isList = commit.origin === 'initial' || commit.origin === 'relist'
    if (commit.changes.length > 0 || commit.origin === 'initial') signal.notify()
    runner.committed(commit)
    const { isBusy } = feedHost.indexer.writer
    const hasOpened = this.openIfListed()
    if (isBusy) return this.#routeInSteps(runner, commit, hasOpened)
    try {
      if (!hasOpened) router.route(commit)
    } finally {
      feedHost.markRouted()
    }
    this.#routed(runner, commit, isList)
    return undefined
  }

  /** Routes a large commit. */
  *#routeInSteps(runner: SourceRunner<S, T>, commit: Commit<T>, hasOpened: boolean): Steps {
    const { feedHost, router } = this.#parts
    // Waits for the store do not wait for its subscriptions.
    this.#checkWaits(runner)
    try {
      if (!hasOpened) yield* router.routeInSteps(commit)
    } finally {
      feedHost.markRouted()
    }
    this.#routed(runner, commit, true)
  }

  #routed(runner: SourceRunner<S, T>, commit: Commit<T>, endsWaits: boolean): void {
    const { router, observation } = this.#parts
    // The waits of an idle feed may be over without a change for it: the store has a version again after
    // `onAccessLost: 'clear'`, or the wait began while the commit was routed.
    if (endsWaits) for (const feed of router.feeds) feed.routed()
    observation.committed(runner, commit)
    this.#checkWaits(runner)
  }

  #checkWaits(runner: SourceRunner<S, T>): void {
    runner.waiters.check(runner.reached)
    this.#parts.waits.recheck()
  }

  /** The source has confirmed saved content that readers see: its waits can be resolved. */
  confirmed(runner: SourceRunner<S, T>): void {
    this.openIfListed()
    this.#checkWaits(runner)
    for (const feed of this.#parts.router.feeds) feed.routed()
  }

  /**
   * Opens the latch once the first list of each source is in the store, and starts the replays once readers see
   * objects. Returns whether the replays started now.
   */
  openIfListed(): boolean {
    const { sources, synced, feedHost, router } = this.#parts
    if (!sources.isStarted || synced.isOpen) return false
    if (!sources.areFilled) return false
    if (sources.areListed) synced.open()
    if (feedHost.isFilled) {
      // Controllers run from now on.
      for (const feed of router.feeds) feed.reader.wake()
      return false
    }
    feedHost.isFilled = true
    // A filter may subscribe: such a feed has begun already.
    feedHost.indexer.writer.reentrancy.run(() => {
      for (const feed of [...router.feeds]) feed.startReplay()
    })
    return true
  }
}
