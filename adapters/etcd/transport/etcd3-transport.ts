import { messageOf, OptionError } from '../../../src/contract/errors.js'
import type { EtcdClient } from './etcd-client.js'
import { isCompacted, isTokenError } from './etcd-errors.js'
import {
  createWatch,
  type Message,
  RANGE_RESPONSE,
  REQUEST_PROGRESS,
  STATUS_RESPONSE,
  TXN_RESPONSE,
  WATCH_RESPONSE,
} from './etcd-messages.js'
import type { Call, Connection, Transport, WatchListener, WatchStream } from './transport.js'

/** The maximum size of a list page, in bytes: half of the client's default limit. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024

export function etcd3Transport(client: EtcdClient, call = 'etcdSource'): Transport {
  const ask = <V>(begin: (options: object) => Promise<object>, { of }: Message<V>): Call<V> =>
    callOf((options) => begin(options).then(of, refuseClosed))
  // No retry can succeed.
  const refuseClosed = (error: unknown): never => {
    if (!/client was already closed/.test(messageOf(error))) throw error
    const message = `${call}: option "client" is closed; stop the informer before you close its Etcd3`
    throw new OptionError(message, { option: 'client', cause: error })
  }
  const connection: Connection = {
    endpoint: 'etcd',
    range: (request) => ask((options) => client.kv.range(request, options), RANGE_RESPONSE),
    txn: (request) => ask((options) => client.kv.txn(request, options), TXN_RESPONSE),
    status: () => ask((options) => client.maintenance.status(options), STATUS_RESPONSE),
    watch: async (request, requireLeader) => {
      const opened = losses.get(client) ?? 0
      const options = requireLeader ? { interceptors: [withLeader] } : {}
      const duplex = (await client.watchClient.watch(options).catch(refuseClosed)) as Duplex
      const stream = streamOf(duplex, () => {
        const count = losses.get(client) ?? 0
        if (count === opened) losses.set(client, count + 1)
        return count === opened
      })
      duplex.write(createWatch(request))
      return stream
    },
    // The sockets of the client are not accessible. Large messages come in fragments instead.
    received: () => undefined,
    close: () => {},
  }
  return { endpoints: 1, maxAnswerBytes: MAX_ANSWER_BYTES, hasFragments: true, connect: async () => connection }
}

/** The number of resets of a client's connections; shared by all sources of the client. */
const losses = new WeakMap<EtcdClient, number>()

/** gRPC's status of a response that did not arrive in time: the client closes its connection. */
const DEADLINE_EXCEEDED = 4
/** gRPC's status that the client neither retries nor counts as a failure of the host. */
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

function withKnownStatus(call: InterceptedCall): InterceptedCall {
  return startedBy(call, (start, metadata, listener) =>
    start(metadata, {
      onReceiveMetadata: (value) => listener?.onReceiveMetadata?.(value),
      onReceiveMessage: (value) => listener?.onReceiveMessage?.(value),
      onReceiveStatus: (status) => listener?.onReceiveStatus?.(knownStatus(status)),
    }),
  )
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

function refused(call: InterceptedCall): InterceptedCall {
  return startedBy(call, (start, metadata, listener) => {
    start(metadata, listener)
    call.cancelWithStatus(FAILED_PRECONDITION, 'no longer wanted')
  })
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

/** `isFirstLoss`: whether this stream is the first one that reports its connection as dead. */
function streamOf(duplex: Duplex, isFirstLoss: () => boolean): WatchStream {
  let ending: { readonly error: unknown } | undefined
  let listener: WatchListener | undefined
  const end = (error?: unknown): void => {
    if (ending !== undefined) return
    ending = { error }
    listener?.ended(error)
  }
  // What the client itself does about an error of the stream: it drops its connections, and counts a failure of the host.
  // A reset ends all streams of a client at once: together they would open its circuit breaker, for 5 s and longer.
  const clientListeners = duplex.listeners('error')
  duplex.removeAllListeners('error')
  duplex.on('error', end)
  duplex.on('end', () => end())
  return {
    listen: (to) => {
      listener = to
      duplex.on('data', (message) => to.message(WATCH_RESPONSE.of(message)))
      if (ending !== undefined) to.ended(ending.error)
    },
    requestProgress: () => void duplex.write(REQUEST_PROGRESS),
    pause: () => void duplex.pause(),
    resume: () => void duplex.resume(),
    cancel: (reason) => {
      // The client notices no dead connection by itself, and its next calls would wait on it.
      if (reason === 'lost' && ending === undefined && isFirstLoss()) {
        const error = Object.assign(new Error('no response'), { code: DEADLINE_EXCEEDED })
        for (const each of clientListeners) if (typeof each === 'function') each(error)
      }
      duplex.end()
      duplex.cancel()
    },
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
  return startedBy(next(options), (start, metadata, listener) => {
    const own = metadata.clone() // The client uses the other metadata object for all of its calls.
    own.set('hasleader', 'true')
    start(own, listener)
  })
}

type Start = InterceptedCall['start']

function startedBy(call: InterceptedCall, by: (start: Start, ...args: Parameters<Start>) => void): InterceptedCall {
  const start = call.start.bind(call)
  call.start = (metadata, listener) => by(start, metadata, listener)
  return call
}
