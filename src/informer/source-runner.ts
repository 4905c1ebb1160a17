import { type Clock, wallNowOf } from '../contract/clock.js'
import { ABORTED, messageOf, type SourceError, toSourceError } from '../contract/errors.js'
import type { SavedMirror } from '../contract/mirror-cache.js'
import type { Random } from '../contract/random.js'
import type { ListerWatcher } from '../contract/source.js'
import type { Proof, Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import { Reflector } from '../reflector/reflector.js'
import type { ReflectorHooks } from '../reflector/reflector-hooks.js'
import type { ReflectorState } from '../reflector/reflector-state-types.js'
import type { Commit } from '../store/commit.js'
import type { Partition } from '../store/partition.js'
import { VersionWaiters } from '../subscriptions/version-waiters.js'
import type { Wait } from '../util/deadline.js'
import type { AuditHost } from './audit.js'
import { EpochCheck } from './epoch-check.js'
import type { InformerEvents } from './informer-events.js'
import type { RelayedMirror } from './relayed-mirror.js'
import { SourceAudits } from './source-audits.js'
import { type CachedMirror, type CacheOption, SourceCache } from './source-cache.js'
import { SourceCounts } from './source-counts.js'
import { SourceHistory } from './source-history.js'
import { SourceProof } from './source-proof.js'

/** The parts and callbacks of its informer that a source runner uses. */
export interface RunnerHost<S, T> {
  readonly clock: Clock
  readonly random: Random
  readonly events: InformerEvents
  /** Whether the objects of a source that refuses access stay in the store. */
  readonly onAccessLost: 'keep' | 'clear'
  /** Resolves when a relist may begin, with a function that releases the slot. Undefined if it may begin at once. */
  acquireRelistSlot(signal: AbortSignal): Promise<() => void> | undefined
  /** The cache of the informer or of its source, if there is one. */
  readonly cache: CacheOption['cache'] | undefined
  /** Names the source, its selection, and the functions that change its objects; empty for a source set. */
  readonly fingerprint: string
  /** A list or a batch is about to be written to the store. */
  writing(runner: SourceRunner<S, T>): void
  stateChanged(runner: SourceRunner<S, T>, previous: ReflectorState): void
  /** The source has confirmed saved content that readers see. */
  confirmed(runner: SourceRunner<S, T>): void
  waitFor(runner: SourceRunner<S, T>, version: Version, wait: Wait): Promise<void>
}

/** Runs one source of an informer: its reflector, its audits, and the waits for its versions. */
export class SourceRunner<S, T> implements ReflectorHooks, CachedMirror<T>, RelayedMirror {
  /** The name of the source in its set. */
  readonly name: string
  readonly source: ListerWatcher<S>
  readonly part: Partition<T>
  readonly reflector: Reflector<S>
  readonly waiters: VersionWaiters
  readonly #host: RunnerHost<S, T>
  readonly #epochs: EpochCheck | undefined
  /** Reads and saves the content; undefined without a cache. */
  readonly warmStart: SourceCache<T> | undefined
  readonly counts: SourceCounts = new SourceCounts()
  readonly #history = new SourceHistory()
  readonly #proof = new SourceProof()
  readonly #ending = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  readonly #audits: SourceAudits<S, T>
  #isRunning = false
  #refusal: unknown
  #startedAt: number | undefined
  #lagMs: number | undefined

  constructor(
    name: string,
    source: ListerWatcher<S>,
    part: Partition<T>,
    auditMs: number | false,
    host: RunnerHost<S, T>,
  ) {
    this.name = name
    this.source = source
    this.part = part
    this.#host = host
    this.#epochs = source.head === undefined ? undefined : new EpochCheck(source, host, () => this.reflector.mirror)
    this.waiters = new VersionWaiters(
      (at, mark) => source.hasReached?.(at, mark) === true,
      this.#epochs && ((...wait) => this.#epochs?.judge(...wait)),
    )
    const { cache, fingerprint } = host
    // A source of a set is not saved.
    const isSaved = cache !== undefined && fingerprint !== ''
    this.warmStart = isSaved ? new SourceCache<T>({ cache, fingerprint }, this, host) : undefined
    // The indexer converts source objects to stored objects, with `schema` and `transform`.
    const sink = part as unknown as Partition<S>
    this.reflector = new Reflector<S>(source, sink, { clock: host.clock, random: host.random }, this)
    this.#audits = new SourceAudits(this.#auditHost(), auditMs, this.#ending.signal)
  }

  onStateChange({ name, reason }: ReflectorState, previous: ReflectorState): void {
    if (name === 'live') {
      this.#confirm()
      this.warmStart?.schedule()
    }
    if (name === 'relisting') this.counts.relisting(reason, this.reflector.lastError?.code)
    this.#announce(previous)
  }

  #announce(previous: ReflectorState): void {
    this.#host.stateChanged(this, previous)
    if (this.warmStart !== undefined) this.warmStart.start.wasStale = this.isStale
  }

  onFailure(error: SourceError): void {
    if (error.code === 'UNAUTHORIZED' && this.#host.onAccessLost === 'clear') this.#clear(error)
  }

  onError(error: SourceError): void {
    // A callback has removed the source, or stopped the informer, since the failure.
    if (this.#ending.signal.aborted && error.phase !== 'apply') return
    if (error.code === 'EPOCH_CHANGED') this.#epochChanged(error)
    this.#host.events.report(error)
  }

  onWarning(message: string): void {
    this.#host.events.warning(`${this.source.name}: ${message}`)
  }

  onWrite(): void {
    this.#host.writing(this)
  }

  onAuditRequest(contents: boolean): void {
    this.#audits.request(contents)
  }

  onDuplicate(version: Version): void {
    this.#host.events.log('debug', 'dropped a batch that the store includes already', {
      source: this.source.name,
      version,
    })
  }

  hasWaiters(): boolean {
    return this.waiters.size > 0 || this.isStale
  }

  acquireRelistSlot(signal: AbortSignal): Promise<() => void> | undefined {
    return this.#host.acquireRelistSlot(signal)
  }

  onProofRequest(): void {
    this.#audits.prove()
  }

  get version(): Version | undefined {
    return this.part.version
  }

  get isListed(): boolean {
    return this.#history.isListed
  }

  /** Whether readers see saved content that the source has not confirmed, or that lacks changes made before the start. */
  get isStale(): boolean {
    return !this.isListed && this.restored !== undefined
  }

  get isLive(): boolean {
    return this.reflector.state.name === 'live'
  }

  get isRepairDue(): boolean {
    return this.reflector.isRepairDue
  }

  get fingerprint(): string {
    return this.#host.fingerprint
  }

  get restored(): SavedMirror | undefined {
    return this.warmStart?.restored
  }

  /** Whether content that is saved now lacks keys that `transform` has filtered out. */
  get hasFiltered(): boolean {
    return this.part.filtered.size > 0
  }

  get resumeState(): string | undefined {
    return this.reflector.resumeState
  }

  relist(reason: string): void {
    this.reflector.relist(reason)
  }

  get proof(): Proof | undefined {
    return this.#proof.current
  }

  /** The number of the last list that is in the store; the reflector counts its lists. */
  get listed(): number {
    return this.#history.lists
  }

  get isCleared(): boolean {
    return this.#history.isCleared
  }

  /** The version that answers waits; undefined if only the next list can answer them. */
  get reached(): Version | undefined {
    return this.#history.isCurrent ? this.version : undefined
  }

  /** The number of the history that the store shows; undefined from its end to the next list. */
  get history(): number | undefined {
    return this.#history.number
  }

  /** The history of the objects in the store; also of saved content that the source has not confirmed. */
  get shownHistory(): number | undefined {
    return this.#history.shown
  }

  /** The number of audits by result. */
  get audits(): SourceProof['audits'] {
    return this.#proof.audits
  }

  get lagMs(): number | undefined {
    return this.#lagMs
  }

  /** The reason why the runner ended; undefined while it runs. */
  get refusal(): unknown {
    return this.#refusal
  }

  /** Starts to read the source, unless the runner was ended. */
  start(): void {
    if (this.#isRunning) return
    this.#startedAt = this.#host.clock.now()
    this.#run()
    if (!this.#ending.signal.aborted) this.#audits.start()
  }

  #auditHost(): AuditHost<S, T> {
    const { clock, random, events, waitFor } = this.#host
    const { source, part, reflector } = this
    return {
      source,
      part,
      reflector,
      proof: this.#proof,
      events,
      clock,
      random,
      isLive: () => this.isListed && ['live', 'connecting'].includes(reflector.state.name),
      waitFor: (version, wait) => waitFor(this, version, wait),
    }
  }

  /** Ends the runner. Resolves when the source has closed its list or watch; never if the source is stalled. */
  async end(reason: unknown): Promise<void> {
    this.#refusal ??= reason
    this.#ending.abort(ABORTED)
    if (!this.#isRunning) this.#run()
    this.waiters.rejectAll(reason)
    this.#epochs?.end()
    await this.#ended.promise
    await Promise.all([this.reflector.closing, this.#audits.ended])
  }

  /** Called once. The flag is set first, because a listener may call `start` or `end` again. */
  #run(): void {
    this.#isRunning = true
    this.reflector.run({ signal: this.#ending.signal }).then(this.#ended.resolve, this.#ended.reject)
  }

  /** Deletes the objects after lost access. A resumed watch would not return them, so the source is listed next. */
  #clear(error: SourceError): void {
    if (this.isCleared) return
    this.warmStart?.discard()
    if (!this.isListed && !this.isStale) {
      if (this.warmStart !== undefined) this.reflector.relist(error.message)
      return
    }
    this.#history.cleared(this.reached)
    this.reflector.relist(error.message)
    const failed = (thrown: unknown): void => {
      if (this.#ending.signal.aborted) return
      // The step was undone as a whole. The next `UNAUTHORIZED` deletes them.
      this.#history.notCleared()
      this.#host.events.report(toSourceError(thrown, { phase: 'apply', source: this.source.name }))
    }
    try {
      this.part.clear()?.catch(failed)
    } catch (thrown) {
      failed(thrown)
    }
  }

  /** Until the next list no version of the store settles a wait: the new history may contain an equal version. */
  #epochChanged(error: SourceError): void {
    const at = this.#history.ended(this.reached)
    this.warmStart?.historyEnded()
    if (at !== undefined)
      this.waiters.epochChanged(at, error, (...versions) => this.source.isLaterEpoch?.(...versions) === true)
    this.#history.notify(error)
  }

  /** Calls `listener` when the history of the source ends. Returns a function that removes it. */
  onEpochChange(listener: (error: SourceError) => void): () => void {
    return this.#history.onEpochChange(listener)
  }

  /** Saved content stays stale until the changes made before the start are in, if the source can report them. */
  async #catchUp(): Promise<void> {
    const { source, reflector, warmStart } = this
    if (warmStart?.mustCatchUp !== true) return
    warmStart.start.isBehind = true
    await Promise.resolve() // Listeners of the status are not called within a commit.
    if (this.#ending.signal.aborted) return
    this.#announce({ ...reflector.state })
    const { clock, random, events } = this.#host
    const context = { signal: this.#ending.signal, clock, random, mirror: reflector.mirror, shown: () => this.version }
    const onFailure = (error: SourceError): void => events.report(error)
    try {
      await warmStart.start.done(context, onFailure, () => reflector.requestProgress())
      if (this.#confirm()) this.#announce({ ...reflector.state })
    } catch (thrown) {
      const reason = `what ${source.name} had before the start is unknown: ${messageOf(thrown)}`
      if (this.isStale) reflector.relist(reason)
    }
  }

  /** Saved content is confirmed when the watch is live, and the changes made before the start are in. */
  #confirm(): boolean {
    if (!this.isStale || !this.isLive || this.warmStart?.start.isBehind) return false
    this.#history.confirmed(this.reflector.lists)
    this.#host.confirmed(this)
    return true
  }

  /** Called after a list or a batch of the source was committed. */
  committed({ origin, changes, version, committedAt }: Commit<T>): void {
    const isList = origin === 'initial' || origin === 'relist'
    const restored = this.warmStart?.committed(changes.length, origin)
    if (restored !== undefined) {
      this.#proof.restored(restored.proof)
      this.#history.restored()
      void this.#catchUp()
    } else if (isList) {
      const { lists, listBeganAt } = this.reflector
      this.#history.listed(lists)
      // A removed source has no version.
      if (version !== undefined && listBeganAt !== undefined) this.#proof.listed(version, listBeganAt)
    }
    this.warmStart?.start.check(this.version)
    if (committedAt !== undefined && Number.isFinite(committedAt))
      this.#lagMs = Math.max(0, wallNowOf(this.#host.clock) - committedAt)
  }

  status(state: ReflectorState = this.reflector.state): Status {
    const now = this.#host.clock.now()
    const { lastContactAt, lastError } = this.reflector
    // The list may be in the store before the reflector has changed its state.
    const isIn = state === this.reflector.state && state.name === 'listing' && this.isListed
    const isStale =
      state.name !== 'stopped' &&
      (state === this.reflector.state ? this.isStale : this.warmStart?.start.wasStale === true)
    return {
      state: isStale ? 'stale' : isIn ? 'connecting' : state.name,
      isSynced: this.isListed,
      version: this.version,
      reason: isIn ? 'the list is in' : state.reason,
      lastError,
      lastContactAt,
      staleMs: now - (lastContactAt ?? this.#startedAt ?? now),
      lagMs: this.#lagMs,
      proof: this.#proof.current,
      attempt: state.attempt,
      retryInMs: 'retryAt' in state ? Math.max(0, state.retryAt - now) : undefined,
      ...(isStale ? { savedAt: this.warmStart?.restored?.savedAt } : {}),
      relists: state.relists,
      reconnects: state.reconnects,
    }
  }
}
