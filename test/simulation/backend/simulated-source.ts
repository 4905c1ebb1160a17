import type {
  ListContext,
  ListEvent,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../../src/adapter.js'
import { type ListerWatcher, SourceError, type SourceErrorCode, type Version } from '../../../src/index.js'
import type { AuditResultChecker } from '../checkers/audit-result-checker.js'
import type { ReflectorChecker } from '../checkers/reflector-checker.js'
import { WarningChecker } from '../checkers/warning-checker.js'
import type { SourceScenario } from '../system/scenario.js'
import { changed, withBody } from '../workload/item-bodies.js'
import { refusable } from '../workload/item-schema.js'
import { bareError, driverError } from './driver-errors.js'
import type { FaultKind } from './fault-kinds.js'
import type { Commit, Item, Mutation, Stored } from './history.js'
import { ListStream } from './list-stream.js'
import { WatchStream } from './watch-stream.js'

/** An object without a key. */
export const KEYLESS: ListEvent<Item> = { type: 'invalid', error: new Error('it does not decode, not even its key') }

const MALFORMED: readonly unknown[] = [
  { type: 'put', object: { n: -1, tenant: 't0', tags: [], rank: 0 } },
  { type: 'put', key: 7, object: { n: -1, tenant: 't0', tags: [], rank: 0 } },
  { type: 'delete', key: null },
  { type: 'invalid', key: {}, error: 'no key' },
]

const EARLIER = 20
export const REFUSAL = 'not for you'

/**
 * A backend with history, transactions, compaction and epochs, seen through the source contract, with faults in
 * between.
 */
export class SimulatedSource implements ListerWatcher<Item> {
  readonly name: string
  readonly heartbeatMs: number
  /** What it selects; only the fingerprint of a cache contains it. */
  readonly selection?: string
  readonly hasReached?: (at: Version, mark: Version) => boolean
  readonly isLaterEpoch?: (at: Version, mark: Version) => boolean
  readonly versions?: (context: SourceContext) => AsyncIterable<VersionPage>
  readonly scenario: SourceScenario
  /** Receives its opens and events. Undefined if it is not read. */
  observer: ReflectorChecker | undefined
  onOpen: ((what: 'list' | 'watch') => void) | undefined
  readonly streams = new Set<ListStream | WatchStream>()
  /** The signals of `head` requests that have no response yet. */
  readonly requests = new Set<AbortSignal>()
  readonly warnings: WarningChecker
  /** The signal of its last call. */
  #last: AbortSignal | undefined
  lists = 0
  hasListed = false
  hasRestored = false
  /** The next watch event is `VERSION_EXPIRED`. */
  isExpired = false
  auditWatch: AuditResultChecker | undefined
  lastList: ListStream | undefined
  heads = 0
  headFailures = 0
  /** The code of the last fatal refusal. The first one is undefined after the next open. */
  refusedWith: SourceErrorCode | undefined
  lastRefusal: SourceErrorCode | undefined
  #versionLists = 0

  constructor(
    scenario: SourceScenario,
    observer: ReflectorChecker | undefined,
    name = 'simulated',
    selection?: string,
  ) {
    this.name = name
    if (selection !== undefined) this.selection = selection
    this.scenario = scenario
    this.observer = observer
    this.warnings = new WarningChecker(scenario)
    this.heartbeatMs = scenario.settings.heartbeatMs
    const { auditMs, hasRevisions, flips } = scenario.settings
    if (auditMs !== false && hasRevisions && !flips) this.versions = (context) => this.#versions(context)
    if (!scenario.settings.hasOrder) return
    const isLater = (at: Version, mark: Version): boolean =>
      scenario.settings.comparesEpochs && scenario.history.at(at).epoch < scenario.history.at(mark).epoch
    if (scenario.settings.comparesEpochs) this.isLaterEpoch = isLater
    this.hasReached = (at, mark) => !isLater(at, mark) && scenario.history.hasReached(at, mark)
  }

  list(context: ListContext): AsyncIterable<ListPage<Item>> {
    this.lists++
    this.#called(context)
    if (this.observer?.isAudit) this.#auditBegins()
    else this.refusedWith = undefined
    if (this.scenario.settings.mix.strikes('throw-at-list')) {
      const stream = new ListStream(this, context, true)
      this.#opened(stream)
      const error = this.transient('list')
      this.observer?.broke(stream, error)
      throw error
    }
    if (this.observer?.isAudit) this.#audited()
    const stream = new ListStream(this, context)
    this.streams.add(stream)
    if (!stream.isAudit) this.lastList = stream
    this.#opened(stream)
    return stream
  }

  watch(context: WatchContext): AsyncIterable<WatchBatch<Item>> {
    this.refusedWith = undefined
    this.#called(context)
    const stream = new WatchStream(this, context)
    this.streams.add(stream)
    this.#opened(stream)
    stream.begin()
    return stream
  }

  async head({ signal }: SourceContext): Promise<Version> {
    const { clock, history, settings } = this.scenario
    this.heads++
    this.requests.add(signal)
    signal.addEventListener('abort', () => this.requests.delete(signal), { once: true })
    if (settings.mix.strikes('head-hangs')) await new Promise(() => {})
    // The response is on its way while the source changes.
    const latencyMs = this.latency()
    await clock.sleep(latencyMs / 2)
    const { version } = history.head
    await clock.sleep(latencyMs / 2)
    this.requests.delete(signal)
    signal.throwIfAborted()
    if (settings.mix.strikes('forget-head')) {
      this.headFailures++
      throw this.transient('watch')
    }
    this.observer?.headRead(version)
    return version
  }

  wake(): void {
    for (const stream of this.streams) stream.wake()
    // A source that ignores its signal may still warn.
    if (this.scenario.settings.ignoresAbort && this.#last?.aborted) this.warnings.warn(false)
  }

  #opened(stream: ListStream | WatchStream): void {
    this.onOpen?.(stream.kind)
    this.observer?.opened(stream.kind, stream)
  }

  #called({ signal, warn }: SourceContext): void {
    this.#last = signal
    this.warnings.called(warn)
    if (this.scenario.settings.mix.strikes('warns')) this.warnings.warn(true)
  }

  expire(): void {
    this.isExpired = true
    for (const stream of this.streams) if (stream.kind === 'watch') stream.begin()
  }

  get isAudited(): boolean {
    if (this.#versionLists > 0) return true
    for (const stream of this.streams)
      if (stream.kind === 'list' && stream.isAudit && !stream.signal.aborted) return true
    return false
  }

  closed(stream: ListStream | WatchStream): void {
    this.streams.delete(stream)
  }

  latency(occasion?: number): number {
    const { decisions, settings } = this.scenario
    const stream = decisions.of('latency')
    const ms = (occasion === undefined ? stream.next() : stream.at(occasion)) * settings.latencyMs
    return settings.mix.strikes('slow-source', occasion) ? 50 * ms : ms
  }

  transient(phase: 'list' | 'watch'): unknown {
    const { decisions } = this.scenario
    const codes = ['UNAVAILABLE', 'UNAVAILABLE', 'TIMEOUT', 'DECODE', 'none', 'retry after'] as const
    const code = decisions.pick('error', codes)
    if (code === 'none') return bareError(decisions)
    if (code === 'retry after')
      return new SourceError('too many requests', {
        code: 'UNAVAILABLE',
        retryAfterMs: decisions.below('retry after', 5_000),
      })
    return driverError(decisions, code, phase)
  }

  /** An error that is retried with the longest delay. */
  fatal({ isAudit, signal }: { readonly isAudit?: boolean; readonly signal: AbortSignal }): unknown {
    const codes: readonly SourceErrorCode[] = ['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL']
    const { decisions, settings } = this.scenario
    const drawn = decisions.pick('fatal', codes)
    const code = settings.clears && decisions.chance('revoked', 0.6) ? 'UNAUTHORIZED' : drawn
    if (isAudit !== true && !signal.aborted) [this.refusedWith, this.lastRefusal] = [code, code]
    return new SourceError(REFUSAL, { code })
  }

  eventOf(stored: Stored): ListEvent<Item> {
    const { key, item, uid, revision, isInvalid } = stored
    const version = revision === undefined ? {} : { version: revision }
    const { hasUids, hasSchema } = this.scenario.settings
    if (isInvalid && hasSchema)
      return { type: 'put', key, object: refusable(item), ...(hasUids && { uid }), ...version }
    if (isInvalid) return { type: 'invalid', key, error: new Error('it does not decode'), ...version }
    return { type: 'put', key, object: this.#sent(item), ...(hasUids && { uid }), ...version }
  }

  #sent(item: Item): Item {
    const { body, copies } = this.scenario.settings
    return copies ? withBody(changed(item, { tags: [...item.tags] }), body, true) : item
  }

  /** Events that cannot be used: an object without a key, or an event of an unknown type. */
  uselessEvents(strikes: (kind: FaultKind) => boolean): readonly WatchEvent<Item>[] {
    const events: unknown[] = []
    if (strikes('unknown-event')) events.push({ type: 'annotate', key: this.scenario.settings.keys[0] })
    if (strikes('keyless-event')) events.push(KEYLESS)
    if (strikes('malformed-event')) events.push(this.scenario.decisions.pick('malformed', MALFORMED))
    if (events.length > 0) this.observer?.emittedUseless()
    return events as WatchEvent<Item>[]
  }

  eventsOf(commit: Commit): readonly WatchEvent<Item>[] {
    return this.scenario.settings.isPolled ? this.#whole(commit) : this.#changesOf(commit)
  }

  /** The whole state of a polled source; sometimes the state before, and then the changes. `hidden` has no key. */
  polledEventsOf(commit: Commit, before: Commit, hidden: string | undefined): readonly WatchEvent<Item>[] {
    if (!this.scenario.settings.pollsWithChanges) return this.#whole(commit, hidden)
    return [...this.#whole(before, hidden), ...this.#changesOf(commit)]
  }

  #changesOf({ mutations }: Commit): readonly WatchEvent<Item>[] {
    return mutations.map((mutation) => this.#eventOf(mutation))
  }

  #whole({ state }: Commit, hidden?: string): readonly WatchEvent<Item>[] {
    const stored: ListEvent<Item>[] = []
    for (const each of state.values()) stored.push(each.key === hidden ? KEYLESS : this.eventOf(each))
    const entries = stored.filter((event) => event.type === 'put')
    const invalid = stored.filter((event) => event.type === 'invalid')
    return [...invalid, { type: 'replace', entries }]
  }

  /** An earlier state of an object, which the same list contains again; undefined if there was none. */
  earlierEvent({ key, item }: Stored, { sequence, epoch }: Commit): ListEvent<Item> | undefined {
    const { history } = this.scenario
    if (history.head.epoch !== epoch) return undefined
    for (let at = sequence - 1; at >= sequence - EARLIER; at--) {
      const earlier = history.inEpoch(at)?.state.get(key)
      if (earlier !== undefined && earlier.item.n !== item.n) return this.eventOf(earlier)
    }
    return undefined
  }

  #auditBegins(): void {
    this.observer?.audited()
    this.auditWatch?.begins()
  }

  /** Lets writers write during the audit, and sometimes makes the watch expire. */
  #audited(): void {
    const { workload, settings } = this.scenario
    workload.inGap()
    if (settings.isBreach || !settings.mix.strikes('expire-in-audit')) return
    // The audit may see an object that comes after the watch expired and goes before the next list. The mirror never
    // sees it.
    this.expire()
    workload.addBriefly(5 * settings.latencyMs)
  }

  /** Keys and versions alone, for an audit. */
  async *#versions({ signal }: SourceContext): AsyncIterable<VersionPage> {
    const { clock, history, settings, note } = this.scenario
    this.#versionLists++
    try {
      this.#auditBegins()
      this.#audited()
      await clock.sleep(10 * this.latency())
      const { state, version } = history.head
      note('lists versions', version)
      await clock.sleep(10 * this.latency())
      signal.throwIfAborted()
      if (settings.mix.strikes('break-audit')) throw this.transient('list')
      this.auditWatch?.read(history.at(version), true)
      yield { keys: Array.from(state.values(), ({ key, revision = '' }) => ({ key, version: revision })), version }
    } finally {
      this.#versionLists--
    }
  }

  #eventOf({ key, stored, was }: Mutation): ListEvent<Item> {
    if (stored !== undefined) return this.eventOf(stored)
    const last = this.scenario.settings.sendsLastState && was !== undefined && !was.isInvalid ? was.item : undefined
    return { type: 'delete', key, ...(last !== undefined && { object: this.#sent(last) }) }
  }
}
