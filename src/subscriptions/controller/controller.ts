import { messageOf, type SourceError, TerminalError } from '../../contract/errors.js'
import type { Random } from '../../contract/random.js'
import type { Change, Deleted } from '../../queue/change.js'
import { WorkQueue } from '../../queue/work-queue.js'
import { drawDelay } from '../../reflector/backoff.js'
import { promised } from '../../util/deadline.js'
import { performSlice, type Steps } from '../../util/steps.js'
import { type CallResult, channels, type RunMessage } from '../../util/telemetry.js'
import { TimeSlice } from '../../util/time-slice.js'
import { assertSynchronous } from '../../util/type-guards.js'
import { checkOptions, isDelay } from '../../util/validate-options.js'
import { FeedConsumer } from '../delivery/feed-consumer.js'
import { type InFlightBatch, InFlightBatches } from '../delivery/in-flight-batches.js'
import { SlowHandlerMonitor } from '../delivery/slow-handler-monitor.js'
import { timedRun } from '../delivery/timed-run.js'
import type { Feed } from '../feed.js'
import { ReplicatedKeys } from '../replicas/replicated-keys.js'
import type { Scope } from '../subscription-types.js'
import type {
  Controller,
  ControllerWatch,
  FailingKey,
  ReconcileContext,
  ReconcileOptions,
  ReplicaStatus,
  RetryOptions,
} from './controller-types.js'
import { FailingKeys } from './failing-keys.js'
import { addReason, type PendingKey, PendingKeys } from './pending-keys.js'
import { retryOf } from './reconcile-options.js'
import { RunGate } from './run-gate.js'
import { WatchedInformer, type Watching } from './watched-informer.js'

/** A run that has not settled for this many milliseconds is reported once. */
const SLOW_RUN_MS = 60_000

const MAX_ERROR = 200

export class FeedController<T> extends FeedConsumer<T> implements Controller {
  readonly #fn: (key: string, context: ReconcileContext<T>) => Promise<void>
  readonly #concurrency: number
  readonly #random: Random
  readonly #timeoutMs: number | undefined
  readonly #retry: Required<RetryOptions>
  readonly #queue: WorkQueue
  readonly #priority: ReconcileOptions<T>['priority']
  #hasPriorityFailed = false
  readonly slow: SlowHandlerMonitor
  readonly #stop = new AbortController()
  readonly #pending: PendingKeys<T>
  readonly #failing = new FailingKeys()
  readonly #deleted = new Map<string, Deleted<T>>()
  /** While it drains: the keys with skipped changes. Their deletions are newer than the batches of the feed. */
  readonly #ahead = new Set<string>()
  /** Each batch counts the keys of which it has the earliest change that is not reconciled. */
  readonly #inFlight: InFlightBatches<T>
  readonly #gate: RunGate
  readonly #watches: Watching[] = []
  #isDequeuing = false
  /** Marks the keys of dequeued changes. Undefined when all are marked. */
  #marking: Steps | undefined
  #unmarked = 0
  readonly #replicas: ReplicatedKeys<T> | undefined
  readonly #slice: TimeSlice
  #isSliceOver = false

  constructor(
    feed: Feed<T>,
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: Omit<ReconcileOptions<T>, keyof Scope<T> | 'watches'> &
      Pick<Scope<T>, 'concurrency' | 'timeoutMs' | 'signal'> & { readonly random: Random },
  ) {
    super(feed, 'controller', options.signal)
    this.#fn = fn
    this.#concurrency = options.concurrency ?? 1
    this.#random = options.random
    this.#timeoutMs = options.timeoutMs
    this.#retry = retryOf(options.retry)
    this.#priority = options.priority
    this.#inFlight = new InFlightBatches(feed)
    this.#pending = new PendingKeys(this.#retry, feed.host.clock, this.#inFlight, this.#failing)
    this.#queue = new WorkQueue(
      feed.host.clock,
      this.#pending,
      () => this.#continue(),
      (key) => addReason(this.#pending.of(key), 'enqueued'),
      options.priority && ((key) => this.#priorityOf(key)),
    )
    this.#replicas = options.leases && this.#join(options.leases) // It may throw: nothing waits before.
    this.#gate = new RunGate(options, feed.host.clock, this.#stop.signal, {
      wake: () => this.#continue(),
      blocked: (reason) => void this.feed.report(`${this.#title} runs no key: ${reason}`),
    })
    this.#slice = new TimeSlice(feed.host.clock)
    this.slow = new SlowHandlerMonitor(feed.host.clock, (key, ms) => this.#hangs(key, ms), SLOW_RUN_MS)
    this.connect()
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number; readonly oldestKey: string | undefined } {
    const { keys, oldestMs } = this.feed.backlog
    const oldest = Math.max(oldestMs, this.#pending.oldestMs)
    return { keys: keys + this.#unmarked + this.#pending.size, oldestMs: oldest, oldestKey: this.slow.longest?.key }
  }

  get replica(): ReplicaStatus | undefined {
    return this.#replicas?.gate.status
  }

  get waitsFor(): string | undefined {
    return this.#gate.missing
  }

  get failing(): ReadonlyMap<string, FailingKey> {
    return this.#failing.all
  }

  get isPaused(): boolean {
    return this.#gate.isPaused
  }

  pause(): void {
    this.#gate.isPaused = true
    this.rested() // A drain does not wait for the keys that wait.
  }

  resume(): void {
    this.#gate.isPaused = false
    this.#continue()
  }

  enqueue(key: string, options: { readonly delayMs?: number } = {}): void {
    if (typeof key !== 'string') throw new TypeError(`enqueue: the key must be a string, got ${typeof key}`)
    checkOptions('enqueue', options, { delayMs: isDelay })
    if (this.#queue.isDraining) return
    if (options.delayMs === undefined) this.#enqueueFor('enqueued', key)
    else this.#queue.addAt(key, this.feed.host.clock.now() + options.delayMs)
  }

  watch<U>(watch: ControllerWatch<U>): void {
    const enqueue = (key: unknown): void => {
      if (typeof key !== 'string') throw new TypeError(`watches: a key must be a string, got ${typeof key}`)
      if (!this.#queue.isDraining) this.#enqueueFor('watches', key)
    }
    this.#watches.push(new WatchedInformer(watch, this.feed.name, enqueue))
  }

  #enqueueFor(reason: ReconcileContext<unknown>['reason'], key: string): void {
    addReason(this.#pending.of(key), reason)
    this.#queue.add(key)
  }

  protected get isBusy(): boolean {
    const active = this.#gate.isShut ? this.#queue.running : this.#queue.active
    const isLeaving = this.feed.closed !== undefined && this.#replicas?.gate.hasLeft === false
    return this.feed.hasQueued || this.#isDequeuing || active > 0 || isLeaving
  }

  protected override stopAccepting(): void {
    this.#queue.drain()
    this.feed.stopAccepting(this.#skipped)
  }

  protected override release(): void {
    super.release()
    this.#leave()
  }

  /** It runs no key any more, so another replica may run its keys. */
  #leave(): void {
    for (const watch of this.#watches.splice(0)) watch.close()
    if (this.feed.closed !== undefined) this.#replicas?.leave(this.feed.closed)
  }

  protected override abort(reason: SourceError): void {
    this.#leave()
    this.#queue.close()
    this.#stop.abort(reason)
  }

  wake(): void {
    this.#slice.begin()
    this.#isSliceOver = false
    this.#continue()
  }

  #continue(): void {
    if (this.#isDequeuing) return
    this.#isDequeuing = true
    void (this.#isSliceOver ? this.#slice.turn() : Promise.resolve()).then(() => this.#work())
  }

  #work(): void {
    const { clock, router } = this.feed.host
    this.#isSliceOver = false
    // The feed ignores a call before the first list.
    if (this.#queue.isDraining) this.feed.stopAccepting(this.#skipped)
    this.#marking ??= this.#markAll()
    if (!performSlice(this.#marking, clock, router.slices)) {
      void clock.sleep(0).then(() => this.#work())
      return
    }
    this.#marking = undefined
    this.#isDequeuing = false
    // Before the first list it is unknown whether the object of a key exists. Later, runs wait for queued changes.
    const { closed, isBehind, hasQueued } = this.feed
    const mayRun = closed === undefined && this.feed.host.isSynced && !isBehind && !hasQueued
    if (mayRun && this.#gate.areOthersSynced) this.#replicas?.ready()
    while (mayRun && this.#queue.running < this.#concurrency && this.#queue.ready > 0 && this.#gate.take()) {
      const key = this.#queue.dequeue()
      if (key === undefined) break
      if (this.#replicas?.gate.mayRun(key) === false) {
        this.#drop(key)
        this.#gate.giveBack()
        if (!this.#slice.isOverAfterCall()) continue
        this.#isSliceOver = true
        this.#continue()
        break
      }
      void this.#run(key)
      this.#isSliceOver ||= this.#slice.isOverAfterCall()
    }
    this.rested()
  }

  *#markAll(): Steps {
    for (let dequeued = this.feed.dequeue(); dequeued !== undefined; dequeued = this.feed.dequeue()) {
      const batch = this.#inFlight.track(dequeued)
      this.#unmarked = dequeued.changes.length
      for (const change of dequeued.changes) {
        this.#unmarked--
        this.#markPending(change, batch)
        yield
        if (this.feed.closed !== undefined) return
      }
      this.#inFlight.ack(batch)
    }
  }

  #markPending(change: Change<T>, batch: InFlightBatch): void {
    // A pending key is run anyway.
    if (change.origin === 'resync' && this.#pending.has(change.key)) return
    // Another replica runs the key: the change counts as reconciled.
    if (!this.#pending.has(change.key) && this.#replicas?.skips(change)) return
    if (!this.#ahead.has(change.key)) this.#recordDeletion(change)
    const item = this.#pending.of(change.key)
    const { origin } = change
    addReason(item, origin === 'initial' || origin === 'resync' ? origin : 'changed')
    const role = this.#queue.isRunning(change.key) ? 'duringRun' : 'since'
    if (item[role] === undefined) {
      item[role] = batch
      this.#inFlight.expect(batch, 1)
    }
    // A key that runs waits for the end of the run. After a failure the retry delay counts.
    if (role === 'duringRun') this.#queue.add(change.key)
    else if (origin === 'resync') this.#queue.add(change.key, true)
    else this.#queue.addBy(change.key, item.failedAt + this.#retry.minMs)
  }

  #join(leases: NonNullable<ReconcileOptions<T>['leases']>): ReplicatedKeys<T> {
    const gained = (key: string, deletion: Deleted<T> | undefined): void => {
      if (this.#queue.isDraining) return
      if (deletion !== undefined && !this.#deleted.has(key)) this.#deleted.set(key, deletion)
      this.#enqueueFor('gained', key)
    }
    const left = (): void => this.#continue()
    const [feed, failing, watches, random] = [this.feed, this.#failing, this.#watches, this.#random]
    return new ReplicatedKeys(leases, { feed, failing, watches, random, gained, left })
  }

  /** A key that was ready belongs to another replica now. */
  #drop(key: string): void {
    this.#queue.done(key, false)
    this.#pending.drop(key)
    this.#failing.delete(key)
    const deletion = this.#deleted.get(key)
    this.#deleted.delete(key)
    this.#replicas?.dropped(key, deletion)
  }

  /** A skipped change is not a reason for a run. But later runs read the store with it, so its deletion is recorded. */
  readonly #skipped = (changes: readonly Change<T>[]): void => {
    for (const change of changes) {
      // The keys of batches that are not dequeued are unknown.
      if (!this.feed.hasQueued && this.#marking === undefined && !this.#pending.has(change.key)) continue
      this.#recordDeletion(change)
      this.#ahead.add(change.key)
    }
  }

  #recordDeletion(change: Change<T>): void {
    if (change.type === 'delete') this.#deleted.set(change.key, change)
    else this.#deleted.delete(change.key)
  }

  async #run(key: string): Promise<void> {
    const { clock, indexer } = this.feed.host
    const item = this.#pending.of(key)
    const object = this.feed.scope.has(key) ? indexer.get(key) : undefined
    const deletion = object === undefined ? this.#deleted.get(key) : undefined
    const gone = object === undefined ? this.#whyGone(key, deletion) : undefined
    const { attempt, reason = 'requeued' } = item
    item.reason = undefined
    let requeueMs: number | undefined
    const requeueAfter = (delayMs: number): void => {
      checkOptions('requeueAfter', { delayMs }, { delayMs: isDelay })
      requeueMs = delayMs
    }
    const call = this.#begin(key)
    const { signal, fence } = call
    if (attempt > 1) this.feed.counts.retried++
    const observed = observedRun(this.feed, { key, attempt, cause: item.since?.position?.version })
    try {
      const run = (): Promise<void> =>
        this.#fn(key, { object, lastObject: deletion?.object, gone, reason, attempt, signal, fence, requeueAfter })
      // The monitor has ended before waits for this key end.
      await this.slow.monitor(key, call.perform(observed === undefined ? run : () => observed.call(run)))
      observed?.ended('success')
      this.#succeeded(key, item, deletion)
      this.#queue.done(key)
      if (requeueMs !== undefined && !this.#queue.isDraining) this.#queue.addBy(key, clock.now() + requeueMs)
    } catch (error) {
      observed?.ended('failure', error)
      // The run was aborted with the lease. The next owner runs the key.
      if (call.isLost() && this.feed.closed === undefined) this.#drop(key)
      else this.#failed(key, item, error)
    } finally {
      call.dispose()
    }
    this.#continue()
  }

  /** One run of a key. Its signal aborts with its time limit, and with the lease of the replica. */
  #begin(key: string) {
    const owner = this.#replicas?.gate
    const owned = owner?.begin(key)
    const outer = owned?.signal ?? this.#stop.signal
    const timed = timedRun(this.feed.host.clock, this.#timeoutMs, outer)
    return {
      signal: timed === undefined ? outer : (owner?.checked(timed.signal) ?? timed.signal),
      fence: owned?.fence,
      /** The ownership of the key ends when the promise settles, also if the run times out before. */
      perform: (fn: () => Promise<void>): Promise<void> => {
        const running = promised(fn)
        if (owned !== undefined) Promise.resolve(running).then(owned.end, owned.end)
        return timed?.outcome(running) ?? running
      },
      /** Whether it was aborted with the lease, and the key is not owned again. */
      isLost: (): boolean => owned?.signal.aborted === true && owner?.mayRun(key) === false,
      dispose: (): void => timed?.dispose(),
    }
  }

  #whyGone(key: string, deletion: Deleted<T> | undefined): NonNullable<ReconcileContext<T>['gone']> {
    if (deletion !== undefined) return deletion.gone ?? 'deleted'
    return this.feed.host.indexer.has(key) ? 'out-of-scope' : 'unknown'
  }

  #succeeded(key: string, item: PendingKey, deletion: Deleted<T> | undefined): void {
    // The object may have been added and deleted again during the run.
    if (deletion !== undefined && this.#deleted.get(key) === deletion) this.#deleted.delete(key)
    this.feed.counts.succeeded++
    this.#failing.delete(key)
    this.#pending.settle(key, item)
  }

  #failed(key: string, item: PendingKey, cause: unknown): void {
    const { host, closed } = this.feed
    const wasAdded = this.#queue.done(key, false)
    this.feed.counts.failed++
    if (closed !== undefined) return
    const { attempt } = item
    const isFinal = cause instanceof TerminalError || attempt >= this.#retry.maxAttempts
    // A change may resolve the failure, so the retry is early. But frequent changes must not cause a retry each.
    const delayMs = wasAdded ? this.#retry.minMs : drawDelay(item.retry, this.#random)
    const failedAt = host.clock.now()
    const retryAt = wasAdded || !isFinal ? failedAt + delayMs : undefined
    const lastError = messageOf(cause).slice(0, MAX_ERROR)
    const failure = { attempt: isFinal ? 1 : attempt + 1, failedAt, retryAt, lastError }
    const forgotten = this.#failing.set(key, failure)
    if (forgotten !== undefined && !this.#pending.has(forgotten)) this.#deleted.delete(forgotten)
    if (isFinal) this.#pending.settle(key, item)
    else this.#pending.retryLater(item, failedAt)
    if (retryAt !== undefined) this.#queue.addBy(key, retryAt)
    const next = then(this.#queue.isDraining ? 'closing' : retryAt === undefined ? undefined : delayMs)
    const message = `${this.#title} failed at key "${key}" (attempt ${attempt}): ${messageOf(cause)}; ${next}`
    this.feed.report(message, cause, key)
  }

  #hangs(key: string, ms: number): void {
    this.feed.counts.slow++
    const hung = `${this.#title} has not settled for ${Math.round(ms / 1_000)} s at key "${key}"`
    this.feed.report(hung + this.feed.drainHint, undefined, key)
  }

  /** Returns 0 if the option fails, and reports the first failure. */
  #priorityOf(key: string): number {
    try {
      const priority = this.#priority?.(key, this.#pending.get(key)?.reason ?? 'requeued')
      assertSynchronous(priority, 'priority function')
      if (priority !== undefined && Number.isFinite(priority)) return priority
      throw new TypeError(`it returned ${priority}`)
    } catch (error) {
      if (!this.#hasPriorityFailed) {
        const failure = `the priority function of ${this.#title} failed at key "${key}": ${messageOf(error)}`
        this.feed.report(`${failure}; it counts as 0`, error, key)
      }
      this.#hasPriorityFailed = true
      return 0
    }
  }

  get #title(): string {
    const { name, host } = this.feed
    return `${name === undefined ? 'reconcile' : `reconcile "${name}"`} on ${host.title}`
  }
}

/** Publishes the start of a run. Returns undefined if nothing subscribes to such messages. */
function observedRun<T>({ informer, name, host }: Feed<T>, run: Pick<RunMessage, 'key' | 'attempt' | 'cause'>) {
  if (!channels.runStart.hasSubscribers) return undefined
  const since = host.clock.now()
  const unset = { around: undefined, durationMs: 0, result: 'success', error: undefined } as const
  const message: RunMessage = { informer, controller: name, ...run, ...unset }
  channels.runStart.publish(message)
  return {
    /** Calls the function of the controller, in the context of the subscribers. */
    call: <R>(call: () => R): R => (message.around === undefined ? call() : message.around(call)),
    ended(result: CallResult, error?: unknown): void {
      message.durationMs = host.clock.now() - since
      message.result = result
      message.error = error
      channels.runEnd.publish(message)
    },
  }
}

/** `next`: the delay of the retry in milliseconds; undefined if there is none before a change. */
function then(next: number | 'closing' | undefined): string {
  if (next === 'closing') return 'not again, for the controller is being closed'
  return next === undefined ? 'not again before it changes' : `again in ${(next / 1_000).toFixed(1)} s`
}
