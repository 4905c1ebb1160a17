import type { SourceError } from '../../../src/contract/errors.js'
import type { MirrorCache } from '../../../src/contract/mirror-cache.js'
import type { Version } from '../../../src/contract/version.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer, InformerOptions, Lifecycle } from '../../../src/informer/informer-types.js'
import { internalsOf, type ViewInput } from '../../../src/informer/internals.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item, State } from '../backend/history.js'
import type { SimulatedSource } from '../backend/simulated-source.js'
import { DrainedSubscriptionChecker } from '../checkers/drained-subscription-checker.js'
import type { HandledVersionChecker } from '../checkers/handled-version-checker.js'
import { drawLimit } from '../checkers/handler-call-checker.js'
import type { Commits } from '../checkers/handler-commits.js'
import type { HandlerErrorChecker, MayBeLost } from '../checkers/handler-error-checker.js'
import { HealthChecker, OpenCalls } from '../checkers/health-checker.js'
import { checkPins } from '../checkers/pin-checker.js'
import { QueueChecker } from '../checkers/queue-checker.js'
import { drawResync, ResyncChecker } from '../checkers/resync-checker.js'
import { Snapshots } from '../checkers/snapshot-checker.js'
import type { StopChecker } from '../checkers/stop-checker.js'
import type { UnmergedFollower } from '../checkers/unmerged-follower.js'
import { Callers } from '../workload/callers.js'
import { type IndexesOf, RANKS } from '../workload/declared-indexes.js'
import type { ActionKind } from '../workload/fault-plan.js'
import type { Follower, IsIn } from '../workload/follower.js'
import { follow, HandlerScript } from '../workload/handler-script.js'
import type { InformerWaiters } from '../workload/informer-waiters.js'
import { misuse } from '../workload/misuse.js'
import { Reconciler } from '../workload/reconciler.js'
import { RelatedKeys } from '../workload/related-keys.js'
import { drawScope, scopeOf, type Wanted } from '../workload/subscription-scope.js'
import { informerOptionsOf } from './informer-options.js'
import type { Scenario } from './scenario.js'
import type { SleepCounter } from './sim-clock.js'

/** More followers do not make a schedule more interesting. */
const MAX_FOLLOWERS = 6

/** `closeAny` closes this many consumers at most: others should be left to receive the rest. */
const MAX_CLOSED = 3

type UserAction = Extract<
  ActionKind,
  | ('subscribe' | 'close' | 'drain follower' | 'wait of a follower' | 'reconcile' | 'enqueue' | 'drain controller')
  | ('wait for head' | 'fresh' | 'until' | 'relist' | 'misuse' | 'add index' | 'begin snapshot' | 'end snapshot')
>

/** One run of an informer with all its users, over any number of sources. */
export abstract class InformerSystem<S extends Scenario, F extends Follower> {
  readonly scenario: S
  readonly life: number
  abstract readonly informer: Informer<Item, IndexesOf>
  readonly followers: F[] = []
  readonly reconcilers: Reconciler[] = []
  /** A controller with `watches` and `after`; undefined if there is none. */
  related: RelatedKeys | undefined
  readonly work = new OpenCalls()
  readonly snapshots = new Snapshots()
  readonly callers: Callers
  protected readonly clock: SleepCounter
  protected readonly abort = new AbortController()
  /** In few schedules the objects that were left out must be present in the end, because it takes long. */
  protected readonly isPatient: boolean
  protected stopping: StopChecker | undefined
  #isStopped = false
  readonly #heals = new Set<() => void>()
  #isHealed = false
  readonly #scopes: Wanted[] = []
  #indexes = 0
  #closed = 0
  #isSliced = false
  #health: HealthChecker | undefined

  constructor(scenario: S, life: number) {
    this.scenario = scenario
    this.life = life
    this.clock = scenario.clock.facade()
    this.callers = new Callers(scenario, life)
    this.isPatient = scenario.decisions.chance('patient', 0.08)
  }

  abstract get position(): string
  /** Whether the objects of a source are being deleted because access was lost. */
  abstract get isClearing(): boolean
  abstract probeStore(): void
  abstract beginSnapshot(): void
  abstract stop(): void
  abstract readonly waiters: InformerWaiters<InformerSystem<Scenario, Follower>>
  protected abstract readonly errors: Pick<HandlerErrorChecker<InformerSystem<Scenario, Follower>>, 'plant'>
  protected abstract readonly sources: readonly SimulatedSource[]
  protected abstract readonly commits: Commits
  protected abstract readonly checksQueues: boolean
  protected abstract newFollower(name: string, isIn: IsIn): F
  /** The probability that a follower reads `changes()`. */
  protected abstract readonly readers: number
  /** Checks a batch that a follower has taken. `isScoped`: the follower has a scope. */
  protected abstract checkBatch(follower: F, batch: ChangeBatch<Item>, isScoped: boolean): void
  abstract get truth(): { readonly state: State; readonly version: Version | undefined }
  /** Receives every change of a key; undefined if there is none. */
  readonly unmerged?: UnmergedFollower | undefined

  /** The checker of the version of a controller; undefined over several sources: then it has none. */
  versionCheckerOf(_name: string): HandledVersionChecker | undefined {
    return undefined
  }

  /** A handler or a run takes long: writers may write its key. */
  stuckAt(_key: string): void {}

  /** A run for a deleted key takes long: writers may add the key and delete it again meanwhile. */
  goneAt(_key: string): void {}

  /** The error that is thrown while the store writes this object; the step is undone. */
  protected defectAt(_item: Item): Error | undefined {
    return undefined
  }

  protected newInformer(
    source: InformerOptions<Item, Item, IndexesOf>['source'],
    cache?: MirrorCache,
  ): Informer<Item, IndexesOf> {
    const options = informerOptionsOf(this.scenario, this.clock, (item) => this.defectAt(item))
    this.#isSliced = options.slices !== undefined
    return createInformer<Item, IndexesOf>({ ...options, source, ...(cache !== undefined && { cache }) })
  }

  /** Whether the changes of a large commit, or the objects of a replay, are still being queued in the subscriptions. */
  protected get isRouting(): boolean {
    const { router } = this.#input.context
    return router.routed !== router.current || router.scans.isBusy
  }

  get isWriting(): boolean {
    return this.#input.context.indexer.writer.isBusy
  }

  /** The names of removed sources whose objects are still in the store, because of a large write. */
  get removing(): readonly string[] {
    return this.#isSliced ? this.#input.sources.removing : []
  }

  get #input(): ViewInput {
    const its = internalsOf(this.informer)
    if (its !== undefined) return its.input
    throw new TypeError('not an informer of this library')
  }

  start(): void {
    const { decisions } = this.scenario
    for (let count = decisions.below('followers', 4); count > 0; count--) this.follow()
    if (decisions.chance('early wait', 0.5)) this.waiters.synced()
    this.informer.start({ signal: this.abort.signal })
    for (let count = decisions.below('followers', 2); count > 0; count--) this.follow()
    if (decisions.chance('controllers', 0.4)) this.reconcile()
    // A field that changes by itself is not reported.
    const mayBeRelated = decisions.chance('related keys', 0.12) && !this.scenario.settings.flips
    if (mayBeRelated) this.related = new RelatedKeys(this, this.clock)
  }

  follow(): void {
    if (this.followers.length >= MAX_FOLLOWERS || this.isStopping) return
    const { scenario } = this
    const { decisions } = scenario
    const own = drawScope(scenario)
    const same = decisions.pick('same scope', this.#scopes)
    const wanted = same !== undefined && decisions.chance('same scope', 0.15) ? same : own
    this.#scopes.push(wanted)
    const { scope, isIn, spoil } = scopeOf(wanted)
    const name = `follower ${this.followers.length + 1}`
    const follower = this.newFollower(name, isIn)
    const onOverflow = decisions.pick('overflow', ['coalesce', 'coalesce', 'fail'] as const)
    const resyncMs = drawResync(scenario, `${this.life}.${name}`, 0.25)
    if (resyncMs !== undefined) follower.resyncs = new ResyncChecker(scenario, name, resyncMs)
    const timeoutMs = drawLimit(scenario, `${this.life}.${name}`)
    const drawn: SubscribeOptions<Item, IndexesOf> = {
      ...scope,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(resyncMs !== undefined && { resyncMs }),
      name,
      delivery: decisions.pick('delivery', ['every', 'every', 'latest'] as const),
      capacity: decisions.pick('capacity', [1, 2, 2, 6, 10_000]),
      onOverflow,
    }
    follower.mayOverflow = onOverflow === 'fail'
    // After the abort it receives nothing.
    const options = this.callers.sign(name, drawn, () => {
      follower.draining?.interrupted()
      follower.isClosed = true
      follower.isSilenced = true
    })
    const concurrency = decisions.chance('reads', this.readers) ? undefined : decisions.pick('concurrency', [1, 2, 4])
    if (this.checksQueues)
      follower.queue = new QueueChecker(scenario, this.informer, this.commits, options, concurrency)
    scenario.note('subscribes', name)
    this.followers.push(follower)
    if (concurrency === undefined) {
      const isScoped = Object.keys(scope).length > 0
      follow(this, follower, this.#watched(follower, options), (batch) => this.checkBatch(follower, batch, isScoped))
    } else {
      const handled = { ...this.#watched(follower, options), concurrency }
      new HandlerScript<F>(this, follower, handled).subscribe(handled)
    }
    spoil()
  }

  /** The options, with a filter that may not be called after the end of the follower. */
  #watched(follower: F, options: SubscribeOptions<Item, IndexesOf>): SubscribeOptions<Item, IndexesOf> {
    const { filter } = options
    if (filter === undefined) return options
    const { violate } = this.scenario
    return {
      ...options,
      filter: (item, key) => {
        // A subscription whose signal has aborted already is closed at the end of its constructor.
        if (follower.isSilenced && follower.subscription !== undefined)
          violate('I15', `the filter of ${follower.name} was called after its end`)
        return filter(item, key)
      },
    }
  }

  close(follower: F | undefined): void {
    if (follower === undefined || follower.isClosed) return
    this.scenario.note('closes', follower.name)
    follower.draining?.interrupted()
    follower.isClosed = true
    follower.subscription?.close().then(
      () => this.#checkClosed(follower),
      (error: unknown) => this.scenario.violate('crash', `close() failed: ${error}`),
    )
    follower.isSilenced = true
  }

  /** Closes any consumer, by a call or by its signal: inside a callback, or between two slices of a large write. */
  closeAny(): void {
    if (this.isStopping) return
    const { decisions } = this.scenario
    const consumers = [...this.followers, ...this.reconcilers].filter(({ isClosed }) => !isClosed)
    const consumer = decisions.pick('closes any', consumers)
    if (consumer === undefined || ++this.#closed > MAX_CLOSED) return
    const isAborted = decisions.chance('aborts any', 0.5) && this.callers.abort(consumer.name)
    if (isAborted) return
    if (consumer instanceof Reconciler) consumer.close()
    else this.close(consumer)
  }

  /** Users close consumers in the middle of a large write or replay, too. */
  protected closeInWrite(): void {
    const { mark, settings } = this.scenario
    if (!(this.isWriting || this.isRouting) || this.isStopping || !settings.mix.strikes('write-closes-any')) return
    mark('a consumer was closed in the middle of a slice')
    this.closeAny()
  }

  #checkClosed({ name, subscription }: F): void {
    const { clock, violate } = this.scenario
    const waits = clock.still(() => subscription?.backlog.keys ?? 0)
    if (waits > 0) violate('backlog', `${name} was closed, and ${waits} changes wait`)
  }

  /** Drains it while the source continues. Something else may close it before the drain ends. */
  drainFollower(follower: F | undefined): void {
    const { scenario, informer } = this
    if (follower?.subscription === undefined || follower.isClosed || follower.draining !== undefined) return
    const { name, subscription } = follower
    scenario.note('drains', name)
    const draining = new DrainedSubscriptionChecker(scenario, follower, { informer, isStopping: () => this.isStopping })
    follower.draining = draining
    subscription.close({ drain: true }).then(
      () => {
        scenario.note('has ended', name)
        draining.settled()
        follower.isClosed = true
        follower.isSilenced = true
      },
      (error: unknown) => scenario.violate('crash', `close() of ${name} failed: ${error}`),
    )
    const afterMs =
      scenario.decisions.pick('closes a drained one', [20, 400, 3_000]) *
      scenario.decisions.next('closes a drained one')
    const closes = scenario.decisions.chance('closes a drained one', 0.3)
    if (closes && scenario.decisions.take(`closes a drained one#${this.life}.${name}`))
      scenario.clock.in(afterMs, () => this.close(follower))
  }

  reconcile(): void {
    if (this.reconcilers.length >= 2 || this.isStopping) return
    this.reconcilers.push(new Reconciler(this, `controller ${this.reconcilers.length + 1}`))
  }

  /** Drains a controller while the source continues. */
  drain(key: string): void {
    if (this.isStopping) return
    if (this.reconcilers.length === 0) this.reconcile()
    this.scenario.decisions.pick('drain controller', this.reconcilers)?.drain(key)
  }

  addIndex(): void {
    const name = `rank${++this.#indexes}`
    this.informer
      .addIndex(name, (ix) => ix.equal((item) => item.rank))
      .then(
        (rank) => this.#checkIndex(rank),
        (error: unknown) => {
          if (!this.isStopping) this.scenario.violate('I9', `addIndex failed: ${error}`)
        },
      )
  }

  #checkIndex(rank: (value: number) => readonly Item[]): void {
    for (let value = 0; value < RANKS; value++) {
      const right = this.informer.list().filter((item) => item.rank === value).length
      if (rank(value).length !== right)
        this.scenario.violate('I9', `a new index on a full store misses some of ${right}`)
    }
  }

  get isStopping(): boolean {
    return this.stopping !== undefined
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  get isDraining(): boolean {
    return this.stopping?.drainMs !== undefined
  }

  get stopDelayMs(): number {
    return 0
  }

  get hasContent(): boolean {
    return true
  }

  /** `by` stops it: the informer itself, or its group. */
  protected stopBy(by: Pick<Lifecycle, 'stop'>, stopping: StopChecker, isBySignal: boolean): void {
    const { scenario } = this
    const { drainMs } = stopping
    this.stopping = stopping
    if (isBySignal && drainMs === undefined) this.abort.abort()
    by.stop({ drainMs }).then(
      () => {
        scenario.note('stop() has settled')
        stopping.settled()
        // Callbacks that are due at the same time may be called after it.
        scenario.clock.in(1, () => {
          this.#isStopped = true
          this.silence()
        })
      },
      (error: unknown) => scenario.violate('crash', `stop() failed: ${error}`),
    )
  }

  heal(): void {
    this.#isHealed = true
    for (const heal of [...this.#heals]) heal()
  }

  /** Resolves after `ms`, or when faults are over. */
  untilHealed(ms: number): Promise<void> {
    if (this.#isHealed) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        this.#heals.delete(end)
        resolve()
      }
      this.#heals.add(end)
      this.scenario.clock.in(ms, end)
    })
  }

  use(kind: UserAction, key: string): void {
    const { decisions } = this.scenario
    if (this.isStopping) return
    const used: Readonly<Record<UserAction, () => void>> = {
      subscribe: () => this.follow(),
      close: () => this.close(decisions.pick('close', this.followers)),
      'drain follower': () => this.drainFollower(decisions.pick('drain follower', this.followers)),
      'wait of a follower': () => this.waiters.ofFollower?.(),
      reconcile: () => this.reconcile(),
      enqueue: () => decisions.pick('enqueue', this.reconcilers)?.enqueue(key),
      'drain controller': () => this.drain(key),
      'wait for head': () => this.waiters.forHead(),
      fresh: () => this.waiters.fresh(),
      until: () => this.waiters.until(key),
      relist: () => this.relist(),
      misuse: () => misuse(this.scenario, this.informer),
      'add index': () => this.addIndex(),
      'begin snapshot': () => this.beginSnapshot(),
      'end snapshot': () => this.snapshots.end(),
    }
    used[kind]()
  }

  relist(): void {
    if (!this.isStopping) this.waiters.relist()
  }

  /** An error for a handler to throw; it must be reported once. */
  planted(follower?: F, mayBeLost?: MayBeLost): Error {
    return this.errors.plant(follower?.isClosed === true, undefined, mayBeLost)
  }

  mustReport(error: SourceError, follower?: F): void {
    this.errors.plant(follower?.isClosed === true, error)
  }

  checkStopped(): void {
    const { scenario } = this
    checkPins(scenario, this.informer, 'I15')
    for (const reconciler of this.reconcilers) reconciler.checkStopped()
    for (const { runs, draining } of this.followers) {
      runs?.checkStopped()
      draining?.checkStopped()
    }
    // The slices of a commit that is being routed continue after the grace period, for example after a suspension.
    const { sleeping, yields } = this.clock
    const timers = sleeping - (this.isRouting ? yields : 0)
    if (timers > 0) scenario.violate('I15', `${timers} timers are left after stop()`)
    this.checkSignals('was not aborted by stop()')
    if (scenario.listenersOf(this.abort.signal) > 0)
      scenario.violate('I15', "a listener is left on the caller's signal")
    const { any } = this.waiters.pending
    if (any !== undefined) scenario.violate('waits', `${any} has not ended with stop()`)
    this.callers.checkStopped()
  }

  /** Whatever reads a source has been aborted. */
  checkSignals(what: string): void {
    for (const { name, requests, streams } of this.sources) {
      if (requests.size > 0) this.scenario.violate('I15', `a request for the head of ${name} ${what}`)
      for (const { kind, signal } of streams)
        if (!signal.aborted) this.scenario.violate('I15', `a ${kind} of ${name} ${what}`)
    }
  }

  protected checkQueues(): void {
    for (const { queue, isClosed, draining, subscription } of this.followers) {
      if (queue === undefined) continue
      if (this.isStopping || draining !== undefined || (isClosed && !queue.isOverflowed)) queue.end()
      else if (subscription !== undefined) queue.checkStep(subscription)
    }
  }

  protected get unfinishedUser(): string | undefined {
    const { unfinished } = this.waiters.pending
    const loud = this.followers.find((f) => !f.isQuiet) ?? this.reconcilers.find((r) => !r.isQuiet)
    if (unfinished !== undefined) return unfinished
    return this.related?.isQuiet === false ? this.related.name : loud?.name
  }

  protected get health(): HealthChecker {
    this.#health ??= new HealthChecker(this.scenario, this.informer, this.work)
    return this.#health
  }

  protected checkResyncs(): void {
    for (const follower of this.followers) {
      const { resyncs, known, subscription, draining, isClosed, isHolding, isStuck, neverSettles } = follower
      if (resyncs === undefined || isClosed || neverSettles || subscription === undefined || draining) continue
      // A handler that hangs until its time limit delays the resyncs of its follower.
      const isRunning = (follower.running?.size ?? 0) > 0 || follower.runs?.longest !== undefined
      const isBusy = isHolding || isStuck || isRunning || subscription.backlog.keys > 0
      resyncs.checkStep(known, isBusy)
    }
  }

  protected checkRuns(): void {
    for (const { runs, subscription } of this.followers) runs?.checkStep(subscription)
    for (const { runs, controller } of this.reconcilers) runs.checkStep(controller)
  }

  protected checkDrains(): void {
    // A stop ends a drain within the stop's own limits.
    if (this.isStopping) return
    for (const reconciler of this.reconcilers) reconciler.checkStep()
    for (const { draining } of this.followers) draining?.checkStep()
  }

  /** No follower may receive anything any more, and no source may warn. */
  protected silence(): void {
    for (const { warnings } of this.sources) warnings.silence()
    for (const each of [...this.followers, ...this.reconcilers]) each.isSilenced = true
  }
}
