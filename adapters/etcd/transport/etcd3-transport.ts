import { messageOf, OptionError } from '../../../src/contract/errors.js'
import type { EtcdClient } from './etcd-client.js'
import { isCompacted, isTokenError } from './etcd-errors.js'
import {
  createWatch,
  type EtcdEvent,
  type Header,
  type KeyValue,
  NO_HEADER,
  type RangeRequest,
  type RangeResponse,
  REQUEST_PROGRESS,
  type ServerStatus,
  type TxnRequest,
  type TxnResponse,
  type WatchRequest,
  type WatchResponse,
} from './etcd-messages.js'
import type { Call, Connection, Transport, WatchListener, WatchStream } from './transport.js'

/** The maximum size of a list page, in bytes: half of the client's default limit. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024

/**
 * Uses the hosts, credentials and policies of the user's client. `call`: the function that the user called, for errors.
 */
export function etcd3Transport(client: EtcdClient, call = 'etcdSource'): Transport {
  return {
    endpoints: 1,
    maxAnswerBytes: MAX_ANSWER_BYTES,
    hasFragments: true,
    connect: async () => new Etcd3Connection(client, call),
  }
}

/** The number of resets of a client's connections; shared by all sources of the client. */
const losses = new WeakMap<EtcdClient, number>()

class Etcd3Connection implements Connection {
  readonly endpoint = 'etcd'
  readonly #client: EtcdClient
  readonly #refuseClosed: (error: unknown) => never

  constructor(client: EtcdClient, call: string) {
    this.#client = client
    this.#refuseClosed = (error) => refuseClosed(error, call)
  }

  range(request: RangeRequest): Call<RangeResponse> {
    return this.#call((options) => this.#client.kv.range(request, options).then(asRangeResponse))
  }

  txn(request: TxnRequest): Call<TxnResponse> {
    return this.#call((options) => this.#client.kv.txn(request, options).then(asTxnResponse))
  }

  status(): Call<ServerStatus> {
    return this.#call((options) => this.#client.maintenance.status(options).then(asStatus))
  }

  async watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream> {
    const options = requireLeader ? { interceptors: [withLeader] } : {}
    const opened = losses.get(this.#client) ?? 0
    const duplex = (await this.#client.watchClient.watch(options).catch(this.#refuseClosed)) as Duplex
    const stream = new Etcd3Stream(duplex, () => {
      const count = losses.get(this.#client) ?? 0
      if (count === opened) losses.set(this.#client, count + 1)
      return count === opened
    })
    duplex.write(createWatch(request))
    return stream
  }

  #call<V>(begin: (options: object) => Promise<V>): Call<V> {
    return callOf((options) => begin(options).catch(this.#refuseClosed))
  }

  /** The sockets of the client are not accessible. Large messages come in fragments instead. */
  received(): undefined {
    return undefined
  }

  close(): void {}
}

/** gRPC's status of a response that did not arrive in time: the client closes its connection. */
const DEADLINE_EXCEEDED = 4
/**
 * gRPC's status of a request that must not be sent: the client neither retries it nor counts it as a failure of the
 * host.
 */
const FAILED_PRECONDITION = 9
/** gRPC's status of a read at a compacted revision. */
const OUT_OF_RANGE = 11

/**
 * A call that is no longer wanted is not cancelled: to the client a cancelled call means a broken host. A call that is
 * lost ends with a timeout, so that the client, which notices no dead connection by itself, makes a new one. The
 * client's own retries of a lost call are refused: their responses would fill the line, and delay each later request.
 */
function callOf<V>(begin: (options: object) => Promise<V>): Call<V> {
  let current: InterceptedCall | undefined
  let isLost = false
  const capture = (options: object, next: (options: object) => InterceptedCall): InterceptedCall => {
    if (isLost) return refused(next(options))
    current = withKnownStatus(next(options))
    return current
  }
  const response = begin({ interceptors: [capture] })
  response.catch(() => {})
  const cancel = (reason: 'unwanted' | 'lost'): void => {
    if (reason === 'unwanted') return
    isLost = true
    current?.cancelWithStatus(DEADLINE_EXCEEDED, 'no response')
  }
  return { response, cancel }
}

/** A call whose result has a status that the client understands. */
function withKnownStatus(call: InterceptedCall): InterceptedCall {
  const start = call.start.bind(call)
  call.start = (metadata, listener) =>
    start(metadata, {
      onReceiveMetadata: (value) => listener?.onReceiveMetadata?.(value),
      onReceiveMessage: (value) => listener?.onReceiveMessage?.(value),
      onReceiveStatus: (status) => listener?.onReceiveStatus?.(knownStatus(status)),
    })
  return call
}

/**
 * The grpc-proxy of etcd sends "has been compacted" as UNKNOWN, which the client counts as a failure of the host: its
 * circuit breaker would then also reject the following calls. The result has the status that etcd itself sends.
 *
 * With JWT, etcd refuses each token that is older than the last change of a user or role. The client requests another
 * token only after the other text.
 */
function knownStatus(status: Status): Status {
  if (isCompacted(status.details)) return { ...status, code: OUT_OF_RANGE }
  return isTokenError(status.details) ? { ...status, details: 'etcdserver: invalid auth token' } : status
}

/** A call that ends as soon as it is started. */
function refused(call: InterceptedCall): InterceptedCall {
  const start = call.start.bind(call)
  call.start = (metadata, listener) => {
    start(metadata, listener)
    call.cancelWithStatus(FAILED_PRECONDITION, 'no longer wanted')
  }
  return call
}

/** Rejects with an OptionError if the owner of the client closed it: no retry can succeed. */
function refuseClosed(error: unknown, call: string): never {
  if (!/client was already closed/.test(messageOf(error))) throw error
  const message = `${call}: option "client" is closed; stop the informer before you close its Etcd3`
  throw new OptionError(message, { option: 'client', cause: error })
}

interface Duplex {
  listeners(event: 'error'): readonly unknown[]
  removeAllListeners(event: 'error'): unknown
  on(event: 'data', listener: (message: unknown) => void): unknown
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown
  write(message: object): unknown
  end(): unknown
  pause(): unknown
  resume(): unknown
  cancel(): unknown
}

class Etcd3Stream implements WatchStream {
  readonly #duplex: Duplex
  /** Whether this stream is the first one that reports its connection as dead. */
  readonly #isFirstLoss: () => boolean
  /**
   * What the client itself does about an error of the stream: it drops its connections, and counts a failure of the
   * host.
   */
  readonly #clientListeners: readonly unknown[]
  #ending: { readonly error: unknown } | undefined
  #listener: WatchListener | undefined

  constructor(duplex: Duplex, isFirstLoss: () => boolean) {
    this.#duplex = duplex
    this.#isFirstLoss = isFirstLoss
    // A reset ends all streams of a client at once: together they would open its circuit breaker, for 5 s and longer.
    this.#clientListeners = duplex.listeners('error')
    duplex.removeAllListeners('error')
    duplex.on('error', (error) => this.#end(error))
    duplex.on('end', () => this.#end(undefined))
  }

  listen(to: WatchListener): void {
    this.#listener = to
    this.#duplex.on('data', (message) => to.message(asWatchResponse(message)))
    if (this.#ending !== undefined) to.ended(this.#ending.error)
  }

  requestProgress(): void {
    this.#duplex.write(REQUEST_PROGRESS)
  }

  pause(): void {
    this.#duplex.pause()
  }

  resume(): void {
    this.#duplex.resume()
  }

  cancel(reason: 'unwanted' | 'lost'): void {
    // The client notices no dead connection by itself, and its next calls would wait on it.
    if (reason === 'lost' && this.#ending === undefined && this.#isFirstLoss()) {
      const error = Object.assign(new Error('no response'), { code: DEADLINE_EXCEEDED })
      for (const listener of this.#clientListeners) if (typeof listener === 'function') listener(error)
    }
    this.#duplex.end()
    this.#duplex.cancel()
  }

  #end(error: unknown): void {
    if (this.#ending !== undefined) return
    this.#ending = { error }
    this.#listener?.ended(error)
  }
}

interface Metadata {
  clone(): Metadata
  set(key: string, value: string): void
}

interface ResponseListener {
  onReceiveMetadata?(metadata: Metadata): void
  onReceiveMessage?(message: unknown): void
  onReceiveStatus?(status: Status): void
}

interface Status {
  readonly code: number
  readonly details: string
}

interface InterceptedCall {
  start(metadata: Metadata, listener?: ResponseListener): void
  cancelWithStatus(status: number, details: string): void
}

/** Adds to the metadata that a member without a leader ends the watch, instead of being silent. */
function withLeader(options: object, next: (options: object) => InterceptedCall): InterceptedCall {
  const call = next(options)
  const start = call.start.bind(call)
  call.start = (metadata, listener) => {
    const own = metadata.clone() // The client uses the other metadata object for all of its calls.
    own.set('hasleader', 'true')
    start(own, listener)
  }
  return call
}

// The messages of the client's decoder: 64-bit numbers are strings, and the names are etcd's.

interface Etcd3Header {
  readonly cluster_id: string
  readonly revision: string
  readonly raft_term: string
}

interface Etcd3KeyValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly create_revision: string
  readonly mod_revision: string
}

function asRangeResponse(answer: unknown): RangeResponse {
  const { header, kvs, more, count } = answer as {
    readonly header: Etcd3Header
    readonly kvs: readonly Etcd3KeyValue[]
    readonly more: boolean
    readonly count: string
  }
  return { header: asHeader(header), kvs: kvs.map(asKeyValue), hasMore: more, count: Number(count) }
}

function asTxnResponse(answer: unknown): TxnResponse {
  const { header, succeeded, responses } = answer as {
    readonly header: Etcd3Header
    readonly succeeded: boolean
    readonly responses: readonly { readonly response_range?: object | null }[]
  }
  const ranges = responses.flatMap(({ response_range: range }) =>
    range == null ? [] : [asRangeResponse({ header, ...range })],
  )
  return { header: asHeader(header), hasSucceeded: succeeded, ranges }
}

function asStatus(answer: unknown): ServerStatus {
  const { version, raftIndex } = answer as { readonly version: string; readonly raftIndex: string }
  return { version, raftIndex: Number(raftIndex) }
}

function asWatchResponse(message: unknown): WatchResponse {
  const response = message as {
    readonly header: Etcd3Header | null
    readonly created: boolean
    readonly canceled: boolean
    readonly compact_revision: string
    readonly cancel_reason: string
    readonly fragment: boolean
    readonly events: readonly { readonly type: 'Put' | 'Delete'; readonly kv: Etcd3KeyValue }[]
  }
  return {
    header: asHeader(response.header),
    isCreated: response.created,
    isCanceled: response.canceled,
    compactRevision: Number(response.compact_revision),
    cancelReason: response.cancel_reason,
    isFragment: response.fragment,
    events: response.events.map(({ type, kv }): EtcdEvent => ({ isDelete: type === 'Delete', kv: asKeyValue(kv) })),
  }
}

function asHeader(header: Etcd3Header | null): Header {
  if (header === null) return NO_HEADER
  return {
    clusterId: BigInt(header.cluster_id).toString(16),
    revision: Number(header.revision),
    term: Number(header.raft_term),
  }
}

function asKeyValue({ key, value, create_revision, mod_revision }: Etcd3KeyValue): KeyValue {
  return { key, value, createRevision: Number(create_revision), modRevision: Number(mod_revision) }
}
