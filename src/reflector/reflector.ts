import { type Clock, systemClock } from '../contract/clock.js'
import { ABORTED, SourceError, toSourceError } from '../contract/errors.js'
import { outcomeOf } from '../contract/outcome.js'
import { type Random, systemRandom } from '../contract/random.js'
import {
  type ListerWatcher,
  PAGE_SIZE,
  type Sink,
  type SourceContext,
  type WatchBatch,
  type WatchContext,
} from '../contract/source.js'
import { assertVersion, type Version } from '../contract/version.js'
import { membersOf } from '../util/type-guards.js'
import { assertPresent, checkOptions, isObject, isSignal } from '../util/validate-options.js'
import { Attempt } from './attempt.js'
import { readPages } from './read-pages.js'
import type { ReflectorHooks, ReflectorOptions } from './reflector-hooks.js'
import {
  type Effect,
  failureReport,
  type Input,
  initialState,
  type ReflectorState,
  step,
  type UntimedInput,
} from './reflector-state.js'
import { SinkCalls } from './sink-calls.js'
import { assertSource, close, EventValidator, idleMsOf, iterated } from './source-checks.js'
import { Restoration } from './warm-start.js'

/** Relists because of events without a key are at least this far apart, in milliseconds. */
const INCOMPLETE_RELIST_MS = 5 * 60_000

type Events<T> = WatchBatch<T>['events']

type Outcome = UntimedInput<'restorable' | 'unrestorable' | 'listed' | 'ended' | 'failed' | 'delayElapsed'>

/**
 * Keeps a sink equal to a source. It lists, watches from the version of the list, and resumes a broken watch from its
 * last version. It lists again only if the history after that is gone. It retries, with delays, until `signal` aborts.
 *
 * @example
 * ```ts
 * import { Indexer, Reflector } from 'listwatch'
 *
 * const store = new Indexer<Order>()
 * await new Reflector(source, store).run({ signal }) // Resolves when the signal aborts.
 * console.log(`${store.size} orders at ${store.version}`)
 * ```
 */
export class Reflector<T> {
  /** @internal Identifies this mirror in every call of the source. */
  readonly mirror: object = Object.freeze({})
  readonly #source: ListerWatcher<T>
  readonly #sink: Sink<T>
  readonly #calls: SinkCalls
  readonly #clock: Clock
  readonly #random: Random
  readonly #hooks: ReflectorHooks
  readonly #validator: EventValidator
  readonly #restoration: Restoration
  /** The listeners of the watch that are called when a waiter needs the current version of the source. */
  readonly #progressListeners = new Set<() => void>()
  /** Aborts the timers that do not belong to an attempt. */
  readonly #ended = new AbortController()
  #state: ReflectorState = initialState
  #effect: Effect | undefined
  #attempt: Attempt | undefined
  #closing = Promise.resolve()
  /** The version of the last batch or list that the sink has accepted. */
  #version: Version | undefined
  /** @internal */
  lastContactAt: number | undefined
  /** @internal */
  lastError: SourceError | undefined
  /** @internal How many lists have begun. */
  lists = 0
  /** @internal When the last list began; undefined if it does not name all keys. */
  listBeganAt: number | undefined
  #listedAt = -Infinity
  /** Whether a list was requested, for example after an audit found a difference. */
  #isRelistRequested = false
  /** Whether a relist is scheduled, because an event could not be applied, such as one without a key. */
  #isRepairScheduled = false
  /** Whether such an event came after the last list began. */
  #isIncomplete = false

  constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: { readonly clock?: Clock; readonly random?: Random })
  /** @internal */
  constructor(source: ListerWatcher<T>, sink: Sink<T>, options: ReflectorOptions, hooks: ReflectorHooks)
  constructor(source: ListerWatcher<T>, sink: Sink<T>, options: ReflectorOptions = {}, hooks: ReflectorHooks = {}) {
    assertSource(source, 'new Reflector')
    const { apply, replace } = membersOf(sink)
    if (typeof apply !== 'function' || typeof replace !== 'function')
      throw new TypeError('new Reflector: the sink must have apply and replace')
    checkOptions('new Reflector', options, { clock: isObject, random: isObject })
    this.#source = source
    this.#sink = sink
    this.#calls = new SinkCalls(source.name, hooks)
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#hooks = hooks
    this.#restoration = new Restoration(hooks.warmStart, this.#calls, source)
    this.#validator = new EventValidator(hooks.title ?? source.name, this.#clock, {
      report: (error) => hooks.onError?.(this.#located(error, 'decode')),
      relistSoon: (reason) => this.#relistSoon(reason),
    })
  }

  /**
   * Runs until `signal` aborts, then resolves, even if the source is stalled.
   *
   * @throws TypeError if it was called before, or without a signal.
   */
  async run(options: { readonly signal: AbortSignal }): Promise<void> {
    checkOptions('run', options, { signal: isSignal })
    assertPresent('run', options, 'signal', 'new AbortController().signal')
    if (this.#state.name !== 'idle') throw new TypeError('run: a reflector runs once')
    const { signal } = options
    const stop = (): void => this.#tell({ type: 'stop', reason: 'stopped' })
    signal.addEventListener('abort', stop, { once: true })
    try {
      this.#tell(
        signal.aborted
          ? { type: 'stop', reason: 'stopped' }
          : { type: 'start', hasCache: this.#hooks.warmStart !== undefined },
      )
      for (let effect = this.#takeEffect(); effect.type !== 'end'; effect = this.#takeEffect()) {
        await this.#perform(effect)
      }
    } finally {
      this.#ended.abort(ABORTED)
      this.#restoration.stop()
      signal.removeEventListener('abort', stop)
    }
  }

  /** @internal */
  get state(): ReflectorState {
    return this.#state
  }

  /** @internal Resolves when the source has closed its last list or watch; never if the source is stalled. */
  get closing(): Promise<void> {
    return Promise.all([this.#closing, this.#restoration.closing]).then(() => {})
  }

  /** @internal What a later process needs, besides the version, to resume. */
  get resumeState(): string | undefined {
    return this.#source.resumeState?.(this.mirror)
  }

  /** @internal Whether only a list is known to make the sink equal to the source. */
  get isRepairDue(): boolean {
    return this.#isIncomplete || this.#isRelistRequested
  }

  /** @internal Reads the source again. */
  relist(reason: string): void {
    if (this.#state.name !== 'idle') this.#isRelistRequested = true // Also after the end: no save may follow.
    this.#tell({ type: 'relist', reason })
  }

  /** Schedules a relist, 5 minutes after the last list; after the current one, if a list is being read. */
  #relistSoon(reason: string): void {
    const isListing = this.#state.name === 'listing' || this.#state.name === 'relisting'
    if (isListing) this.listBeganAt = undefined
    if (this.#isRepairScheduled) return
    this.#isRepairScheduled = true
    this.#isIncomplete = true
    const now = this.#clock.now()
    const due = (isListing ? now : this.#listedAt) + INCOMPLETE_RELIST_MS
    const relist = (): void => {
      this.#isRepairScheduled = false
      this.relist(reason)
    }
    this.#clock.sleep(due - now, this.#ended.signal).then(relist, () => {})
  }

  /** @internal Requests the current version from the source, for a waiter. */
  requestProgress(): void {
    for (const listener of this.#progressListeners) {
      try {
        listener()
      } catch (thrown) {
        this.#hooks.onError?.(this.#located(thrown, 'watch')) // The waiters continue to wait.
      }
    }
  }

  /**
   * @internal An audit proved that the sink includes this version. It replaces a bookmark that the watch cannot send.
   * Returns false if the sink is writing a batch: that may be an earlier one, so the proof has to be repeated.
   */
  proven(version: Version): boolean {
    if (this.#calls.accepting !== undefined) return false
    if (this.#state.name !== 'live' || this.#version === version || this.#isIncluded(version)) return true
    const accepted = this.#sink.apply({ events: [], version })
    if (accepted === undefined) this.#version = version
    return true
  }

  /** Performs one transition. If its effect differs from the running attempt, the attempt is aborted. */
  #tell(untimed: UntimedInput): void {
    const chance = [this.#random.next(), this.#random.next()] as const
    const input: Input = { ...untimed, at: this.#clock.now(), chance }
    const previous = this.#state
    const { state, effect } = step(previous, input)
    this.#state = state
    if (effect.type !== 'continue') {
      this.#effect = effect
      this.#attempt?.abort(ABORTED)
    }
    if (input.type === 'failed') {
      this.#hooks.onFailure?.(input.error)
      this.lastError = failureReport(input.error, this.#state, this.#clock.now(), this.#hooks.title)
      this.#hooks.onError?.(this.lastError)
    }
    // An error listener may have changed the state again; then onStateChange was called for that state.
    if (state.name !== previous.name && this.#state.name === state.name)
      this.#hooks.onStateChange?.(this.#state, previous)
  }

  #takeEffect(): Effect {
    const effect = this.#effect
    if (effect === undefined) throw new Error(`a reflector in state ${this.#state.name} has nothing to do`)
    this.#effect = undefined
    return effect
  }

  async #perform(effect: Effect): Promise<void> {
    const attempt = new Attempt(this.#clock)
    this.#attempt = attempt
    let outcome: Outcome
    try {
      if (this.#calls.accepting !== undefined) await attempt.pauseWatchdog(this.#calls.accepting)
      outcome = await this.#outcome(effect, attempt)
    } catch (thrown) {
      const error = this.#located(thrown, effect.type === 'list' ? 'list' : 'watch')
      outcome = { type: 'failed', error, contactAt: attempt.lastActivityAt }
    }
    this.#attempt = undefined
    attempt.abort(ABORTED)
    // If an external input has set another effect, the outcome of this attempt no longer counts.
    if (this.#effect === undefined) this.#tell(outcome)
  }

  #outcome(effect: Effect, attempt: Attempt): Promise<Outcome> {
    switch (effect.type) {
      case 'restore':
        return this.#restoration.open(attempt, (version) => {
          this.#version = version
        })
      case 'list':
        return this.#listAdmitted(attempt, effect)
      case 'watch':
        return this.#watch(attempt)
      case 'wait':
        return this.#wait(attempt, effect.until)
      default:
        throw new Error(`${effect.type} is nothing to perform`)
    }
  }

  async #wait(attempt: Attempt, until: number): Promise<Outcome> {
    await attempt.race(this.#clock.sleep(until - this.#clock.now(), attempt.signal))
    return { type: 'delayElapsed' }
  }

  /** Waits for a relist slot. The first list does not wait. */
  async #listAdmitted(attempt: Attempt, effect: Extract<Effect, { type: 'list' }>): Promise<Outcome> {
    const admission = effect.isFirst ? undefined : this.#hooks.acquireRelistSlot?.(attempt.signal)
    if (admission === undefined) return this.#list(attempt, effect)
    const release = await attempt.race(admission).catch((reason: unknown) => {
      // The slot may be granted just as the wait is cancelled: release it.
      admission.then(
        (unwanted) => unwanted(),
        () => {},
      )
      throw reason
    })
    try {
      attempt.throwIfAborted()
      this.#tell({ type: 'admitted' })
      return await this.#list(attempt, effect)
    } finally {
      release()
    }
  }

  async #list(attempt: Attempt, { ignoreVersions }: Extract<Effect, { type: 'list' }>): Promise<Outcome> {
    if (this.#restoration.filling !== undefined) await attempt.race(this.#restoration.filling)
    this.lists++
    this.listBeganAt = this.#clock.now()
    // Equal versions do not prove equal objects after a break: a restored history may have given the same version to
    // another object, and a server may show an object in another form without a new version.
    const replacement = this.#sink.replace({ ignoreVersions: true })
    let hasCommitBegun = false
    try {
      const floor = ignoreVersions ? undefined : this.#version
      const contact = (): void => this.#contact(attempt)
      const page: typeof replacement.page = (slice) => replacement.page(slice)
      const version = await readPages(attempt, {
        call: 'list',
        open: () => this.#source.list({ ...this.#context(attempt), pageSize: PAGE_SIZE, floor, alive: contact }),
        contact,
        take: async ({ events }) => this.#calls.inSlices(attempt, await this.#validator.valid(events, attempt), page),
        ended: (closing) => {
          this.#closing = closing
        },
      })
      this.#assertFloor(version, ignoreVersions)
      attempt.throwIfAborted()
      hasCommitBegun = true
      this.#hooks.onWrite?.()
      const accepted = (): void => {
        this.#version = version
        this.#restoration.end()
        // Another list may have been requested after this one had begun.
        this.#isRelistRequested = 'isListWanted' in this.#state && this.#state.isListWanted
        this.#listedAt = this.#clock.now()
        this.#isIncomplete = this.#isRepairScheduled
      }
      const refused = (): void => replacement.abandon()
      await this.#calls.accepted(attempt, () => replacement.commit(version), accepted, refused)
      return { type: 'listed' }
    } finally {
      if (!hasCommitBegun) replacement.abandon()
    }
  }

  /** Rejects a list that is older than the version which readers have already seen. */
  #assertFloor(listed: Version, ignoreVersions: boolean): void {
    const shown = this.#version
    if (shown === undefined || ignoreVersions || this.#source.hasReached === undefined) return
    if (this.#source.hasReached(listed, shown)) return
    throw new SourceError('the list is older than what was already shown', { code: 'STALE_LIST' })
  }

  async #watch(attempt: Attempt): Promise<Outcome> {
    const after = this.#shown
    assertVersion(after, 'the version to watch from')
    const idleMs = idleMsOf(this.#source)
    const { silenceHint } = this.#source
    const silent = `no data for ${Math.round(idleMs / 1_000)} s${silenceHint === undefined ? '' : ` (${silenceHint})`}`
    void attempt.watchdog(idleMs, () => new SourceError(silent, { code: 'UNAVAILABLE' }))
    const onProgressRequest = (listener: () => void): void => {
      this.#progressListeners.add(listener)
      if (this.#restoration.isPending || this.#hooks.hasWaiters?.() === true) listener()
    }
    let batches: AsyncIterator<WatchBatch<T>> | undefined
    try {
      const requestAudit: WatchContext['requestAudit'] = (_reason, options) =>
        this.#hooks.onAuditRequest?.(options?.contents === true ? 'contents' : 'versions')
      const { isPending: isUnconfirmed, saved } = this.#restoration
      const resume = { after, isUnconfirmed, resumeState: saved?.resumeState }
      const hasWaiters = (): boolean => this.#restoration.isPending || (this.#hooks.hasWaiters?.() ?? true)
      const requestProof = (): void => this.#hooks.onAuditRequest?.('proof')
      const alive = (): void => this.#contact(attempt)
      const requests = { onProgressRequest, hasWaiters, requestAudit, requestProof, alive }
      batches = iterated('watch', this.#source.watch({ ...this.#context(attempt), ...resume, ...requests }))
      for (;;) {
        attempt.throwIfAborted()
        const batch = await attempt.race(batches.next())
        attempt.throwIfAborted()
        if (batch.done) return { type: 'ended' }
        this.#contact(attempt)
        const taking = this.#takeBatch(batch.value, attempt)
        // Without a promise nothing is awaited: that would cost a small batch a tenth of its time.
        const refused = taking && (await taking)
        if (refused) return refused
        this.#restoration.end()
        if (this.#state.name !== 'live') this.#tell({ type: 'batch' })
        if (attempt.slice.isOver) await attempt.yieldIfDue()
      }
    } finally {
      this.#progressListeners.clear()
      this.#closing = close(batches)
    }
  }

  /** Writes a batch. The promise has the outcome if the batch confirms saved content that cannot be used. */
  #takeBatch(batch: WatchBatch<T>, attempt: Attempt): void | Promise<void> | Promise<Outcome | undefined> {
    assertVersion(batch.version, 'the version of a batch')
    const isIncluded = this.#isIncluded(batch.version)
    if (this.#restoration.isPending) return this.#confirm(batch, isIncluded, attempt)
    if (isIncluded) return void this.#hooks.onDuplicate?.(batch.version)
    const valid = this.#validator.valid(batch.events, attempt)
    return valid instanceof Promise ? this.#writeValid(batch, valid, attempt) : this.#write(batch, valid, attempt)
  }

  /** The first batch after a warm start confirms the saved content. Returns the outcome if that cannot be used. */
  async #confirm(batch: WatchBatch<T>, isIncluded: boolean, attempt: Attempt): Promise<Outcome | undefined> {
    if (isIncluded) this.#restoration.assertReached(batch.version)
    const refused = await this.#restoration.fill(attempt, (version) => {
      this.#version = version
      this.#tell({ type: 'listed' })
    })
    if (refused !== undefined) return refused
    attempt.throwIfAborted()
    if (isIncluded) return void this.#hooks.onDuplicate?.(batch.version)
    // A write would wait until all saved objects are decoded.
    const isUnchanged = this.#restoration.isPending && batch.version === this.#version
    if (isUnchanged && batch.events.length === 0) return undefined
    await this.#writeValid(batch, this.#validator.valid(batch.events, attempt), attempt)
    return undefined
  }

  async #writeValid(batch: WatchBatch<T>, validating: Events<T> | Promise<Events<T>>, attempt: Attempt): Promise<void> {
    const valid = await validating
    attempt.throwIfAborted()
    // An audit may have proven a later version meanwhile.
    if (this.#isIncluded(batch.version)) return void this.#hooks.onDuplicate?.(batch.version)
    await this.#write(batch, valid, attempt)
  }

  #write(batch: WatchBatch<T>, valid: Events<T>, attempt: Attempt): void | Promise<void> {
    // An equal version: the batch was repeated, or the source does not count single changes. Only final events matter.
    const events = batch.version === this.#version ? outcomeOf(valid) : valid
    const taken = events === batch.events ? batch : { ...batch, events }
    const accepted = (): void => {
      this.#version = batch.version
    }
    this.#hooks.onWrite?.()
    return this.#calls.accepted(attempt, () => this.#sink.apply(taken), accepted)
  }

  get #shown(): Version | undefined {
    return this.#version ?? this.#restoration.saved?.version
  }

  /** Whether the sink includes a later version. A batch of an equal version may be new. */
  #isIncluded(version: Version): boolean {
    const shown = this.#shown
    if (shown === undefined || shown === version) return false
    return this.#source.hasReached?.(shown, version) === true
  }

  #context(attempt: Attempt): SourceContext {
    const warn = (message: string): void => this.#hooks.onWarning?.(message)
    return { signal: attempt.signal, clock: this.#clock, random: this.#random, mirror: this.mirror, warn }
  }

  #contact(attempt: Attempt): void {
    attempt.recordActivity()
    this.lastContactAt = attempt.lastActivityAt
  }

  #located(thrown: unknown, phase: 'list' | 'watch' | 'decode'): SourceError {
    return toSourceError(thrown, { phase, source: this.#source.name })
  }
}
