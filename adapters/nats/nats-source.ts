import { DEFAULT_HEARTBEAT_MS, type ListContext, type ListEvent } from '../../src/contract/source.js'
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
  return bucketSource<T>(options, PLAIN)
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

export function bucketSource<T>(options: NatsKvSourceOptions<T>, form: BucketForm): NatsKvSource<T> {
  const { bucket, codec = 'json', domain = '', subjects = ALL, heartbeatMs = DEFAULT_HEARTBEAT_MS } = options
  const filters = [subjects].flat()
  const isWhole = filters.includes(ALL)
  const values = new ValueCodec<T>(codec, 'string')
  const listedAt = new WeakMap<object, Listed>()
  const knownTo = new WeakMap<object, Known>()

  const keyOf = ({ subject }: Pick<StoredMessage, 'subject'>, { subjectPrefix }: BucketState): string =>
    form.decodeKey(subject.slice(subjectPrefix.length))
  const eventOf = (message: StoredMessage, state: BucketState): ListEvent<T> => {
    const key = keyOf(message, state)
    const version = String(message.seq)
    if (message.isDelete) return { type: 'delete', key, version }
    // Two subjects that are not UTF-8 may be one text.
    if (message.subject.includes('\ufffd'))
      return { type: 'invalid', key, error: new TypeError('the key is not UTF-8, or has U+FFFD'), version }
    try {
      return { type: 'put', key, object: values.decode(Buffer.from(message.data), key), version }
    } catch (error) {
      return { type: 'invalid', key, error, version }
    }
  }

  const stateOf = async (session: Session): Promise<BucketState> => {
    const state = await readState(session, bucket)
    await assertOwnSubjects(session, bucket, state)
    return state
  }

  const consumerOptions = (session: Session, { subjectPrefix }: BucketState): Omit<ConsumerOptions, 'pullSize'> => {
    const all = filters.map((filter) => subjectPrefix + filter)
    const lastSeq = async (): Promise<number> => {
      if (isWhole) return (await readState(session, bucket)).lastSeq
      return Math.max(...(await Promise.all(all.map((filter) => readLastSeq(session, bucket, filter)))))
    }
    const [stream, beatMs] = [streamOf(bucket), Math.ceil(heartbeatMs / 2)]
    return { session, stream, filters: all, heartbeatMs: beatMs, lastSeq, isExact: isWhole }
  }

  /** The newest message of each subject, and what was written while they were read. */
  async function* everything(
    session: Session,
    state: BucketState,
    { pageSize }: ListContext,
    isHeadersOnly: boolean,
  ): ReturnType<Consumer['through']> {
    const consumer = await Consumer.create({ ...consumerOptions(session, state), isHeadersOnly, pullSize: pageSize })
    try {
      await assertSameStream(session, bucket, state)
      yield* consumer.through()
    } finally {
      consumer.close()
    }
  }

  const searchFor = (
    keys: KnownKeys,
    state: BucketState,
    consuming: Omit<ConsumerOptions, 'pullSize'>,
    onFound: () => void,
  ): RemovalSearch => {
    const { session, filters: all } = consuming
    return new RemovalSearch({
      session,
      bucket,
      state,
      keys,
      onFound,
      isWhole,
      everyMs: options.verifyMs ?? VERIFY_MS,
      count: async () => {
        const counts = all.map((filter) => readSubjectCount(session, bucket, filter))
        return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
      },
      consumer: () => Consumer.create({ ...consuming, isHeadersOnly: true, pullSize: PULL_SIZE }),
    })
  }

  const knownAt = (mirror: object | undefined, version: Version): Known | undefined => {
    if (mirror === undefined) return undefined
    const listed = listedAt.get(mirror)
    if (listed?.version === version) {
      listedAt.delete(mirror)
      knownTo.set(mirror, listed)
    }
    const known = knownTo.get(mirror)
    known?.recent.settle(version)
    return known
  }

  /** Throws `EPOCH_CHANGED` for another history. It is `VERSION_EXPIRED` if nothing proves either. */
  const continuityOf = async (
    session: Session,
    state: BucketState,
    version: NatsVersion,
    known: Known | undefined,
  ): Promise<Continuity> => {
    const continuity = await assertContinues(session, bucket, state, version)
    if (continuity === 'proved' || known === undefined) return continuity
    const { recent } = known
    const reading = { from: recent.from, isHeadersOnly: true, isOnce: true, pullSize: PULL_SIZE }
    const consumer = await Consumer.create({ ...consumerOptions(session, state), ...reading })
    try {
      await assertSameStream(session, bucket, state)
      await recent.assertContinues(consumer, version.seq, (subject) => readLastSeq(session, bucket, subject))
    } finally {
      consumer.close()
    }
    return continuity
  }

  return {
    name: `nats:${bucket}${isWhole ? '' : `:${filters.join(',')}`}`,
    selection: JSON.stringify([domain, bucket, filters, String(codec)]),
    heartbeatMs,
    async *list(context) {
      const session = sessionOf(options, context)
      try {
        const state = await stateOf(session)
        // A list is judged as a resumed watch is: another history must not pass for a later state.
        if (context.floor !== undefined) {
          const known = knownAt(context.mirror, context.floor)
          await continuityOf(session, state, parseVersion(context.floor), known).catch((error: unknown) => {
            if (!isExpired(error)) throw error
          })
        }
        const server = serverOf(session, state)
        const keys = new KnownKeys()
        const recent = new RecentMessages()
        let newest: StoredMessage | undefined
        let position = 0
        for await (const page of everything(session, state, context, false)) {
          const events: ListEvent<T>[] = []
          for (const message of page.messages) {
            if (!message.isDelete || keys.has(message.subject)) events.push(eventOf(message, state))
            keys.expect([message])
            keys.settle([message])
            if (newest === undefined || message.seq > newest.seq) newest = message
          }
          recent.add(page.messages)
          position = Math.max(page.position, state.lastSeq) // What matches up to there has been read.
          yield { events }
        }
        const version = versionOf(state, position, newest)
        if (context.mirror !== undefined) listedAt.set(context.mirror, { version, keys, recent, server })
        yield { events: [], version }
      } finally {
        session.close()
      }
    },
    async *versions(context) {
      const session = sessionOf(options, context)
      try {
        const state = await stateOf(session)
        // A key may be deleted or written again while they are read.
        const found = new Map<string, string>()
        let newest: StoredMessage | undefined
        let position = 0
        for await (const page of everything(session, state, context, true)) {
          for (const message of page.messages) {
            const key = keyOf(message, state)
            if (message.isDelete) found.delete(key)
            else found.set(key, String(message.seq))
            if (newest === undefined || message.seq > newest.seq) newest = message
          }
          position = Math.max(page.position, state.lastSeq) // What matches up to there has been read.
          context.alive?.()
        }
        const keys = [...found].map(([key, version]) => ({ key, version }))
        yield { keys, version: versionOf(state, position, newest) }
      } finally {
        session.close()
      }
    },
    async *watch(context) {
      const { after, mirror, onProgressRequest, requestAudit, isUnconfirmed = false } = context
      const from = parseVersion(after)
      const known = knownAt(mirror, after)
      // The keys of a mirror that another process saved are not known: a delete whose marker is gone would be missed.
      if (known === undefined && isUnconfirmed) throw expired('its keys are not known to this process')
      const session = sessionOf(options, context)
      let consumer: Consumer | undefined
      try {
        const state = await stateOf(session)
        const continuity = await continuityOf(session, state, from, known)
        const consuming = consumerOptions(session, state)
        // Nothing between the newest message and the version matched: such a message is one of another history.
        const start = (continuity === 'proved' ? from.newest : from.seq) + 1
        consumer = await Consumer.create({ ...consuming, from: start, pullSize: PULL_SIZE })
        if (known === undefined) requestAudit?.('deletes whose markers are gone cannot be found for this mirror')
        else if (known.server !== serverOf(session, state))
          requestAudit?.('a server that crashed may have messages again that had been erased')
        if (known !== undefined) known.server = serverOf(session, state)
        await assertSameStream(session, bucket, state) // Else it reads another stream.
        const following = consumer
        const probe = (): void => {
          if (session.isOpen) following.probe()
        }
        onProgressRequest(probe)
        const search = known && searchFor(known.keys, state, consuming, probe)
        let { seq, newest, time } = from
        let version = after
        let aliveAt = session.clock.now()
        const { searchesFirst } = form
        const cut = new StateCut(session.clock, consuming.lastSeq, consuming.isExact)
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
          const isState = await cut.isWhole(delivered)
          if (isState) seq = Math.max(seq, delivered.position)
          const missing = (isState && search?.missing(seq)) || []
          if (!isState || (searchesFirst && search?.hasCompared === false)) {
            if (isState) await search?.begin(seq)
            if (session.clock.now() - aliveAt < heartbeatMs / 2) continue
            aliveAt = session.clock.now()
            yield { events: [], version } // A long catch-up is alive.
            continue
          }
          aliveAt = session.clock.now()
          const messages = held.take()
          const last = messages.at(-1)
          if (last !== undefined) [newest, time] = [last.seq, last.time]
          const events = messages.map((message) => eventOf(message, state))
          for (const subject of missing) events.push({ type: 'delete', key: keyOf({ subject }, state) })
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
    },
    head: async (context) => {
      const session = sessionOf(options, context)
      try {
        const state = await stateOf(session)
        assertCurrent(state)
        const { created, lastSeq } = state
        return formatVersion({ created, seq: lastSeq, newest: lastSeq, time: '0' })
      } finally {
        session.close()
      }
    },
    hasReached: includesMark,
  }
}

function versionOf({ created }: BucketState, seq: number, newest: StoredMessage | undefined): Version {
  return formatVersion({ created, seq, newest: newest?.seq ?? 0, time: newest?.time ?? '0' })
}

/** Changes if the connected server or the leader of the stream is another, or was started again. */
function serverOf(session: Session, { leader }: BucketState): string {
  return `${session.serverId} ${leader}`
}
