import type {
  ListContext,
  ListEvent,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
import { DEFAULT_HEARTBEAT_MS } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { expired, forked, isExpired } from '../common/source-errors.js'
import { ValueCodec } from '../common/value-codec.js'
import {
  assertContinues,
  assertCurrent,
  assertOwnSubjects,
  assertSameStream,
  type BucketState,
  type Continuity,
  readLastSeq,
  readState,
  readSubjectCount,
  streamOf,
} from './connection/bucket-stream.js'
import { type Session, sessionOf } from './connection/session.js'
import { KnownKeys } from './known-keys.js'
import { Consumer, type ConsumerOptions } from './messages/consumer.js'
import { HeldMessages } from './messages/held-messages.js'
import { RecentMessages } from './messages/recent-messages.js'
import type { StoredMessage } from './messages/stored-message.js'
import { checkNatsOptions, type NatsKvSource, type NatsKvSourceOptions } from './nats-options.js'
import { formatVersion, includesMark, type NatsVersion, parseVersion } from './nats-version.js'
import { RemovalSearch } from './removal-search.js'
import { StateCut } from './state-cut.js'

/**
 * Returns a source for a key-value bucket of NATS JetStream. It uses the connection of the program, and never closes
 * it.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * const source = natsKvSource<Limit>({ client: connection, bucket: 'limits' })
 * const limits = createInformer({ source })
 * ```
 */
export function natsKvSource<T = unknown>(options: NatsKvSourceOptions<T>): NatsKvSource<T> {
  checkNatsOptions(options)
  return new BucketSource<T>(options, PLAIN)
}

const VERIFY_MS = 10_000
const ALL = '>'
/** The maximum number of messages of one pull of a watch. */
const PULL_SIZE = 500
/** How often a replica that lags behind is asked for its position. */
const LAGGING_MS = 50

export interface BucketForm {
  /** The key of what follows the prefix of a subject. */
  decodeKey(name: string): string
  /** Whether the first state of a watch must lack all keys that were removed without a marker. */
  readonly searchesFirst: boolean
}

const PLAIN: BucketForm = { decodeKey: (name) => name, searchesFirst: false }

/** What a mirror has of the stream. */
interface Known {
  readonly keys: KnownKeys
  readonly recent: RecentMessages
  /** The servers from which the mirror has read, and their start. */
  server: string
}

/** What a list found, for the watch that starts at its version. */
interface Listed extends Known {
  readonly version: Version
}

/** A source with checked options. */
export class BucketSource<T> implements NatsKvSource<T> {
  readonly name: string
  readonly selection: string
  readonly heartbeatMs: number
  readonly #options: NatsKvSourceOptions<T>
  readonly #form: BucketForm
  readonly #filters: readonly string[]
  readonly #codec: ValueCodec<T>
  readonly #listed = new WeakMap<object, Listed>()
  readonly #known = new WeakMap<object, Known>()

  constructor(options: NatsKvSourceOptions<T>, form: BucketForm) {
    const { bucket, codec = 'json', domain = '', subjects: filter = ALL } = options
    this.#options = options
    this.#form = form
    this.#filters = [filter].flat()
    this.#codec = new ValueCodec(codec, 'string')
    this.heartbeatMs = options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS
    this.selection = JSON.stringify([domain, bucket, this.#filters, String(codec)])
    const filters = this.#filters.includes(ALL) ? '' : `:${this.#filters.join(',')}`
    this.name = `nats:${bucket}${filters}`
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const session = this.#session(context)
    try {
      const state = await this.#state(session)
      // A list is judged as a resumed watch is: another history must not pass for a later state.
      if (context.floor !== undefined) {
        const known = this.#knownAt(context.mirror, context.floor)
        await this.#assertContinues(session, state, parseVersion(context.floor), known).catch((error: unknown) => {
          if (!isExpired(error)) throw error
        })
      }
      const server = serverOf(session, state)
      const keys = new KnownKeys()
      const recent = new RecentMessages()
      let newest: StoredMessage | undefined
      let position = 0
      for await (const page of this.#everything(session, state, context, false)) {
        const events: ListEvent<T>[] = []
        for (const message of page.messages) {
          if (!message.isDelete || keys.has(message.subject)) events.push(this.#event(message, state))
          keys.expect([message])
          keys.settle([message])
          if (newest === undefined || message.seq > newest.seq) newest = message
        }
        recent.add(page.messages)
        position = Math.max(page.position, state.lastSeq) // What matches up to there has been read.
        yield { events }
      }
      const version = this.#version(state, position, newest)
      if (context.mirror !== undefined) this.#listed.set(context.mirror, { version, keys, recent, server })
      yield { events: [], version }
    } finally {
      session.close()
    }
  }

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    const session = this.#session(context)
    try {
      const state = await this.#state(session)
      // A key may be deleted or written again while they are read.
      const found = new Map<string, string>()
      let newest: StoredMessage | undefined
      let position = 0
      for await (const page of this.#everything(session, state, context, true)) {
        for (const message of page.messages) {
          const key = this.#key(message, state)
          if (message.isDelete) found.delete(key)
          else found.set(key, String(message.seq))
          if (newest === undefined || message.seq > newest.seq) newest = message
        }
        position = Math.max(page.position, state.lastSeq) // What matches up to there has been read.
        context.alive?.()
      }
      const keys = [...found].map(([key, version]) => ({ key, version }))
      yield { keys, version: this.#version(state, position, newest) }
    } finally {
      session.close()
    }
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const { after, mirror, onProgressRequest, requestAudit, isUnconfirmed = false } = context
    const from = parseVersion(after)
    const known = this.#knownAt(mirror, after)
    // The keys of a mirror that another process saved are not known: a delete whose marker is gone would be missed.
    if (known === undefined && isUnconfirmed) throw expired('its keys are not known to this process')
    const session = this.#session(context)
    let consumer: Consumer | undefined
    try {
      const state = await this.#state(session)
      const continuity = await this.#assertContinues(session, state, from, known)
      const options = this.#consumerOptions(session, state)
      // Nothing between the newest message and the version matched: such a message is one of another history.
      const start = (continuity === 'proved' ? from.newest : from.seq) + 1
      consumer = await Consumer.create({ ...options, from: start, pullSize: PULL_SIZE })
      if (known === undefined) requestAudit?.('deletes whose markers are gone cannot be found for this mirror')
      else if (known.server !== serverOf(session, state))
        requestAudit?.('a server that crashed may have messages again that had been erased')
      if (known !== undefined) known.server = serverOf(session, state)
      await assertSameStream(session, this.#options.bucket, state) // Else it reads another stream.
      const following = consumer
      const probe = (): void => {
        if (session.isOpen) following.probe()
      }
      onProgressRequest(probe)
      const search = known && this.#search(known.keys, state, options, probe)
      let { seq, newest, time } = from
      let version = after
      let aliveAt = session.clock.now()
      const { searchesFirst } = this.#form
      const cut = new StateCut(session.clock, options.lastSeq, options.isExact)
      const held = new HeldMessages()
      // Markers may have expired while the mirror was away. Its first state lacks their keys, too.
      if (searchesFirst) await search?.begin(seq)
      following.probe() // Its heartbeat is the first batch.
      for (;;) {
        const delivered = await consumer.next()
        const another = delivered.messages.find((message) => message.seq <= from.seq)
        if (another !== undefined) throw forked(`its message ${another.seq} is another`)
        if (delivered.position < from.seq) {
          await session.pause(LAGGING_MS)
          probe()
          continue
        }
        known?.keys.expect(delivered.messages)
        held.add(delivered.messages)
        const isWhole = await cut.isWhole(delivered)
        if (isWhole) seq = Math.max(seq, delivered.position)
        const missing = (isWhole && search?.missing(seq)) || []
        if (!isWhole || (searchesFirst && search?.hasCompared === false)) {
          if (isWhole) await search?.begin(seq)
          if (session.clock.now() - aliveAt < this.heartbeatMs / 2) continue
          aliveAt = session.clock.now()
          yield { events: [], version } // A long catch-up is alive.
          continue
        }
        aliveAt = session.clock.now()
        const messages = held.take()
        const last = messages.at(-1)
        if (last !== undefined) [newest, time] = [last.seq, last.time]
        const events = messages.map((message) => this.#event(message, state))
        for (const subject of missing) events.push({ type: 'delete', key: this.#key({ subject }, state) })
        version = formatVersion({ created: state.created, seq, newest, time })
        const committedAt = last === undefined ? {} : { committedAt: Math.floor(Number(last.time) / 1e6) }
        known?.recent.expect(messages, version)
        yield { events, version, ...committedAt }
        known?.recent.settle()
        known?.keys.settle(messages)
        known?.keys.forget(missing)
        await search?.begin(seq)
      }
    } finally {
      consumer?.close()
      session.close()
    }
  }

  async head(context: SourceContext): Promise<Version> {
    const session = this.#session(context)
    try {
      const state = await this.#state(session)
      assertCurrent(state)
      const { created, lastSeq } = state
      return formatVersion({ created, seq: lastSeq, newest: lastSeq, time: '0' })
    } finally {
      session.close()
    }
  }

  hasReached(at: Version, mark: Version): boolean {
    return includesMark(at, mark)
  }

  #session(context: Pick<SourceContext, 'signal' | 'clock'>): Session {
    return sessionOf(this.#options, context)
  }

  async #state(session: Session): Promise<BucketState> {
    const { bucket } = this.#options
    const state = await readState(session, bucket)
    await assertOwnSubjects(session, bucket, state)
    return state
  }

  #consumerOptions(session: Session, { subjectPrefix }: BucketState): Omit<ConsumerOptions, 'pullSize'> {
    const { bucket } = this.#options
    const filters = this.#filters.map((filter) => subjectPrefix + filter)
    const lastSeq = async (): Promise<number> => {
      if (this.#isWhole) return (await readState(session, bucket)).lastSeq
      return Math.max(...(await Promise.all(filters.map((filter) => readLastSeq(session, bucket, filter)))))
    }
    const isExact = this.#isWhole
    return { session, stream: streamOf(bucket), filters, heartbeatMs: this.heartbeatMs / 2, lastSeq, isExact }
  }

  /** Whether all keys of the bucket are read. */
  get #isWhole(): boolean {
    return this.#filters.includes(ALL)
  }

  /** The newest message of each subject, and what was written while they were read. */
  async *#everything(
    session: Session,
    state: BucketState,
    { pageSize }: ListContext,
    isHeadersOnly: boolean,
  ): ReturnType<Consumer['through']> {
    const options = this.#consumerOptions(session, state)
    const consumer = await Consumer.create({ ...options, isHeadersOnly, pullSize: pageSize })
    try {
      await assertSameStream(session, this.#options.bucket, state)
      yield* consumer.through()
    } finally {
      consumer.close()
    }
  }

  #search(
    keys: KnownKeys,
    state: BucketState,
    options: Omit<ConsumerOptions, 'pullSize'>,
    onFound: () => void,
  ): RemovalSearch {
    return new RemovalSearch({
      session: options.session,
      bucket: this.#options.bucket,
      state,
      keys,
      onFound,
      isWhole: this.#isWhole,
      everyMs: this.#options.verifyMs ?? VERIFY_MS,
      count: async () => {
        const counts = options.filters.map((filter) => readSubjectCount(options.session, this.#options.bucket, filter))
        return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
      },
      consumer: () => Consumer.create({ ...options, isHeadersOnly: true, pullSize: PULL_SIZE }),
    })
  }

  /** What the mirror has at a version; undefined if that is not known. */
  #knownAt(mirror: object | undefined, version: Version): Known | undefined {
    if (mirror === undefined) return undefined
    const listed = this.#listed.get(mirror)
    if (listed?.version === version) {
      this.#listed.delete(mirror)
      this.#known.set(mirror, listed)
    }
    const known = this.#known.get(mirror)
    known?.recent.settle(version)
    return known
  }

  /** Throws `EPOCH_CHANGED` for another history. It is `VERSION_EXPIRED` if nothing proves either. */
  async #assertContinues(
    session: Session,
    state: BucketState,
    version: NatsVersion,
    known: Known | undefined,
  ): Promise<Continuity> {
    const { bucket } = this.#options
    const continuity = await assertContinues(session, bucket, state, version)
    if (continuity === 'proved' || known === undefined) return continuity
    const { recent } = known
    const reading = { from: recent.from, isHeadersOnly: true, isOnce: true, pullSize: PULL_SIZE }
    const consumer = await Consumer.create({ ...this.#consumerOptions(session, state), ...reading })
    try {
      await assertSameStream(session, bucket, state)
      await recent.assertContinues(consumer, version.seq, (subject) => readLastSeq(session, bucket, subject))
    } finally {
      consumer.close()
    }
    return continuity
  }

  #version({ created }: BucketState, seq: number, newest: StoredMessage | undefined): Version {
    return formatVersion({ created, seq, newest: newest?.seq ?? 0, time: newest?.time ?? '0' })
  }

  #key({ subject }: Pick<StoredMessage, 'subject'>, { subjectPrefix }: BucketState): string {
    return this.#form.decodeKey(subject.slice(subjectPrefix.length))
  }

  #event(message: StoredMessage, state: BucketState): ListEvent<T> {
    const key = this.#key(message, state)
    const version = String(message.seq)
    if (message.isDelete) return { type: 'delete', key, version }
    try {
      return { type: 'put', key, object: this.#codec.decode(Buffer.from(message.data), key), version }
    } catch (error) {
      return { type: 'invalid', key, error, version }
    }
  }
}

/** Changes if the connected server or the leader of the stream is another, or was started again. */
function serverOf(session: Session, { leader }: BucketState): string {
  return `${session.serverId} ${leader}`
}
