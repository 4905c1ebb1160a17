import { ABORTED, thrownFor } from '../contract/errors.js'
import type { ListerWatcher } from '../contract/source.js'
import type { ReflectorState } from '../reflector/reflector-state.js'
import type { Commit } from '../store/write/commit.js'
import { settleWithin } from '../util/deadline.js'
import { finish, type Steps } from '../util/steps.js'
import type { InformerContext } from './informer-context.js'
import { InformerSubscriptions } from './informer-subscriptions.js'
import { InformerWaits } from './informer-waits.js'
import { CommitSignal, type PackableMirror, type PinnedMirror, rememberInternals, type ViewInput } from './internals.js'
import { Observation } from './observation/observation.js'
import { informers, type Observable } from './observation/registry.js'
import { InformerSources } from './sources/informer-sources.js'
import type { SourceOptions } from './sources/source-options.js'
import type { SourceHooks, SourceRunner } from './sources/source-runner.js'
import type { DynamicSourceSet } from './sources/source-set.js'
import type { ViewInputs } from './sources/view-inputs.js'

/** If a source does not end, `stop` settles after this time, in milliseconds. */
const STOP_GRACE_MS = 1_000

/** Routes each commit of the sources to the feeds, and resolves the waits that the commit satisfies. */
export class InformerCore<S, T> implements SourceHooks<S, T>, PackableMirror {
  readonly context: InformerContext<T>
  readonly #signal = new CommitSignal()
  readonly sources: InformerSources<S, T>
  readonly waits: InformerWaits<S, T>
  readonly subscriptions: InformerSubscriptions<S, T>
  readonly observation: Observation<S, T>

  constructor(
    context: InformerContext<T>,
    source: DynamicSourceSet<S> | ListerWatcher<S>,
    options: SourceOptions,
    name: string | undefined,
    view?: ViewInputs,
  ) {
    this.context = context
    this.sources = new InformerSources<S, T>(source, options, context, this, view)
    this.observation = new Observation(context, this.sources, name)
    this.waits = new InformerWaits(context, this.sources, this.observation)
    this.subscriptions = new InformerSubscriptions(context, this.sources, this.waits, this.observation)
  }

  get isWriting(): boolean {
    return this.context.indexer.writer.isBusy || this.isRouting
  }

  get isRouting(): boolean {
    const { routed, current } = this.context.router
    return routed !== current
  }

  prepare(): Promise<void> {
    return this.context.indexer.whole.prepareIndexes()
  }

  pin(): PinnedMirror {
    return this.context.indexer.whole.pinObjects()
  }

  register(informer: Observable): void {
    for (const each of [informer, ...Object.values(this.context.indexer.by)]) this.remember(each, informer)
    informers.add(informer)
  }

  /** Lets `internalsOf` find the informer, or one of its indexes. */
  remember(owner: unknown, informer: object): void {
    const mirror = this.sources.view === undefined ? this.sources.only : undefined
    // A view reads objects of any type.
    const input = this as unknown as ViewInput
    const snapshot = () => this.context.indexer.snapshot()
    rememberInternals(owner, { signal: this.#signal, mirror, objects: this, snapshot, input, informer })
  }

  get name(): string {
    return this.observation.name
  }

  async stop(informer: Observable, drainMs: number | undefined): Promise<void> {
    const { clock, events, indexer, router, stopping, synced } = this.context
    const { writer } = indexer
    stopping.abort(ABORTED)
    informers.remove(informer)
    writer.end()
    const error = this.sources.stoppedError('the wait')
    const ended = this.sources.end(error)
    synced.rejectAll(error)
    this.waits.recheck()
    if (drainMs !== undefined) await this.subscriptions.drain(drainMs)
    const closing = this.subscriptions.close()
    const idle = [writer.idle(), router.scans.idle()]
    await settleWithin(STOP_GRACE_MS, Promise.all([ended, ...idle, ...closing]), clock)
    await Promise.all(closing)
    await this.sources.saved()
    // A source that did not end in time may still fail or warn.
    events.close()
    informers.ended(informer)
  }

  committed(runner: SourceRunner<S, T>, commit: Commit<T>): Steps | undefined {
    const { router, indexer } = this.context
    const { commits, isBusy } = indexer.writer
    const position = { commit: commits, version: commit.position, history: this.subscriptions.shownHistory }
    router.current = position
    if (commit.changes.length > 0 || commit.origin === 'initial') this.#signal.notify()
    const hasOpened = this.openIfListed()
    // Waits for the store do not wait until its subscriptions have a large commit.
    if (isBusy) this.#checkWaits(runner)
    const steps = hasOpened ? undefined : router.route(commit, position)
    if (isBusy && steps !== undefined) return this.#finishRouting(runner, commit, steps)
    finish(steps)
    this.#routed(runner, commit, isBusy)
    return undefined
  }

  *#finishRouting(runner: SourceRunner<S, T>, commit: Commit<T>, steps: Steps): Steps {
    yield* steps
    this.#routed(runner, commit, true)
  }

  #routed(runner: SourceRunner<S, T>, commit: Commit<T>, isLarge: boolean): void {
    const { router } = this.context
    router.routed = router.current
    // The waits of an idle feed may be over without a change for it: the store has a version again after
    // `onAccessLost: 'clear'`, or the wait began while the commit was routed.
    const isList = commit.origin === 'initial' || commit.origin === 'relist'
    if (isList || isLarge) for (const feed of router.feeds) feed.routed()
    this.observation.committed(runner, commit)
    this.#checkWaits(runner)
  }

  #checkWaits(runner: SourceRunner<S, T>): void {
    runner.waiters.check(runner.reached)
    this.waits.recheck()
  }

  confirmed(runner: SourceRunner<S, T>): void {
    this.openIfListed()
    this.#checkWaits(runner)
    for (const feed of this.context.router.feeds) feed.routed()
  }

  sourceRemoved(): void {
    this.openIfListed()
    this.waits.recheck()
  }

  stateChanged(runner: SourceRunner<S, T>, before: ReflectorState): void {
    const { synced, events } = this.context
    this.observation.stateChanged(runner, before)
    if (runner.reflector.state.name === 'failed') synced.rejectAll(thrownFor(runner.reflector.lastError))
    events.status(() => [this.observation.status(), this.observation.status(runner, before)])
  }

  /** The status of a view changes with those of its inputs. */
  followStatus(): void {
    const { view } = this.sources
    if (view === undefined) return
    let before = this.observation.status()
    view.onStatus(() => {
      const previous = before
      before = this.observation.status()
      this.context.events.status(() => [before, previous])
    })
  }

  /** Opens the latch, and starts the replays once readers see objects. Returns whether the replays started now. */
  openIfListed(): boolean {
    const { synced, router, indexer } = this.context
    const { sources } = this
    if (!sources.isStarted || synced.isOpen || !sources.areFilled) return false
    if (sources.areListed) synced.open()
    if (router.isFilled) {
      // Controllers run from now on.
      for (const feed of router.feeds) feed.reader.wake()
      return false
    }
    router.isFilled = true
    // A filter may subscribe: such a feed has begun already.
    indexer.writer.reentrancy.run(() => {
      for (const feed of [...router.feeds]) feed.startReplay()
    })
    return true
  }
}
