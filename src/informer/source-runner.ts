import type { Clock } from '../contract/clock.js'
import { ABORTED, type SourceError, toSourceError } from '../contract/errors.js'
import type { Random } from '../contract/random.js'
import type { ListerWatcher } from '../contract/source.js'
import type { Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import { Reflector, type ReflectorHooks } from '../reflector/reflector.js'
import type { ReflectorState } from '../reflector/reflector-state.js'
import type { Partition } from '../store/partition.js'
import { VersionWaiters } from '../subscriptions/version-waiters.js'
import type { Wait } from '../util/deadline.js'
import { Audit } from './audit.js'
import { EpochCheck } from './epoch-check.js'

/** What a source needs of its informer. */
export interface RunnerHost<S, T> {
  readonly clock: Clock
  readonly random: Random
  /** How often it is audited, in milliseconds; false: never. */
  readonly auditMs: number | false
  /** Whether the objects of a source that refuses access stay in the store. */
  readonly onAccessLost: 'keep' | 'clear'
  /** Undefined where a relist may begin at once. */
  admit(signal: AbortSignal): Promise<() => void> | undefined
  moved(mirror: SourceRunner<S, T>, previous: ReflectorState): void
  report(error: SourceError): void
  warn(message: string): void
  ignored(source: string, version: Version): void
  waitFor(version: Version, wait: Wait, mirror: SourceRunner<S, T>): Promise<void>
}

/** One source of an informer: what reads it, where it is, and who waits for it. */
export class SourceRunner<S, T> {
  /** What it is called among the others. */
  readonly name: string
  readonly source: ListerWatcher<S>
  readonly part: Partition<T>
  readonly reflector: Reflector<S>
  readonly waiters: VersionWaiters
  readonly #host: RunnerHost<S, T>
  readonly #epochs: EpochCheck | undefined
  readonly #onForked = new Set<(error: SourceError) => void>()
  readonly #ending = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  #audit: Audit<S, T> | undefined
  #auditing: Promise<void> | undefined
  #isRunning = false
  #refusal: unknown
  #startedAt: number | undefined
  #lagMs: number | undefined
  /** The last list that is in the store, by the reflector's count. */
  #listed = 0
  /** Whether its objects were deleted because access was lost, until the next list. */
  #isCleared = false
  /** Where it was when access was lost, until the next list, or until that history is known to be over. */
  #lostAt: Version | undefined
  /** Counts the lists that began a history: the first one, and those after `EPOCH_CHANGED` and lost access. */
  #history = 0
  /** Whether the store shows a history that is not known to be over. */
  #isCurrent = false

  constructor(name: string, source: ListerWatcher<S>, part: Partition<T>, host: RunnerHost<S, T>) {
    this.name = name
    this.source = source
    this.part = part
    this.#host = host
    this.#epochs = source.head === undefined ? undefined : new EpochCheck(source, host)
    this.waiters = new VersionWaiters(
      (at, mark) => source.hasReached?.(at, mark) === true,
      this.#epochs && ((...wait) => this.#epochs?.judge(...wait)),
    )
    const hooks: ReflectorHooks = {
      onStateChange: (_state, previous) => host.moved(this, previous),
      onFailure: (error) => {
        if (error.code === 'UNAUTHORIZED' && host.onAccessLost === 'clear') this.#clear(error)
      },
      onError: (error) => {
        if (error.code === 'EPOCH_CHANGED') this.#forked(error)
        host.report(error)
      },
      onWarning: (message) => host.warn(`${source.name}: ${message}`),
      onAuditRequest: () => this.#audit?.request(),
      onProofRequest: () => this.#prove(),
      onDuplicate: (version) => host.ignored(source.name, version),
      hasWaiters: () => this.waiters.size > 0,
      acquireRelistSlot: (signal) => host.admit(signal),
    }
    // What the source gives becomes what the store holds inside the indexer, by `schema` and `transform`.
    const sink = part as unknown as Partition<S>
    this.reflector = new Reflector<S>(source, sink, { clock: host.clock, random: host.random }, hooks)
  }

  get version(): Version | undefined {
    return this.part.version
  }

  get isListed(): boolean {
    return this.#listed > 0
  }

  /** The last list that is in the store, by the reflector's count. */
  get listed(): number {
    return this.#listed
  }

  get isCleared(): boolean {
    return this.#isCleared
  }

  /** The version that answers waits; undefined if only the next list can answer them. */
  get reached(): Version | undefined {
    return this.#isCurrent ? this.version : undefined
  }

  /** Which history of the source the store shows; undefined from its end to the list that begins another. */
  get history(): number | undefined {
    return this.#isCurrent ? this.#history : undefined
  }

  get lagMs(): number | undefined {
    return this.#lagMs
  }

  /** Why nothing of it comes any more; undefined where something may. */
  get refusal(): unknown {
    return this.#refusal
  }

  /** Begins to read it, unless it has been ended before. */
  start(): void {
    if (this.#isRunning) return
    this.#startedAt = this.#host.clock.now()
    const { auditMs } = this.#host
    if (auditMs !== false) this.#audit = this.#makeAudit(auditMs)
    this.#run()
    if (!this.#ending.signal.aborted) this.#auditing = this.#audit?.run(this.#ending.signal)
  }

  /** Also without audits: then the store is compared only when a source asks for it. */
  #prove(): void {
    if (this.#audit === undefined) {
      this.#audit = this.#makeAudit(Infinity)
      this.#auditing = this.#audit.run(this.#ending.signal)
    }
    this.#audit.prove()
  }

  #makeAudit(auditMs: number): Audit<S, T> {
    const { clock, random, report, warn, waitFor } = this.#host
    return new Audit<S, T>(
      {
        source: this.source,
        part: this.part,
        clock,
        random,
        isLive: () => this.isListed && ['live', 'connecting'].includes(this.reflector.state.name),
        waitFor: (version, wait) => waitFor(version, wait, this),
        proven: (version) => this.reflector.proven(version),
        relist: (reason) => this.reflector.relist(reason),
        report,
        warn,
      },
      auditMs,
    )
  }

  /** Ends it for good. Resolves when nothing of it runs or is open any more; where the source is stalled, never. */
  async end(reason: unknown): Promise<void> {
    this.#refusal ??= reason
    this.#ending.abort(ABORTED)
    if (!this.#isRunning) this.#run()
    this.waiters.rejectAll(reason)
    this.#epochs?.end()
    await this.#ended.promise
    await Promise.all([this.reflector.closing, this.#auditing])
  }

  /** Once, and known before the first listener hears of it: it may end this, or start it, again. */
  #run(): void {
    this.#isRunning = true
    this.reflector.run({ signal: this.#ending.signal }).then(this.#ended.resolve, this.#ended.reject)
  }

  /** Access was lost: a resumed watch would not return the deleted objects, so the source is listed next. */
  #clear(error: SourceError): void {
    if (!this.isListed || this.#isCleared) return
    this.#lostAt ??= this.reached
    this.#isCleared = true
    this.#isCurrent = false
    this.reflector.relist(error.message)
    try {
      this.part.clear()
    } catch (thrown) {
      // The step is undone as a whole: the next refusal deletes them.
      this.#isCleared = false
      this.#host.report(toSourceError(thrown, { phase: 'apply', source: this.source.name }))
    }
  }

  /** From now to the next list no version of the store answers a wait: it may be equal to one of the history that begins. */
  #forked(error: SourceError): void {
    const at = this.reached ?? this.#lostAt
    this.#isCurrent = false
    this.#lostAt = undefined
    if (at !== undefined)
      this.waiters.epochChanged(at, error, (...versions) => this.source.isLaterEpoch?.(...versions) === true)
    for (const onEpochChange of [...this.#onForked]) onEpochChange(error)
  }

  /** Calls `listener` when the history of the source is over, until the result is called. */
  onForked(listener: (error: SourceError) => void): () => void {
    this.#onForked.add(listener)
    return () => this.#onForked.delete(listener)
  }

  /** Something of it is in the store now. */
  committed(isList: boolean, committedAt: number | undefined): void {
    if (isList) {
      this.#listed = this.reflector.lists
      this.#isCleared = false
      this.#lostAt = undefined
      if (!this.#isCurrent) this.#history++
      this.#isCurrent = true
    }
    if (committedAt !== undefined) this.#lagMs = Math.max(0, this.#host.clock.now() - committedAt)
  }

  status(state: ReflectorState = this.reflector.state): Status {
    const now = this.#host.clock.now()
    const { lastContactAt, lastError } = this.reflector
    // Whoever waited for the list may ask before the reflector goes on.
    const isIn = state === this.reflector.state && state.name === 'listing' && this.isListed
    return {
      state: isIn ? 'connecting' : state.name,
      isSynced: this.isListed,
      version: this.version,
      reason: isIn ? 'the list is in' : state.reason,
      lastError,
      lastContactAt,
      staleMs: now - (lastContactAt ?? this.#startedAt ?? now),
      lagMs: this.#lagMs,
      attempt: state.attempt,
      retryInMs: state.retryAt === undefined ? undefined : Math.max(0, state.retryAt - now),
      relists: state.relists,
      reconnects: state.reconnects,
    }
  }
}

/** The status of several sources: the least well of them has the word. */
export function statusOf(
  sources: ReadonlyMap<string, Status>,
  { state, isSynced }: { readonly state: 'idle' | 'stopped' | undefined; readonly isSynced: boolean },
): Status {
  const all = [...sources.values()]
  const worst = [...sources].reduce<readonly [string, Status] | undefined>(
    (worst, each) => (worst === undefined || rank(each[1]) > rank(worst[1]) ? each : worst),
    undefined,
  )
  const times = (of: (status: Status) => number | undefined): readonly number[] =>
    all.map(of).filter((time) => time !== undefined)
  return {
    state: state ?? worst?.[1].state ?? 'live',
    isSynced,
    version: undefined,
    reason: worst === undefined ? 'there are no sources' : `${worst[0]}: ${worst[1].reason}`,
    lastError: worst?.[1].lastError ?? all.find(({ lastError }) => lastError !== undefined)?.lastError,
    lastContactAt: least(times(({ lastContactAt }) => lastContactAt)),
    staleMs: Math.max(0, ...times(({ staleMs }) => staleMs)),
    lagMs: greatest(times(({ lagMs }) => lagMs)),
    attempt: Math.max(0, ...times(({ attempt }) => attempt)),
    retryInMs: least(times(({ retryInMs }) => retryInMs)),
    relists: sum(times(({ relists }) => relists)),
    reconnects: sum(times(({ reconnects }) => reconnects)),
    sources: Object.fromEntries(sources),
  }
}

const RANKS: readonly Status['state'][] = [
  'live',
  'stopped',
  'idle',
  'relisting',
  'connecting',
  'listing',
  'backing-off',
  'failed',
]

function rank({ state }: Status): number {
  return RANKS.indexOf(state)
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers)
}

function greatest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
