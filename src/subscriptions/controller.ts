import { messageOf, SourceError } from '../contract/errors.js'
import type { Random } from '../contract/random.js'
import type { Version } from '../contract/version.js'
import type { Change, Deleted } from '../queue/change.js'
import { WorkQueue } from '../queue/work-queue.js'
import { type Backoff, backoff, drawDelay, grown } from '../reflector/backoff.js'
import { settleWithin, type Wait } from '../util/deadline.js'
import { checkOptions, isBoolean, isPositive } from '../util/validate-options.js'
import type { Feed } from './feed.js'
import { type InFlightBatch, InFlightBatches } from './in-flight-batches.js'
import { SlowHandlerMonitor } from './slow-handler-monitor.js'
import { type ChangeBatch, CLOSE_GRACE_MS, type Subscription } from './subscription-types.js'
import { TimedRun } from './timed-run.js'
import type { VersionWait } from './version-waiters.js'

export interface ReconcileContext<T> {
  /** The object as the store has it now; undefined where it is gone, or out of the scope. */
  readonly object: T | undefined
  /** Its last state, where it is gone, until a run for that has succeeded. */
  readonly deleted: T | undefined
  /** 1 for the first run, one more after each failure, 1 again after a success. */
  readonly attempt: number
  /** Aborts when the controller or the informer stops, and when the option `timeoutMs` is over. */
  readonly signal: AbortSignal
  /**
   * Runs the key again after so many milliseconds, if this run succeeds and nothing happens to it before: no change, no
   * resync, no `enqueue` whose time has come.
   */
  requeueAfter(delayMs: number): void
}

/**
 * Level-triggered: `fn` is run for each key that is not yet as it should be, with the state of now. Its `version` is
 * how far everything has been reconciled with success.
 */
export interface Controller extends Subscription {
  /**
   * Runs a key for a reason that comes from elsewhere: as soon as may be, or with `delayMs` after that many milliseconds.
   * What runs the key before leaves a delay as it is; of several delays of a key the one that ends first counts. Does
   * nothing once the controller is closed, or is being drained.
   */
  enqueue(key: string, options?: { readonly delayMs?: number }): void
}

/** The first delay after a failure, in milliseconds; it doubles up to the second number. Half of it is chance. */
export const RETRY_MS: readonly [number, number] = [100, 30_000]

/** A run that has not settled for this long is reported, once. Runs may well take long; one that hangs should not do so in silence. */
const SLOW_RUN_MS = 60_000
/** The event loop gets a turn after this long of taking what happened. */
const SLICE_MS = 8

/** A key that is not yet as it should be: one that is ready or run, or is tried again later. */
interface Item {
  retry: Backoff
  attempt: number
  failedAt: number
  /** The batch with its earliest change that is not reconciled; undefined where no change asks for it. */
  since: InFlightBatch | undefined
  /** The batch with the first change that came during the run that is under way. */
  duringRun: InFlightBatch | undefined
  readonly waitingSince: number
}

export class FeedController<T> implements Controller {
  readonly #feed: Feed<T>
  readonly #fn: (key: string, context: ReconcileContext<T>) => Promise<void>
  readonly #concurrency: number
  readonly #random: Random
  readonly #timeoutMs: number | undefined
  readonly #queue: WorkQueue
  readonly #slow: SlowHandlerMonitor
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal | undefined
  readonly #items = new Map<string, Item>()
  /** How each key went whose deletion is not reconciled. */
  readonly #deleted = new Map<string, Deleted<T>>()
  /** Keys of which more is known than the feed has told, while it is drained. */
  readonly #ahead = new Set<string>()
  /** What is not reconciled: of each batch, for how many keys it has the earliest change that is not. */
  readonly #open: InFlightBatches<T>
  #isTaking = false
  #idle: (() => void)[] = []
  /** Who closes it once more waits for the same end. */
  #closing: Promise<void> | undefined

  constructor(
    feed: Feed<T>,
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: {
      readonly concurrency?: number | undefined
      readonly timeoutMs?: number | undefined
      readonly signal?: AbortSignal | undefined
      readonly random: Random
    },
  ) {
    this.#feed = feed
    this.#fn = fn
    this.#concurrency = options.concurrency ?? 1
    this.#random = options.random
    this.#timeoutMs = options.timeoutMs
    feed.longest = () => this.#slow.longest
    this.#open = new InFlightBatches(feed)
    this.#queue = new WorkQueue(feed.host.clock, (key) => {
      this.#item(key)
      this.#wake()
    })
    this.#slow = new SlowHandlerMonitor(feed.host.clock, (key, ms) => this.#reportSlow(key, ms), SLOW_RUN_MS)
    this.#signal = options.signal
    feed.wake = () => this.#wake()
    if (feed.hasMore) this.#wake()
    if (this.#signal?.aborted) this.#abort()
    else this.#signal?.addEventListener('abort', this.#abort, { once: true })
  }

  get version(): Version | undefined {
    return this.#feed.version
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number; readonly oldestKey: string | undefined } {
    const { keys, oldestMs } = this.#feed.backlog
    const now = this.#feed.host.clock.now()
    let oldest = oldestMs
    for (const { waitingSince } of this.#items.values()) oldest = Math.max(oldest, now - waitingSince)
    return { keys: keys + this.#items.size, oldestMs: oldest, oldestKey: this.#slow.longest?.key }
  }

  /** @internal How many taken batches something is kept of. */
  get batchesInFlight(): number {
    return this.#open.size
  }

  enqueue(key: string, options: { readonly delayMs?: number } = {}): void {
    if (typeof key !== 'string') throw new TypeError(`enqueue: the key must be a string, got ${typeof key}`)
    checkOptions('enqueue', options, { delayMs: isPositive })
    if (this.#queue.isDraining) return
    if (options.delayMs === undefined) this.#queue.add(key)
    else this.#queue.addAt(key, this.#feed.host.clock.now() + options.delayMs)
  }

  synced(wait?: Wait): Promise<void> {
    return this.#feed.synced('synced', wait)
  }

  waitFor(version: Version, wait?: VersionWait): Promise<void> {
    return this.#feed.waitFor(version, wait)
  }

  async close(options: { readonly drain?: boolean } = {}): Promise<void> {
    checkOptions('close', options, { drain: isBoolean })
    if (options.drain === true) {
      this.#queue.drain()
      this.#feed.stopAccepting(this.#missed)
      while (this.#feed.closed === undefined && this.#isBusy) await this.#untilIdle()
    }
    this.#closing ??= this.#end()
    await this.#closing
  }

  async #end(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#feed.close(new SourceError('the controller was closed', { code: 'STOPPED' }))
    this.#queue.close()
    this.#stop.abort(new SourceError('the controller was closed', { code: 'STOPPED' }))
    if (this.#isBusy) await settleWithin(CLOSE_GRACE_MS, this.#untilIdle(), this.#feed.host.clock)
    this.#slow.stop()
    // Who drains it waits no longer, whatever still runs.
    this.#idled()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  readonly #abort = (): void => {
    void this.close()
  }

  get #isBusy(): boolean {
    return this.#feed.hasMore || this.#isTaking || this.#queue.active > 0
  }

  #untilIdle(): Promise<void> {
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #wake(): void {
    if (this.#isTaking) return
    this.#isTaking = true
    void Promise.resolve().then(() => this.#work())
  }

  /** Takes what the feed has, and starts as many runs as there is room for. */
  #work(): void {
    const { clock } = this.#feed.host
    const since = clock.now()
    // It may be drained since before the first list.
    if (this.#queue.isDraining) this.#feed.stopAccepting(this.#missed)
    for (let batch = this.#feed.dequeue(); batch !== undefined; batch = this.#feed.dequeue()) {
      this.#mark(batch)
      if (clock.now() - since > SLICE_MS && this.#feed.hasMore) {
        void clock.sleep(0).then(() => this.#work())
        return
      }
    }
    this.#isTaking = false
    // Before the first list nobody knows whether a key that was enqueued is there.
    const mayRun = this.#feed.closed === undefined && this.#feed.host.isSynced()
    while (mayRun && this.#queue.running < this.#concurrency) {
      const key = this.#queue.dequeue()
      if (key === undefined) break
      void this.#run(key)
    }
    if (this.#isBusy) return
    if (this.#feed.closed !== undefined) this.#feed.host.release(this.#feed)
    this.#idled()
  }

  #idled(): void {
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }

  #mark(batch: ChangeBatch<T>): void {
    const open = this.#open.track(batch)
    for (const change of batch.changes) {
      // A key that waits, or runs, will be as it should be without being told again what it knew.
      if (change.origin === 'resync' && this.#items.has(change.key)) continue
      if (!this.#ahead.has(change.key)) this.#remember(change)
      const item = this.#item(change.key)
      const role = this.#queue.isRunning(change.key) ? 'duringRun' : 'since'
      if (item[role] === undefined) {
        item[role] = open
        this.#open.expect(open, 1)
      }
      // During a run it waits for how that ends: a failure has its own distance.
      if (role === 'duringRun') this.#queue.add(change.key)
      else this.#queue.addBy(change.key, item.failedAt + RETRY_MS[0])
    }
    this.#open.ack(open)
  }

  /** No reason for a run any more; and yet a run that is to come has the state of then. */
  readonly #missed = (changes: readonly Change<T>[]): void => {
    for (const change of changes) {
      // Of what is not taken yet nobody knows which keys it has.
      if (!this.#feed.hasMore && !this.#items.has(change.key)) continue
      this.#remember(change)
      this.#ahead.add(change.key)
    }
  }

  #remember(change: Change<T>): void {
    if (change.type === 'delete') this.#deleted.set(change.key, change)
    else this.#deleted.delete(change.key)
  }

  #item(key: string): Item {
    const known = this.#items.get(key)
    if (known !== undefined) return known
    const item: Item = {
      retry: backoff(...RETRY_MS),
      attempt: 1,
      failedAt: -Infinity,
      since: undefined,
      duringRun: undefined,
      waitingSince: this.#feed.host.clock.now(),
    }
    this.#items.set(key, item)
    return item
  }

  async #run(key: string): Promise<void> {
    const { clock, indexer } = this.#feed.host
    const item = this.#item(key)
    const object = this.#feed.isInScope(key) ? indexer.get(key) : undefined
    const gone = object === undefined ? this.#deleted.get(key) : undefined
    const deleted = gone?.object
    let again: number | undefined
    const requeueAfter = (delayMs: number): void => {
      checkOptions('requeueAfter', { delayMs }, { delayMs: isPositive })
      again = delayMs
    }
    const timed = this.#timeoutMs === undefined ? undefined : new TimedRun(clock, this.#timeoutMs, this.#stop.signal)
    const { signal } = timed ?? this.#stop
    try {
      const running = this.#fn(key, { object, deleted, attempt: item.attempt, signal, requeueAfter })
      // It no longer counts as running when waits for this key end.
      await this.#slow.monitor(key, timed?.outcome(running) ?? running)
      this.#succeeded(key, item, gone)
      this.#queue.done(key)
      if (again !== undefined && !this.#queue.isDraining) this.#queue.addBy(key, clock.now() + again)
    } catch (error) {
      this.#failed(key, item, error)
    } finally {
      timed?.dispose()
    }
    this.#wake()
  }

  #succeeded(key: string, item: Item, gone: Deleted<T> | undefined): void {
    // It may have come back and gone again meanwhile.
    if (gone !== undefined && this.#deleted.get(key) === gone) this.#deleted.delete(key)
    const { since, duringRun } = item
    this.#items.delete(key)
    if (duringRun !== undefined) this.#item(key).since = duringRun
    if (since !== undefined) this.#open.ack(since)
  }

  #failed(key: string, item: Item, cause: unknown): void {
    const { host, closed } = this.#feed
    const hasNews = this.#queue.done(key, false)
    if (closed !== undefined) return
    if (item.since === undefined) item.since = item.duringRun
    else if (item.duringRun !== undefined) this.#open.ack(item.duringRun)
    item.duringRun = undefined
    // News may be the cure: then not so late, and yet not at once, however fast they come.
    const delayMs = hasNews ? RETRY_MS[0] : drawDelay(item.retry, this.#random)
    const attempt = item.attempt++
    item.retry = grown(item.retry)
    item.failedAt = host.clock.now()
    this.#queue.addBy(key, item.failedAt + delayMs)
    const again = `again in ${(delayMs / 1_000).toFixed(1)} s`
    const then = this.#queue.isDraining ? 'not again, for the controller is being closed' : again
    const message = `${this.#name} failed at key "${key}" (attempt ${attempt}): ${messageOf(cause)}; ${then}`
    host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', cause, key }))
  }

  #reportSlow(key: string, ms: number): void {
    const message = `${this.#name} has not settled for ${Math.round(ms / 1_000)} s at key "${key}"`
    this.#feed.host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', key }))
  }

  get #name(): string {
    const { name, host } = this.#feed
    return `${name === undefined ? 'reconcile' : `reconcile "${name}"`} on ${host.sourceName}`
  }
}
