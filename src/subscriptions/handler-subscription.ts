import { messageOf, SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import {
  type Added,
  type Change,
  changesOf,
  type Deleted,
  mergePending,
  type Pending,
  type Updated,
} from '../queue/change.js'
import { DEFAULT_CAPACITY } from '../queue/delta-fifo.js'
import { settleWithin, type Wait } from '../util/deadline.js'
import { checkOptions, isBoolean, isFunction } from '../util/validate-options.js'
import type { Feed } from './feed.js'
import { type InFlightBatch, InFlightBatches } from './in-flight-batches.js'
import { SlowHandlerMonitor } from './slow-handler-monitor.js'
import { type ChangeBatch, CLOSE_GRACE_MS, type Subscription } from './subscription-types.js'
import { TimedRun } from './timed-run.js'
import type { VersionWait } from './version-waiters.js'

/**
 * What is called for each change. A promise is awaited before the key's next change. One that throws, rejects or never
 * settles is reported with code `HANDLER`; nothing is lost for anybody else, and the next change is told all the same.
 */
export interface Handlers<T> {
  add?(change: Added<T>, context: HandlerContext): unknown
  update?(change: Updated<T>, context: HandlerContext): unknown
  delete?(change: Deleted<T>, context: HandlerContext): unknown
}

export interface HandlerContext {
  /** Aborts when the subscription or the informer stops, and when the option `timeoutMs` is over. */
  readonly signal: AbortSignal
}

/** The event loop gets a turn after this long of continuous delivery. */
const SLICE_MS = 8
/** How many changes are told between two looks at the clock. */
const SLICE_CHANGES = 64

/** A taken change that no handler was called for yet. */
interface Untold<T> {
  readonly change: Change<T>
  readonly of: InFlightBatch
  /** Since when it has waited; where changes were merged, the first of them. */
  readonly at: number
}

/** A subscription that calls handlers: the changes of a key one after the other, `concurrency` keys at a time. */
export class HandlerSubscription<T> implements Subscription {
  readonly #feed: Feed<T>
  readonly #handlers: Handlers<T>
  readonly #concurrency: number
  readonly #capacity: number
  readonly #wantsLatest: boolean
  readonly #slow: SlowHandlerMonitor
  readonly #signal: AbortSignal | undefined
  readonly #timeoutMs: number | undefined
  readonly #stop = new AbortController()
  readonly #context: HandlerContext = { signal: this.#stop.signal }
  #isPumping = false
  #idle: (() => void)[] = []
  /** Who closes it once more waits for the same end. */
  #closing: Promise<void> | undefined
  /** How many taken changes there are for which no handler was called yet. */
  #untold = 0
  /** Since when what was taken last has waited. */
  #takenSince = 0

  /** With more than one key at a time: what is not done. */
  readonly #open: InFlightBatches<T>
  /** Changes that may be handled as soon as there is room, the next one last. */
  #ready: Untold<T>[] = []
  /** Changes of keys that are being handled. Invariant: a key is here exactly while its handler runs. */
  readonly #blocked = new Map<string, Untold<T>[]>()
  #blockedCount = 0

  constructor(feed: Feed<T>, handlers: Handlers<T>, options: HandlerOptions) {
    this.#feed = feed
    this.#handlers = handlers
    this.#concurrency = options.concurrency ?? 1
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY
    this.#open = new InFlightBatches(feed)
    this.#wantsLatest = options.delivery === 'latest'
    this.#slow = new SlowHandlerMonitor(feed.host.clock, (key, ms) => this.#reportSlow(key, ms))
    this.#signal = options.signal
    this.#timeoutMs = options.timeoutMs
    feed.longest = () => this.#slow.longest
    feed.wake = () => this.#wake()
    if (feed.hasMore) this.#wake()
    if (this.#signal?.aborted) feed.close(closed())
    else this.#signal?.addEventListener('abort', this.#abort, { once: true })
  }

  get version(): Version | undefined {
    return this.#feed.version
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number; readonly oldestKey: string | undefined } {
    const { keys, oldestMs } = this.#feed.backlog
    const oldestKey = this.#slow.longest?.key
    if (this.#untold === 0) return { keys, oldestMs, oldestKey }
    return {
      oldestKey,
      keys: keys + this.#untold,
      oldestMs: Math.max(oldestMs, this.#feed.host.clock.now() - this.#untoldSince()),
    }
  }

  #untoldSince(): number {
    if (this.#concurrency === 1) return this.#takenSince
    let since = Infinity
    for (const { at } of this.#ready) since = Math.min(since, at)
    for (const [first] of this.#blocked.values()) since = Math.min(since, first?.at ?? Infinity)
    return since
  }

  /** @internal How many taken batches something is kept of. */
  get batchesInFlight(): number {
    return this.#open.size
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
      this.#feed.stopAccepting()
      while (this.#feed.closed === undefined && (this.#feed.hasMore || this.#isBusy)) await this.#untilIdle()
    }
    this.#closing ??= this.#end()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  readonly #abort = (): void => {
    void this.close()
  }

  get #isBusy(): boolean {
    return this.#isPumping || this.#slow.size > 0 || this.#blocked.size > 0
  }

  async #end(): Promise<void> {
    this.#feed.close(closed())
    this.#stop.abort(closed())
    this.#ready = []
    if (this.#isBusy) await settleWithin(CLOSE_GRACE_MS, this.#untilIdle(), this.#feed.host.clock)
    this.#slow.stop()
    this.#release()
    // Who drains it waits no longer, whatever still runs.
    this.#idled()
  }

  /** It is over, by whatever way. */
  #release(): void {
    this.#untold = 0
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#feed.host.release(this.#feed)
  }

  #untilIdle(): Promise<void> {
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #wake(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    // Never inside the commit that woke us: handlers see a store that is whole, and may do what they like.
    void Promise.resolve().then(() => (this.#concurrency === 1 ? this.#tellInTurn() : this.#tellManyAtOnce()))
  }

  #rest(): void {
    this.#isPumping = false
    if (this.#isBusy) return
    if (this.#feed.closed !== undefined) this.#release()
    this.#idled()
  }

  #idled(): void {
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }

  async #tellInTurn(): Promise<void> {
    const { clock } = this.#feed.host
    let turnAt = clock.now()
    let told = 0
    for (let batch = this.#take(); batch !== undefined; batch = this.#take()) {
      for (const change of batch.changes) {
        const working = this.#tell(change)
        if (working !== undefined) await this.#slow.monitor(change.key, working)
        else if (++told % SLICE_CHANGES === 0 && clock.now() - turnAt > SLICE_MS) {
          await clock.sleep(0)
          turnAt = clock.now()
        }
        if (this.#feed.closed !== undefined) return this.#rest()
      }
      this.#feed.ack(batch)
    }
    this.#rest()
  }

  async #tellManyAtOnce(): Promise<void> {
    const { clock } = this.#feed.host
    let turnAt = clock.now()
    while (this.#feed.closed === undefined && this.#blocked.size < this.#concurrency && this.#refill()) {
      const next = this.#ready.pop()
      if (next !== undefined) this.#start(next)
      if (clock.now() - turnAt <= SLICE_MS) continue
      await clock.sleep(0)
      turnAt = clock.now()
    }
    this.#rest()
  }

  #take(): ChangeBatch<T> | undefined {
    this.#takenSince = this.#feed.oldestAt ?? this.#feed.host.clock.now()
    const batch = this.#feed.dequeue()
    this.#untold += batch?.changes.length ?? 0
    return batch
  }

  /** Takes batches until some change is ready. A key that is being handled keeps its further changes waiting. */
  #refill(): boolean {
    while (this.#ready.length === 0 && this.#blockedCount < this.#capacity) {
      const batch = this.#take()
      if (batch === undefined) return false
      const of = this.#open.track(batch)
      this.#open.expect(of, batch.changes.length)
      const at = this.#takenSince
      for (const change of batch.changes) {
        const blocked = this.#blocked.get(change.key)
        if (blocked === undefined) this.#ready.push({ change, of, at })
        else this.#block(blocked, { change, of, at })
      }
      this.#ready.reverse()
      this.#open.ack(of)
    }
    return this.#ready.length > 0
  }

  #start(untold: Untold<T>): void {
    const { change, of } = untold
    const blocked = this.#blocked.get(change.key)
    if (blocked !== undefined) {
      this.#block(blocked, untold)
      return
    }
    const working = this.#tell(change)
    if (working === undefined) {
      this.#open.ack(of)
      return
    }
    this.#blocked.set(change.key, [])
    void this.#slow.monitor(change.key, working).then(() => {
      const next = this.#blocked.get(change.key)?.shift()
      const others = this.#blocked.get(change.key) ?? []
      this.#blocked.delete(change.key)
      this.#open.ack(of)
      if (next !== undefined && this.#feed.closed === undefined) {
        this.#blockedCount--
        this.#startNext(change.key, next, others)
      }
      this.#wake()
    })
  }

  #startNext(key: string, next: Untold<T>, others: Untold<T>[]): void {
    const isPumping = this.#isPumping
    // Busy in any case: who closes this inside of the handler waits for that, and for what comes after.
    this.#isPumping = true
    this.#start(next)
    this.#requeue(key, others)
    this.#isPumping = isPumping
  }

  /**
   * A change waits behind its key's handler; with delivery `latest` merged into what waits there already. What is merged
   * counts as a part of the batch that came first, so that no version is reported before it is handled. A resync has
   * nothing to add to what waits.
   */
  #block(blocked: Untold<T>[], untold: Untold<T>): void {
    const [first, second] = blocked
    if (first !== undefined && untold.change.origin === 'resync') {
      this.#untold--
      this.#open.ack(untold.of)
      return
    }
    if (!this.#wantsLatest || first === undefined) {
      blocked.push(untold)
      this.#blockedCount++
      return
    }
    const pending = second === undefined ? first.change : ([first.change, second.change] as Pending<T>)
    const merged = mergePending(pending, untold.change)
    const changes = merged === undefined ? [] : changesOf(merged)
    const more = changes.length - blocked.length
    this.#blockedCount += more
    this.#untold += more - 1
    this.#open.expect(first.of, more)
    blocked.splice(0, blocked.length, ...changes.map((change) => ({ ...first, change })))
    this.#open.ack(untold.of)
  }

  /** What waited behind the change that has just been started: behind it still, or at once where it is done already. */
  #requeue(key: string, others: Untold<T>[]): void {
    if (others.length === 0) return
    if (this.#blocked.has(key)) this.#blocked.set(key, others)
    else {
      this.#blockedCount -= others.length
      for (const untold of others.reverse()) this.#ready.push(untold)
    }
  }

  /** Calls the handler. A promise that never rejects, or undefined where it is done. */
  #tell(change: Change<T>): Promise<void> | undefined {
    this.#untold--
    const timed =
      this.#timeoutMs === undefined
        ? undefined
        : new TimedRun(this.#feed.host.clock, this.#timeoutMs, this.#stop.signal)
    try {
      const result: unknown = this.#call(change, timed ?? this.#context)
      if (!isThenable(result)) {
        timed?.dispose()
        return undefined
      }
      return (timed?.outcome(result) ?? Promise.resolve(result)).then(
        () => {},
        (error: unknown) => this.#report(change, error),
      )
    } catch (error) {
      timed?.dispose()
      this.#report(change, error)
      return undefined
    }
  }

  #call(change: Change<T>, { signal }: HandlerContext): unknown {
    switch (change.type) {
      case 'add':
        return this.#handlers.add?.(change, { signal })
      case 'update':
        return this.#handlers.update?.(change, { signal })
      case 'delete':
        return this.#handlers.delete?.(change, { signal })
    }
  }

  #report({ type, key }: Change<T>, cause: unknown): void {
    const message = `${this.#named(`the ${type} handler`)} failed at key "${key}": ${messageOf(cause)}`
    this.#feed.host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', cause, key }))
  }

  #reportSlow(key: string, ms: number): void {
    const waits = `${this.backlog.keys} ${this.backlog.keys === 1 ? 'key waits' : 'keys wait'}`
    const message = `${this.#named('a handler')} has not settled for ${Math.round(ms / 1_000)} s at key "${key}"; ${waits}`
    this.#feed.host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', key }))
  }

  #named(what: string): string {
    const { name, host } = this.#feed
    return name === undefined ? `${what} on ${host.sourceName}` : `${what} of "${name}" on ${host.sourceName}`
  }
}

/** Refuses what are no handlers, at the call. */
export function assertHandlers(handlers: unknown, call: string): void {
  if (typeof handlers !== 'object' || handlers === null) throw new TypeError(`${call}: the handlers must be an object`)
  const {
    add,
    update,
    delete: gone,
  } = handlers as { readonly add?: unknown; readonly update?: unknown; readonly delete?: unknown }
  // An instance of a class has names of its own besides; in a literal one that is unknown is a mistake.
  const isLiteral = [Object.prototype, null].includes(Object.getPrototypeOf(handlers))
  const checked = isLiteral ? handlers : { add, update, delete: gone }
  checkOptions(`${call}: the handlers`, checked, { add: isFunction, update: isFunction, delete: isFunction })
}

export interface HandlerOptions {
  readonly concurrency?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly capacity?: number | undefined
  readonly delivery?: 'every' | 'latest' | undefined
  readonly signal?: AbortSignal | undefined
}

function closed(): SourceError {
  return new SourceError('the subscription was closed', { code: 'STOPPED' })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}
