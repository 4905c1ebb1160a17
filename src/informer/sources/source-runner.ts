import { wallNowOf } from '../../contract/clock.js'
import { ABORTED, messageOf, type SourceError, type SourceErrorCode, toSourceError } from '../../contract/errors.js'
import type { SavedMirror } from '../../contract/mirror-cache.js'
import { isCollection } from '../../contract/shared-history.js'
import type { ListerWatcher, Sink } from '../../contract/source.js'
import type { Status } from '../../contract/status.js'
import type { Version } from '../../contract/version.js'
import { Reflector } from '../../reflector/reflector.js'
import type { AuditRequest, ReflectorHooks } from '../../reflector/reflector-hooks.js'
import type { ReflectorState } from '../../reflector/reflector-state.js'
import type { Commit } from '../../store/write/commit.js'
import type { Partition } from '../../store/write/partition.js'
import { VersionWaiters } from '../../subscriptions/version-waiters.js'
import { type Settle, type Wait, withDeadline } from '../../util/deadline.js'
import type { Steps } from '../../util/steps.js'
import { channels } from '../../util/telemetry.js'
import type { InformerContext } from '../informer-context.js'
import { acquireAll } from '../relist-limiter.js'
import { Audit } from './audit.js'
import { epochCheck } from './head-request.js'
import { HistoryMember, membersOfHistory } from './history-members.js'
import { type CachedMirror, SourceCache } from './source-cache.js'
import { SourceHistory } from './source-history.js'
import type { SourceOptions } from './source-options.js'
import { SourceProof } from './source-proof.js'

export interface SourceHooks<S, T> {
  /** The name of the informer. */
  readonly name: string
  /** Called after each commit. Returns the steps that route a large one. */
  committed(runner: SourceRunner<S, T>, commit: Commit<T>): Steps | undefined
  /** The source has confirmed saved content that readers see: its waits can be resolved. */
  confirmed(runner: SourceRunner<S, T>): void
  stateChanged(runner: SourceRunner<S, T>, previous: ReflectorState): void
  /** Called after a source was removed, and after its objects were deleted. */
  sourceRemoved(): void
}

interface OwnOptions<T> extends Omit<SourceOptions, 'audit'> {
  readonly name: string
  readonly part: Partition<T>
  /** The period of its audits, in milliseconds; false without periodic audits. */
  readonly auditMs: number | false
  /** Of a view: receives what the source lists, instead of `part`, and tells its own lists from other commits. */
  readonly view?: { readonly sink: Sink<unknown>; readonly isListing: boolean } | undefined
  /** Whether it is one of a set. Then the versions of its collection are its own. */
  readonly isOfSet: boolean
}

export class SourceRunner<S, T> implements ReflectorHooks, CachedMirror<T> {
  readonly name: string
  readonly source: ListerWatcher<S>
  readonly part: Partition<T>
  readonly reflector: Reflector<S>
  readonly waiters: VersionWaiters
  readonly fingerprint: string
  readonly #context: InformerContext<T>
  readonly #hooks: SourceHooks<S, T>
  readonly warmStart: SourceCache<T> | undefined
  readonly counts: SourceCounts = new SourceCounts()
  readonly history: SourceHistory = new SourceHistory()
  readonly proofs: SourceProof = new SourceProof()
  readonly #ending = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  readonly #audit: Audit<S, T>
  readonly #auditMs: number | false
  /** Set when the audits have begun. Without periodic ones the first request for a proof begins them. */
  #auditing: Promise<void> | undefined
  readonly #view: OwnOptions<T>['view']
  /** Set if the source is a collection of a history: its informers change in one step. */
  readonly member: HistoryMember | undefined
  #isRunning = false
  /** The reason why the runner ended; undefined while it runs. */
  refusal: unknown
  #startedAt: number | undefined
  lagMs: number | undefined

  constructor(
    source: ListerWatcher<S>,
    { name, part, auditMs, cache, fingerprint, view, isOfSet }: OwnOptions<T>,
    context: InformerContext<T>,
    hooks: SourceHooks<S, T>,
  ) {
    this.name = name
    this.source = source
    this.part = part
    this.fingerprint = fingerprint
    this.#context = context
    this.#hooks = hooks
    this.#view = view
    const { clock, random } = context
    const { signal } = this.#ending
    this.waiters = new VersionWaiters(
      (at, mark) => source.hasReached?.(at, mark) === true,
      source.head && epochCheck(source, { clock, random, signal }, () => this.reflector.mirror),
    )
    // A source of a set is not saved.
    const isSaved = cache !== undefined && fingerprint !== ''
    this.warmStart = isSaved ? new SourceCache<T>(cache, this, context) : undefined
    // The indexer converts source objects to stored objects, with `schema` and `transform`.
    const sink = view?.sink ?? (part as unknown as Partition<S>)
    if (!isOfSet && isCollection(source)) {
      const members = membersOfHistory(source.history, clock, context.router.slices)
      this.member = new HistoryMember(source, members, part)
    }
    // A member yields what its source has decoded.
    const read = (this.member as ListerWatcher<S> | undefined) ?? source
    this.reflector = new Reflector<S>(read, sink, { clock, random }, this)
    this.#audit = new Audit(this, context, auditMs === false ? Infinity : auditMs)
    this.#auditMs = auditMs
    part.onCommit = (commit) => this.#committed(commit)
  }

  get title(): string {
    return this.#context.titleOf(this.source.name)
  }

  onStateChange(state: ReflectorState, previous: ReflectorState): void {
    const { name, reason } = state
    if (name === 'live') {
      this.#confirm()
      this.warmStart?.schedule()
    }
    if (name === 'relisting') this.counts.relisting(reason, this.reflector.lastError?.code)
    this.member?.stateChanged(state)
    this.#announce(previous)
  }

  #announce(previous: ReflectorState): void {
    this.#hooks.stateChanged(this, previous)
    if (this.warmStart !== undefined) this.warmStart.wasStale = this.isStale
  }

  onFailure(error: SourceError): void {
    if (error.code === 'UNAUTHORIZED' && this.#context.onAccessLost === 'clear') this.#clear(error)
  }

  onError(error: SourceError): void {
    // A callback has removed the source, or stopped the informer, since the failure.
    if (this.#ending.signal.aborted && error.phase !== 'apply') return
    if (error.code === 'EPOCH_CHANGED') this.#epochChanged(error)
    this.#context.events.report(error)
  }

  onWarning(message: string): void {
    this.#context.events.warning(`${this.title}: ${message}`)
  }

  onWrite(): void {
    const { apply } = channels
    if (apply.hasSubscribers) apply.publish({ informer: this.#hooks.name, source: this.name })
  }

  onAuditRequest(of: AuditRequest): void {
    if (of !== 'proof') {
      if (this.#auditMs !== false || this.#auditing !== undefined) this.#audit.request(of === 'contents')
      return
    }
    this.#auditing ??= this.#audit.run(this.#ending.signal)
    this.#audit.prove()
  }

  onDuplicate(version: Version): void {
    this.#context.events.log('debug', 'dropped a batch that the store includes already', {
      source: this.source.name,
      version,
    })
  }

  hasWaiters(): boolean {
    return this.waiters.size > 0 || this.isStale
  }

  acquireRelistSlot(signal: AbortSignal): Promise<() => void> | undefined {
    const { member } = this
    const slot = acquireAll(this.#context.relistLimiters, signal, this.#context.clock)
    return member === undefined
      ? slot
      : slot?.then((release) => {
          member.onRead = release
          return release
        })
  }

  get version(): Version | undefined {
    return this.part.version
  }

  /** Whether readers see saved content that the source has not confirmed, or that lacks changes made before the start. */
  get isStale(): boolean {
    return !this.history.isListed && this.restored !== undefined
  }

  get isLive(): boolean {
    return this.reflector.state.name === 'live'
  }

  /** The saved content with which it began; undefined if it began with a list. */
  get restored(): SavedMirror | undefined {
    return this.warmStart?.restored
  }

  /** Whether content that is saved now lacks keys that `transform` has filtered out. */
  get hasFiltered(): boolean {
    return this.part.filtered.size > 0
  }

  get onAccessLost(): 'keep' | 'clear' {
    return this.#context.onAccessLost
  }

  get resumeState(): string | undefined {
    return this.reflector.resumeState
  }

  /** The version that answers waits; undefined if only the next list can answer them. */
  get reached(): Version | undefined {
    return this.history.isCurrent ? this.version : undefined
  }

  /** Has no effect after `end`. */
  start(): void {
    if (this.#isRunning) return
    this.member?.members.add(this.member)
    this.#startedAt = this.#context.clock.now()
    this.#run()
    if (this.#auditMs === false || this.#ending.signal.aborted) return
    this.#auditing ??= this.#audit.run(this.#ending.signal)
  }

  /** Whether the store can be compared with the source: after the first list, while the watch is open. */
  get isComparable(): boolean {
    return this.history.isListed && ['live', 'connecting'].includes(this.reflector.state.name)
  }

  waitFor(version: Version, wait: Wait): Promise<void> {
    const { clock } = this.#context
    return withDeadline(`waitFor on ${this.title}`, wait, clock, (settle) => this.enter(version, settle))
  }

  enter(version: Version, settle: Settle<void>): () => void {
    const leave = this.waiters.enter(version, this.reached, settle)
    if (this.refusal !== undefined) this.waiters.rejectAll(this.refusal)
    if (this.waiters.size > 0) this.reflector.requestProgress()
    return leave
  }

  /** Ends the runner. Resolves when the source has closed its list or watch; never if the source is stalled. */
  async end(reason: unknown): Promise<void> {
    this.refusal ??= reason
    this.#ending.abort(ABORTED)
    if (!this.#isRunning) this.#run()
    this.waiters.rejectAll(reason)
    await this.#ended.promise
    await Promise.all([this.reflector.closing, this.member?.members.closing, this.#auditing])
  }

  /** Called once. The flag is set first, because a listener may call `start` or `end` again. */
  #run(): void {
    this.#isRunning = true
    this.reflector.run({ signal: this.#ending.signal }).then(this.#ended.resolve, this.#ended.reject)
  }

  /** Deletes the objects after lost access. A resumed watch would not return them, so the source is listed next. */
  #clear(error: SourceError): void {
    if (this.history.isCleared) return
    this.warmStart?.discard()
    if (!this.history.isListed && !this.isStale) {
      if (this.warmStart !== undefined) this.reflector.relist(error.message)
      return
    }
    this.history.cleared(this.reached)
    this.reflector.relist(error.message)
    const failed = (thrown: unknown): void => {
      if (this.#ending.signal.aborted) return
      // The step was undone as a whole. The next `UNAUTHORIZED` deletes them.
      this.history.isCleared = false
      this.#context.events.report(toSourceError(thrown, { phase: 'apply', source: this.source.name }))
    }
    try {
      this.part.clear()?.catch(failed)
    } catch (thrown) {
      failed(thrown)
    }
  }

  /** Until the next list no version of the store settles a wait: the new history may contain an equal version. */
  #epochChanged(error: SourceError): void {
    const at = this.history.ended(this.reached)
    this.warmStart?.historyEnded()
    if (at !== undefined)
      this.waiters.epochChanged(at, error, (...versions) => this.source.isLaterEpoch?.(...versions) === true)
    this.history.notify(error)
  }

  /** Saved content stays stale until the changes made before the start are in, if the source can report them. */
  async #catchUp(): Promise<void> {
    const { source, reflector, warmStart } = this
    if (warmStart?.mustCatchUp !== true) return
    warmStart.isBehind = true
    await Promise.resolve() // Listeners of the status are not called within a commit.
    if (this.#ending.signal.aborted) return
    this.#announce({ ...reflector.state })
    const { clock, random, events } = this.#context
    const context = { signal: this.#ending.signal, clock, random, mirror: reflector.mirror, shown: () => this.version }
    const onFailure = (error: SourceError): void => events.report(error)
    try {
      await warmStart.catchUp(context, onFailure, () => reflector.requestProgress())
      if (this.#confirm()) this.#announce({ ...reflector.state })
    } catch (thrown) {
      const reason = `what ${source.name} had before the start is unknown: ${messageOf(thrown)}`
      if (this.isStale) reflector.relist(reason)
    }
  }

  #confirm(): boolean {
    if (!this.isStale || !this.isLive || this.warmStart?.isBehind) return false
    this.history.confirmed(this.reflector.lists)
    this.#hooks.confirmed(this)
    return true
  }

  #committed(commit: Commit<T>): Steps | undefined {
    const { origin, changes, version, committedAt } = commit
    const isList = (origin === 'initial' || origin === 'relist') && this.#view?.isListing !== false
    const restored = this.warmStart?.committed(changes.length, origin)
    if (restored !== undefined) {
      this.proofs.restored(restored.proof)
      this.history.restored()
      void this.#catchUp()
    } else if (isList) {
      const { lists, listBeganAt } = this.reflector
      this.history.listed(lists)
      // A removed source has no version.
      if (version !== undefined && listBeganAt !== undefined) this.proofs.listed(version, listBeganAt)
    }
    this.warmStart?.reached(this.version)
    if (committedAt !== undefined && Number.isFinite(committedAt))
      this.lagMs = Math.max(0, wallNowOf(this.#context.clock) - committedAt)
    return this.#hooks.committed(this, commit)
  }

  /** Whether the other collections of its history continue without it. */
  get hasLeft(): boolean {
    return this.member?.hasLeft === true && this.history.isListed && !this.#ending.signal.aborted
  }

  status(state: ReflectorState = this.reflector.state): Status {
    const now = this.#context.clock.now()
    const { lastContactAt, lastError } = this.reflector
    // The list may be in the store before the reflector has changed its state.
    const isIn = state === this.reflector.state && state.name === 'listing' && this.history.isListed
    const isStale =
      state.name !== 'stopped' && (state === this.reflector.state ? this.isStale : this.warmStart?.wasStale === true)
    const left = this.hasLeft ? `; the other collections of ${this.member?.members.history.name} continue` : ''
    // Its store could not write the last commit of its history: its reflector reports that soon.
    const name = left !== '' && state.name === 'live' ? 'backing-off' : state.name
    return {
      state: isStale ? 'stale' : isIn ? 'connecting' : name,
      isSynced: this.history.isListed,
      version: this.version,
      reason: `${isIn ? 'the list is in' : state.reason}${left}`,
      lastError,
      lastContactAt,
      silentMs: now - (lastContactAt ?? this.#startedAt ?? now),
      lagMs: this.lagMs,
      proof: this.proofs.current,
      attempt: state.attempt,
      retryInMs: 'retryAt' in state ? Math.max(0, state.retryAt - now) : undefined,
      ...(isStale ? { savedAt: this.warmStart?.restored?.savedAt } : {}),
      relists: state.relists,
      reconnects: state.reconnects,
    }
  }
}

/** The reasons of relists as labels of metrics. All others are labelled by the code of the last error. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['requested by relist()', 'requested'],
  ['another list was requested', 'requested'],
  ['a list was requested', 'requested'],
  ['the audit found a difference', 'audit'],
  ['another source released a key', 'released_key'],
  ['an object came without a key', 'incomplete'],
  ['an event of an unknown type came', 'incomplete'],
])

const COMMON: readonly SourceErrorCode[] = ['VERSION_EXPIRED', 'EPOCH_CHANGED', 'STALE_LIST', 'UNAVAILABLE', 'TIMEOUT']
const RARE: readonly SourceErrorCode[] = ['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL', 'DECODE']
const CODES: ReadonlySet<string> = new Set([...COMMON, ...RARE])

/**
 * The labels that are exported as 0 before the first relist: PromQL's `increase` does not see a series that begins with
 * 1. Others are rare, and most of them leave the source in the state `failed`.
 */
const FROM_START: readonly string[] = [...REASONS.values(), ...COMMON.map((code) => code.toLowerCase())]

class SourceCounts {
  readonly relists: Map<string, number> = new Map(FROM_START.map((label) => [label, 0]))
  batches = 0
  changes = 0

  relisting(reason: string, code: string | undefined): void {
    const label = REASONS.get(reason) ?? (code !== undefined && CODES.has(code) ? code.toLowerCase() : 'other')
    this.relists.set(label, (this.relists.get(label) ?? 0) + 1)
  }
}
