import { SourceError } from '../../src/contract/errors.js'
import { RelayConflictError, type RelayStore, type TextChange } from '../../src/contract/relay-store.js'
import type { SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { assertPresent, checkOptions, isCount, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import { propertiesOf } from '../common/properties.js'
import { refused, unavailable } from '../common/source-errors.js'
import { type NewMessage, writeAtomically } from './atomic-write.js'
import { assertCurrent, type BucketState, createBucket, readMessage, readState } from './connection/bucket-stream.js'
import type { NatsClient } from './connection/nats-client.js'
import { type Session, sessionOf } from './connection/session.js'
import { CLIENT_EXAMPLE, isClient, isToken } from './nats-options.js'
import { bucketSource } from './nats-source.js'
import { formatVersion, parseVersion } from './nats-version.js'
import { decodeRelayKey, encodeRelayKey } from './relay-keys.js'

/**
 * The options of `natsRelayStore`.
 *
 * @example
 * ```ts
 * import { natsRelayStore } from 'listwatch/nats'
 * import { serveRelay } from 'listwatch/relay'
 *
 * // The bucket `relay-orders` is created on three servers. Default: on one.
 * const store = natsRelayStore({ client: connection, relay: 'orders', streamReplicas: 3, timeoutMs: 5_000 }) // Default: 10 000.
 * const relay = serveRelay(orders, store)
 * ```
 */
export interface NatsRelayStoreOptions {
  /** A `NatsConnection` of the package @nats-io/transport-node 3.x. The store never closes it. */
  readonly client: NatsClient
  /** The name of the relay: letters, digits, "-" and "_". Its bucket is `relay-<name>`, which the store creates. */
  readonly relay: string
  /** How many servers of a cluster keep the bucket, when the store creates it. Default 1; 3 for a cluster of three. */
  readonly streamReplicas?: number
  /** The JetStream domain of the bucket. Default: that of the connection. */
  readonly domain?: string
  /** The longest silence of a healthy watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /** A request without a response counts as lost after this many milliseconds. Default 10 000. */
  readonly timeoutMs?: number
}

/** The most messages of an atomic batch, which a server accepts by default. */
const MAX_CHANGES = 1_000
const MAX_BYTES = 8 * 1024 * 1024
const DEFAULT_PAYLOAD = 1024 * 1024
/** What the headers of a message may need of the maximum payload. */
const HEADER_BYTES = 1_024
/** Servers accept protocol lines of 4 096 bytes. */
const MAX_SUBJECT = 3_500
/** A follower that is further behind compares all keys. */
const MARKER_TTL = '1h'
/** How often followers look for markers that have expired. */
const VERIFY_MS = 60_000
const ABSENT = formatVersion({ created: '0', seq: 0, newest: 0, time: '0' })
const READ_TRIES = 20

const optionChecks: Readonly<Record<keyof NatsRelayStoreOptions, OptionCheck>> = {
  client: isClient,
  relay: isToken,
  streamReplicas: isCount,
  domain: isToken,
  heartbeatMs: isPositive,
  timeoutMs: isPositive,
}

/**
 * Returns the store of a relay in NATS JetStream 2.12 or later: a bucket. Each write is one atomic batch of messages,
 * which followers receive as a whole. It is created on first use.
 * @returns The store, for `serveRelay`, `relaySource` and `relayCache`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node'
 * import { natsRelayStore } from 'listwatch/nats'
 * import { serveRelay } from 'listwatch/relay'
 *
 * const connection = await connect({ servers: 'nats-0:4222', maxReconnectAttempts: -1 })
 * serveRelay(orders, natsRelayStore({ client: connection, relay: 'orders', streamReplicas: 3 }))
 * ```
 */
export function natsRelayStore(options: NatsRelayStoreOptions): RelayStore {
  checkOptions('natsRelayStore', options, optionChecks)
  assertPresent('natsRelayStore', options, 'client', CLIENT_EXAMPLE)
  assertPresent('natsRelayStore', options, 'relay', "'orders'")
  const { client, relay, streamReplicas = 1, ...rest } = options
  const bucket = `relay-${relay}`
  const name = `nats:${bucket}`
  const payload = propertiesOf(propertiesOf(client)['info'])['max_payload']
  /** The last message of the bucket at a position. */
  let last: { readonly position: Version; readonly subject: string } | undefined

  const within = async <R>(context: SourceContext, work: (session: Session) => Promise<R>): Promise<R> => {
    context.signal.throwIfAborted()
    const session = sessionOf(options, context)
    try {
      return await work(session)
    } finally {
      session.close()
    }
  }

  /** Throws if the bucket removes keys by itself. No sequence shows that, so the relay would not write them again. */
  const stateIn = async (session: Session): Promise<BucketState> => {
    const state = await readState(session, bucket)
    if (state.removes === undefined) return state
    const remedy = `change it, or delete the bucket: then the relay creates it`
    throw refused(`the bucket ${bucket} removes keys by itself, because its ${state.removes}; ${remedy}`)
  }

  const stateIfAny = async (session: Session): Promise<BucketState | undefined> => {
    try {
      return await stateIn(session)
    } catch (error) {
      if (error instanceof SourceError && error.code === 'NOT_FOUND') return undefined
      throw error
    }
  }

  const create = async (session: Session): Promise<BucketState> => {
    await createBucket(session, bucket, streamReplicas, { allow_msg_ttl: true, allow_atomic: true })
    return await stateIn(session)
  }

  /** Returns what throws for a message that the bucket does not take; undefined if the bucket has no limit. */
  const sizeCheck = (changes: readonly TextChange[], { maxMessageBytes: limit }: BucketState) => {
    if (limit === undefined) return undefined
    return (at: number, bytes: number): void => {
      if (bytes <= limit) return
      const key = changes[at]?.key.slice(0, 40) ?? ''
      const remedy = 'raise the limit of its stream: until then the relay writes nothing'
      throw refused(
        `the message of the key "${key}" has ${bytes} bytes, and the bucket ${bucket} takes ${limit} (max_msg_size); ${remedy}`,
      )
    }
  }

  const subjectOf = (key: string): string => {
    const subject = `$KV.${bucket}.${encodeRelayKey(key)}`
    if (subject.length <= MAX_SUBJECT) return subject
    const remedy = 'delete it in the source, or exclude it from the mirror: until then the relay writes nothing'
    throw refused(`the key "${key.slice(0, 40)}…" is too long for a subject of NATS; ${remedy}`)
  }

  const messageOf = ({ key, text }: TextChange): NewMessage => {
    const subject = subjectOf(key)
    if (text !== undefined) return { subject, payload: text, headers: {} }
    return { subject, payload: '', headers: { 'KV-Operation': 'DEL', 'Nats-TTL': MARKER_TTL } }
  }

  /**
   * The messages of a write at the position `after`. A purge leaves the sequence. So a message that replaces the last
   * one of the bucket is refused if that is gone.
   */
  const messagesOf = (changes: readonly TextChange[], after: Version, seq: number): readonly NewMessage[] => {
    const replaced = last?.position === after ? last.subject : undefined
    return changes.map((change) => {
      const message = messageOf(change)
      if (message.subject !== replaced) return message
      return { ...message, headers: { ...message.headers, 'Nats-Expected-Last-Subject-Sequence': String(seq) } }
    })
  }

  return {
    name,
    maxChanges: MAX_CHANGES,
    maxBytes: Math.min(MAX_BYTES, typeof payload === 'number' ? payload : DEFAULT_PAYLOAD) - HEADER_BYTES,
    collection: bucketSource<string>(
      { ...rest, client, bucket, codec: 'string', verifyMs: VERIFY_MS },
      { decodeKey: decodeRelayKey, searchesFirst: true },
    ),
    read: (key, context) =>
      within(context, async (session) => {
        for (let tries = 0; tries < READ_TRIES; tries++) {
          const state = await stateIfAny(session)
          if (state === undefined) return { text: undefined, position: ABSENT }
          assertCurrent(state)
          const found = await readMessage(session, bucket, { last_by_subj: subjectOf(key) })
          // The last message of the key was also its last one at that position, unless its sequence is later.
          if (found !== undefined && found.seq > state.lastSeq) continue
          return { text: found === undefined || found.isDelete ? undefined : found.text, position: positionOf(state) }
        }
        throw unavailable('it is written faster than it can be read')
      }),
    write: async (changes, after, context) => {
      const { seq } = parseVersion(after)
      return await within(context, async (session) => {
        const state = after === ABSENT ? await create(session) : await stateIfAny(session)
        if (state === undefined) throw new RelayConflictError(`${name} was removed`)
        // A bucket that was removed, purged or put back may be at the same sequence.
        const now = positionOf(state)
        if (after !== ABSENT && now !== after) throw new RelayConflictError(`${name} is at ${now}, not at ${after}`)
        const messages = messagesOf(changes, after, seq)
        last = undefined // If the server refuses this write, it may be gone.
        const lastSeq = await writeAtomically(session, messages, seq, sizeCheck(changes, state))
        const stored = await readMessage(session, bucket, { seq: lastSeq })
        const time = stored?.time ?? '0'
        const position = formatVersion({ created: state.created, seq: lastSeq, newest: lastSeq, time })
        last = { position, subject: messages.at(-1)?.subject ?? '' }
        return position
      })
    },
    close: async () => {}, // The connection is the program's own.
  }
}

/** A stream that was purged is at another position than before, though its sequence is the same. */
function positionOf({ created, lastSeq, lastTime, isEmpty }: BucketState): Version {
  return formatVersion({ created, seq: lastSeq, newest: isEmpty ? 0 : lastSeq, time: isEmpty ? '0' : lastTime })
}
