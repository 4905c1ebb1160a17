import { SourceError, type SourceErrorCode } from '../../src/errors.js'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../src/source.js'
import type { Version } from '../../src/version.js'
import type { FaultKind } from './faults.js'
import type { Told } from './findings.js'
import type { Item, Moment, Mutation, Stored } from './history.js'
import { ListStream } from './list-stream.js'
import { refusable } from './schema.js'
import type { Stage } from './stage.js'
import { WatchStream } from './watch-stream.js'

/** An object of which nobody can say which it is. */
export const KEYLESS: ListEvent<Item> = { type: 'invalid', error: new Error('it does not decode, not even its key') }

/** Why nobody may read it. */
export const REFUSAL = 'not for you'

/** What a source tells whoever judges the reflector by its opens. */
export interface Opens {
  /** Whether a list that is opened now is an audit's. */
  readonly isAudit: boolean
  /** Whether the source has to be read again for what was left out. */
  readonly isIncomplete: boolean
  opened(what: 'list' | 'watch', stream: ListStream | WatchStream): void
  /** The stream broke off, or ended where `error` is undefined. */
  broke(stream: ListStream | WatchStream, error: unknown): void
  said(stream: ListStream | WatchStream): void
  /** Something was said that is of no use to anybody. */
  muttered(): void
  /** The source says that it is not sure of itself. */
  doubted(): void
  /** An audit begins to read. */
  audited(): void
}

/** Who is told how far an audit has come. */
export interface AuditWatch {
  /** Whether a list that is to mend what it has found breaks off now. */
  breaksRepair(): boolean
  begins(): void
  /** It has read everything as it was then; not `isWhole`: something without its key. */
  read(shown: Moment, isWhole: boolean): void
}

/**
 * A backend with history, transactions, compaction and incarnations, seen through the source contract; and what goes
 * wrong between the two.
 */
export class SimulatedSource implements ListerWatcher<Item> {
  readonly name: string
  readonly heartbeatMs: number
  readonly hasReached?: (at: Version, mark: Version) => boolean
  readonly versions?: (context: SourceContext) => AsyncIterable<VersionPage>
  readonly stage: Stage
  readonly opens: Opens
  readonly streams = new Set<ListStream | WatchStream>()
  /** How many lists there were. */
  lists = 0
  /** The next that a watch says is that its history is gone. */
  isExpired = false
  auditWatch: AuditWatch | undefined
  /** The last list that was opened, audits aside. */
  lastList: Told | undefined
  /** How often it could not say where it is. */
  headFailures = 0
  /** With what it has refused for good whoever reads it, and was not opened again since. */
  refusedWith: SourceErrorCode | undefined
  /** How many lists of versions are on their way. */
  #versionLists = 0

  constructor(stage: Stage, opens: Opens, name = 'simulated') {
    this.name = name
    this.stage = stage
    this.opens = opens
    this.heartbeatMs = stage.settings.heartbeatMs
    const { auditMs, hasRevisions, flips } = stage.settings
    if (auditMs !== false && hasRevisions && !flips) this.versions = (context) => this.#versions(context)
    if (stage.settings.hasOrder) this.hasReached = (at, mark) => stage.history.hasReached(at, mark)
  }

  list(context: ListContext): AsyncIterable<ListPage<Item>> {
    this.lists++
    if (this.opens.isAudit) this.#auditBegins()
    else this.refusedWith = undefined
    if (this.stage.settings.mix.strikes('throw-at-list')) {
      const stream = new ListStream(this, context, true)
      this.opens.opened('list', stream)
      const error = this.transient()
      this.opens.broke(stream, error)
      throw error
    }
    if (this.opens.isAudit) this.#audited()
    const stream = new ListStream(this, context)
    this.streams.add(stream)
    if (!stream.isAudit) this.lastList = stream
    this.opens.opened('list', stream)
    return stream
  }

  watch(context: WatchContext): AsyncIterable<WatchBatch<Item>> {
    this.refusedWith = undefined
    const stream = new WatchStream(this, context)
    this.streams.add(stream)
    this.opens.opened('watch', stream)
    stream.begin()
    return stream
  }

  async head({ signal }: SourceContext): Promise<Version> {
    const { clock, history, settings } = this.stage
    await clock.sleep(this.latency())
    signal.throwIfAborted()
    if (settings.mix.strikes('forget-head')) {
      this.headFailures++
      throw this.transient()
    }
    return history.head.version
  }

  /** The history moved on: open watches have something to tell. */
  wake(): void {
    for (const stream of this.streams) stream.wake()
  }

  /** Makes whoever watches read everything again. */
  expire(): void {
    this.isExpired = true
    for (const stream of this.streams) if (stream.kind === 'watch') stream.begin()
  }

  /** Whether an audit reads. */
  get isAudited(): boolean {
    if (this.#versionLists > 0) return true
    for (const stream of this.streams)
      if (stream.kind === 'list' && stream.isAudit && !stream.signal.aborted) return true
    return false
  }

  /** Streams that nobody reads any more are forgotten. */
  closed(stream: ListStream | WatchStream): void {
    this.streams.delete(stream)
  }

  latency(occasion?: number): number {
    const { draws, settings } = this.stage
    const stream = draws.of('latency')
    const ms = (occasion === undefined ? stream.next() : stream.at(occasion)) * settings.latencyMs
    return settings.mix.strikes('slow-source', occasion) ? 50 * ms : ms
  }

  /** An error after which it is worth trying again. */
  transient(): unknown {
    const { draws } = this.stage
    const code = draws.pick('error', [
      'UNAVAILABLE',
      'UNAVAILABLE',
      'TIMEOUT',
      'DECODE',
      'none',
      'retry after',
    ] as const)
    if (code === 'none') return new Error('the connection was lost')
    if (code === 'retry after')
      return new SourceError('too many requests', {
        code: 'UNAVAILABLE',
        retryAfterMs: draws.below('retry after', 5_000),
      })
    return new SourceError('the connection was lost', { code })
  }

  /** An error after which trying again soon is of no use. */
  fatal({ isAudit, signal }: ListStream): unknown {
    const codes: readonly SourceErrorCode[] = ['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL']
    const code = this.stage.draws.pick('fatal', codes)
    if (!isAudit && !signal.aborted) this.refusedWith = code
    return new SourceError(REFUSAL, { code })
  }

  eventOf(stored: Stored): ListEvent<Item> {
    const { key, item, uid, revision, isInvalid } = stored
    const version = revision === undefined ? {} : { version: revision }
    const { copies, hasUids, hasSchema } = this.stage.settings
    if (isInvalid && hasSchema)
      return { type: 'put', key, object: refusable(item), ...(hasUids && { uid }), ...version }
    if (isInvalid) return { type: 'invalid', key, error: new Error('it does not decode'), ...version }
    const event = { type: 'put', key, object: copies ? { ...item, tags: [...item.tags] } : item } as const
    return { ...event, ...(hasUids && { uid }), ...version }
  }

  /** What nobody can do anything with: an object without a key, or an event of a type to come. */
  uselessEvents(strikes: (kind: FaultKind) => boolean): readonly WatchEvent<Item>[] {
    const events: unknown[] = []
    if (strikes('unknown-event')) events.push({ type: 'annotate', key: this.stage.settings.keys[0] })
    if (strikes('keyless-event')) events.push(KEYLESS)
    if (events.length > 0) this.opens.muttered()
    return events as WatchEvent<Item>[]
  }

  /** What a watch tells of one transaction. */
  eventsOf({ mutations, state }: Moment): readonly WatchEvent<Item>[] {
    const { isPolled } = this.stage.settings
    if (!isPolled) return mutations.map((mutation) => this.#eventOf(mutation))
    const stored = [...state.values()].map((each) => this.eventOf(each))
    const entries = stored.filter((event) => event.type === 'put')
    return [...stored.filter((event) => event.type === 'invalid'), { type: 'replace', entries }]
  }

  #auditBegins(): void {
    this.opens.audited()
    this.auditWatch?.begins()
  }

  /** An audit has begun: a good moment for writers, and for the watch to break off. */
  #audited(): void {
    const { inGap, settings, comeAndGo } = this.stage
    inGap()
    if (settings.isBreach || !settings.mix.strikes('expire-in-audit')) return
    // What comes after the watch broke off and goes before the next list, the audit may see, and the mirror never does.
    this.expire()
    comeAndGo(5 * settings.latencyMs)
  }

  /** Keys and versions alone, for an audit. */
  async *#versions({ signal }: SourceContext): AsyncIterable<VersionPage> {
    const { clock, history, settings, note } = this.stage
    this.#versionLists++
    try {
      this.#auditBegins()
      this.#audited()
      await clock.sleep(10 * this.latency())
      const { state, version } = history.head
      note('lists versions', version)
      await clock.sleep(10 * this.latency())
      signal.throwIfAborted()
      if (settings.mix.strikes('break-audit')) throw this.transient()
      this.auditWatch?.read(history.at(version), true)
      yield { keys: Array.from(state.values(), ({ key, revision = '' }) => ({ key, version: revision })), version }
    } finally {
      this.#versionLists--
    }
  }

  #eventOf({ key, stored, was }: Mutation): ListEvent<Item> {
    if (stored !== undefined) return this.eventOf(stored)
    const last = this.stage.settings.tellsLastState && was !== undefined && !was.isInvalid ? was.item : undefined
    return { type: 'delete', key, ...(last !== undefined && { object: last }) }
  }
}
