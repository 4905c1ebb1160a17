import { OptionError, SourceError } from '../../src/contract/errors.js'
import {
  RelayConflictError,
  type RelayStore,
  type StoredText,
  type TextChange,
} from '../../src/contract/relay-store.js'
import type { SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { checkOptions, isCount, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import { propertiesOf } from '../common/properties.js'
import { unavailable } from '../common/source-errors.js'
import { type NewMessage, writeAtomically } from './atomic-write.js'
import { assertCurrent, type BucketState, createBucket, readMessage, readState } from './connection/bucket-stream.js'
import type { NatsClient } from './connection/nats-client.js'
import { type Session, sessionOf } from './connection/session.js'
import { isClient, isToken, type NatsKvSource } from './nats-options.js'
import { BucketSource } from './nats-source.js'
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
  for (const option of ['client', 'relay'] as const) {
    if (options?.[option] === undefined)
      throw new OptionError(`natsRelayStore: option "${option}" is required`, { option })
  }
  return new NatsRelayStore(options)
}

class NatsRelayStore implements RelayStore {
  readonly name: string
  readonly collection: NatsKvSource<string>
  readonly maxChanges: number = MAX_CHANGES
  readonly maxBytes: number
  readonly #options: NatsRelayStoreOptions
  readonly #bucket: string
  /** The last message of the bucket at a position. */
  #last: { readonly position: Version; readonly subject: string } | undefined

  constructor(options: NatsRelayStoreOptions) {
    const { relay: name, streamReplicas: _, ...own } = options
    this.#options = options
    this.#bucket = `relay-${name}`
    this.name = `nats:${this.#bucket}`
    const payload = propertiesOf(propertiesOf(options.client)['info'])['max_payload']
    this.maxBytes = Math.min(MAX_BYTES, typeof payload === 'number' ? payload : DEFAULT_PAYLOAD) - HEADER_BYTES
    this.collection = new BucketSource<string>(
      { ...own, bucket: this.#bucket, codec: 'string', verifyMs: VERIFY_MS },
      { decodeKey: decodeRelayKey, searchesFirst: true },
    )
  }

  async read(key: string, context: SourceContext): Promise<StoredText> {
    return await this.#within(context, async (session) => {
      for (let tries = 0; tries < READ_TRIES; tries++) {
        const state = await this.#stateIn(session)
        if (state === undefined) return { text: undefined, position: ABSENT }
        assertCurrent(state)
        const found = await readMessage(session, this.#bucket, { last_by_subj: this.#subject(key) })
        // The last message of the key was also its last one at that position, unless its sequence is later.
        if (found !== undefined && found.seq > state.lastSeq) continue
        return { text: found === undefined || found.isDelete ? undefined : found.text, position: positionOf(state) }
      }
      throw unavailable('it is written faster than it can be read')
    })
  }

  async write(changes: readonly TextChange[], after: Version, context: SourceContext): Promise<Version> {
    const { seq } = parseVersion(after)
    return await this.#within(context, async (session) => {
      const state = after === ABSENT ? await this.#create(session) : await this.#stateIn(session)
      if (state === undefined) throw new RelayConflictError(`${this.name} was removed`)
      // A bucket that was removed, purged or put back may be at the same sequence.
      const now = positionOf(state)
      if (after !== ABSENT && now !== after) throw new RelayConflictError(`${this.name} is at ${now}, not at ${after}`)
      const messages = this.#messages(changes, after, seq)
      this.#last = undefined // If the server refuses this write, it may be gone.
      const last = await writeAtomically(session, messages, seq, this.#sizeCheck(changes, state))
      const stored = await readMessage(session, this.#bucket, { seq: last })
      const position = formatVersion({ created: state.created, seq: last, newest: last, time: stored?.time ?? '0' })
      this.#last = { position, subject: messages.at(-1)?.subject ?? '' }
      return position
    })
  }

  async close(): Promise<void> {} // The connection is the program's own.

  async #within<R>(context: SourceContext, work: (session: Session) => Promise<R>): Promise<R> {
    context.signal.throwIfAborted()
    const session = sessionOf(this.#options, context)
    try {
      return await work(session)
    } finally {
      session.close()
    }
  }

  async #stateIn(session: Session): Promise<BucketState | undefined> {
    try {
      return this.#keeping(await readState(session, this.#bucket))
    } catch (error) {
      if (error instanceof SourceError && error.code === 'NOT_FOUND') return undefined
      throw error
    }
  }

  async #create(session: Session): Promise<BucketState> {
    await createBucket(session, this.#bucket, this.#options.streamReplicas ?? 1, {
      allow_msg_ttl: true,
      allow_atomic: true,
    })
    return this.#keeping(await readState(session, this.#bucket))
  }

  /** Throws if the bucket removes keys by itself. No sequence shows that, so the relay would not write them again. */
  #keeping(state: BucketState): BucketState {
    if (state.removes === undefined) return state
    const remedy = `change it, or delete the bucket: then the relay creates it`
    const message = `the bucket ${this.#bucket} removes keys by itself, because its ${state.removes}; ${remedy}`
    throw new SourceError(message, { code: 'PROTOCOL' })
  }

  /** Returns what throws for a message that the bucket does not take; undefined if the bucket has no limit. */
  #sizeCheck(
    changes: readonly TextChange[],
    { maxMessageBytes: limit }: BucketState,
  ): ((at: number, bytes: number) => void) | undefined {
    if (limit === undefined) return undefined
    return (at, bytes) => {
      if (bytes <= limit) return
      const key = changes[at]?.key.slice(0, 40) ?? ''
      const remedy = 'raise the limit of its stream: until then the relay writes nothing'
      const message = `the message of the key "${key}" has ${bytes} bytes, and the bucket ${this.#bucket} takes ${limit} (max_msg_size); ${remedy}`
      throw new SourceError(message, { code: 'PROTOCOL' })
    }
  }

  #subject(key: string): string {
    const subject = `$KV.${this.#bucket}.${encodeRelayKey(key)}`
    if (subject.length <= MAX_SUBJECT) return subject
    const remedy = 'delete it in the source, or exclude it from the mirror: until then the relay writes nothing'
    throw new SourceError(`the key "${key.slice(0, 40)}…" is too long for a subject of NATS; ${remedy}`, {
      code: 'PROTOCOL',
    })
  }

  /**
   * The messages of a write at the position `after`. A purge leaves the sequence. So a message that replaces the last
   * one of the bucket is refused if that is gone.
   */
  #messages(changes: readonly TextChange[], after: Version, seq: number): readonly NewMessage[] {
    const replaced = this.#last?.position === after ? this.#last.subject : undefined
    return changes.map((change) => {
      const message = this.#message(change)
      if (message.subject !== replaced) return message
      return { ...message, headers: { ...message.headers, 'Nats-Expected-Last-Subject-Sequence': String(seq) } }
    })
  }

  #message({ key, text }: TextChange): NewMessage {
    const subject = this.#subject(key)
    if (text !== undefined) return { subject, payload: text, headers: {} }
    return { subject, payload: '', headers: { 'KV-Operation': 'DEL', 'Nats-TTL': MARKER_TTL } }
  }
}

/** A stream that was purged is at another position than before, though its sequence is the same. */
function positionOf({ created, lastSeq, lastTime, isEmpty }: BucketState): Version {
  return formatVersion({ created, seq: lastSeq, newest: isEmpty ? 0 : lastSeq, time: isEmpty ? '0' : lastTime })
}
