import type { ChannelCredentials, ClientDuplexStream, Metadata, ServiceError } from '@grpc/grpc-js'
import { systemClock } from '../../../src/contract/clock.js'
import { OptionError } from '../../../src/contract/errors.js'
import { isTokenError, statusOf } from './etcd-errors.js'
import {
  createWatch,
  encodeAuthenticate,
  encodeRange,
  encodeTxn,
  encodeWatch,
  type Message,
  RANGE_PART,
  RANGE_RESPONSE,
  type RangeResponse,
  REQUEST_PROGRESS,
  STATUS_RESPONSE,
  TOKEN_RESPONSE,
  TXN_RESPONSE,
  WATCH_RESPONSE,
  type WatchResponse,
} from './etcd-messages.js'
import { patchCredentials } from './grpc-credentials-patch.js'
import type { Call, Connection, Transport, WatchStream } from './transport.js'

/**
 * TLS certificates, in PEM.
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs'
 *
 * const credentials = {
 *   rootCertificate: readFileSync('/etc/etcd/ca.pem'),
 *   privateKey: readFileSync('/etc/etcd/client-key.pem'),
 *   certChain: readFileSync('/etc/etcd/client.pem'),
 * }
 * const source = etcdSource<Limit>({ endpoints: 'https://etcd-1:2379', prefix: '/limits/', credentials })
 * ```
 */
export interface EtcdCredentials {
  /** The certificate authority of the server. */
  readonly rootCertificate: Buffer
  /** The client's private key. Requires `certChain`. */
  readonly privateKey?: Buffer
  /** The client's certificate. Requires `privateKey`. */
  readonly certChain?: Buffer
}

/**
 * The user that reads, if etcd has authentication enabled.
 *
 * @example
 * ```ts
 * const auth = { username: 'reader', password: process.env['ETCD_PASSWORD'] ?? '' }
 * const source = etcdSource<Limit>({ endpoints: 'https://etcd-1:2379', prefix: '/limits/', auth })
 * ```
 */
export interface EtcdAuth {
  /** The name of the user. */
  readonly username: string
  /** The password of the user. It never appears in messages. */
  readonly password: string
}

export interface GrpcOptions {
  readonly endpoints: readonly string[]
  readonly credentials?: EtcdCredentials | (() => EtcdCredentials | Promise<EtcdCredentials>) | undefined
  readonly auth?: EtcdAuth | (() => EtcdAuth | Promise<EtcdAuth>) | undefined
  /** Checks what the functions return. */
  readonly check: (call: string, login: Login) => void
  readonly call: string
}

interface Login {
  readonly auth: EtcdAuth | undefined
  readonly credentials: EtcdCredentials | undefined
}

type Grpc = Pick<typeof import('@grpc/grpc-js'), 'Client' | 'Metadata' | 'credentials'>

/** The maximum size of a list page, in bytes. The events of a watch that is behind may be one message of any size. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/**
 * How many bytes the server sends before it waits for an acknowledgement. With the default of 64 KiB it waits often.
 * The response to a ping waits behind these bytes: with many more of them, the keepalive would end slow connections.
 */
const WINDOW_BYTES = 256 * 1024

/** Each connection has a channel of its own, so that a large list never holds up a watch. */
const CHANNEL = {
  'grpc.max_receive_message_length': -1,
  // Versions of grpc-js without this option ignore it.
  'grpc-node.flow_control_window': WINDOW_BYTES,
  'grpc.use_local_subchannel_pool': 1,
  // Without this, each connection queries the name server for a gRPC service config.
  'grpc.service_config_disable_resolution': 1,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
}

/** Connections over @grpc/grpc-js. After a lost connection the next one goes to the next endpoint. */
export function grpcTransport({ endpoints, call, check, ...login }: GrpcOptions): Transport {
  const targets = endpoints.map(targetOf)
  const isSecure = login.credentials !== undefined || endpoints.some((endpoint) => endpoint.startsWith('https:'))
  let token: Token = { auth: undefined, value: undefined }
  let next = 0
  return {
    endpoints: targets.length,
    maxAnswerBytes: MAX_ANSWER_BYTES,
    hasFragments: false,
    connect: async () => {
      const grpc = await loadGrpc(call)
      const credentials = await (typeof login.credentials === 'function' ? login.credentials() : login.credentials)
      const auth = await (typeof login.auth === 'function' ? login.auth() : login.auth)
      check(call, { auth, credentials })
      const isSame = auth?.username === token.auth?.username && auth?.password === token.auth?.password
      if (!isSame) token = { auth, value: undefined }
      const at = next
      const target = targets[at % targets.length] ?? ''
      // Connections that fail together go to the same next endpoint.
      const lose = (): void => {
        next = Math.max(next, at + 1)
      }
      return connectionTo(target, grpc, channelCredentials(grpc, isSecure, credentials), token, lose)
    },
  }
}

/** `host:port`; the default port is etcd's. */
function targetOf(endpoint: string): string {
  const target = endpoint.replace(/^https?:\/\//, '').replace(/\/$/, '')
  return /:\d+$/.test(target) ? target : `${target}:2379`
}

async function loadGrpc(call: string): Promise<Grpc> {
  try {
    const module = await import('@grpc/grpc-js')
    return module.default
  } catch (error) {
    const message = `${call}: option "endpoints" needs the package @grpc/grpc-js: npm i @grpc/grpc-js`
    throw new OptionError(message, { option: 'endpoints', cause: error })
  }
}

function channelCredentials(grpc: Grpc, isSecure: boolean, own: EtcdCredentials | undefined): ChannelCredentials {
  if (!isSecure) return grpc.credentials.createInsecure()
  return grpc.credentials.createSsl(own?.rootCertificate, own?.privateKey ?? null, own?.certChain ?? null)
}

/** The token of one user and password, shared by their connections. `value` is undefined before the first request. */
interface Token {
  readonly auth: EtcdAuth | undefined
  value: string | undefined
}

function connectionTo(
  endpoint: string,
  grpc: Grpc,
  credentials: ChannelCredentials,
  token: Token,
  lose: () => void,
): Connection {
  let socket: { readonly bytesRead: number } | undefined
  /** Bytes of the connections before the current one. */
  let receivedBefore = 0
  const received = (): number => receivedBefore + (socket?.bytesRead ?? 0)
  const connected = (next: { readonly bytesRead: number }): void => {
    receivedBefore = received()
    socket = next
  }
  const client = new grpc.Client(endpoint, patchCredentials(credentials, connected), CHANNEL)

  const metadata = (): Metadata => {
    const own = new grpc.Metadata()
    if (token.value !== undefined) own.set('token', token.value)
    return own
  }

  const unary = <V>(path: string, request: Buffer, { decode }: Message<V>, own = metadata()): Call<V> => {
    const { promise: response, resolve, reject } = Promise.withResolvers<V>()
    const answered = (error: ServiceError | null, value?: V): void => {
      if (error !== null) reject(error)
      else if (value === undefined) reject(new Error('a response without a message'))
      else resolve(value)
    }
    const call = client.makeUnaryRequest<Buffer, V>(path, asIs, decode, request, own, {}, answered)
    return { response, cancel: () => call.cancel() }
  }

  const authenticate = async (follow: <R>(call: Call<R>) => Promise<R>): Promise<void> => {
    const { auth } = token
    if (auth === undefined) return
    // Another request may still use the old token: without any, the server would refuse it as one of no user.
    const request = encodeAuthenticate(auth.username, auth.password)
    const call = unary('/etcdserverpb.Auth/Authenticate', request, TOKEN_RESPONSE, new grpc.Metadata())
    try {
      token.value = (await follow(call)).token
    } catch (error) {
      // A server without authentication needs no token.
      if (!/authentication is not enabled/.test(String(error))) throw error
    }
  }

  /** Sends the request with the token. If the token has expired, it is sent once more with a new one. */
  const authorized = <V>(path: string, request: Buffer, message: Message<V>): Call<V> => {
    let current: Call<unknown> | undefined
    let isCanceled = false
    const follow = <R>(call: Call<R>): Promise<R> => {
      current = call
      if (isCanceled) call.cancel('unwanted')
      return call.response
    }
    const run = async (): Promise<V> => {
      if (token.auth !== undefined && token.value === undefined) await authenticate(follow)
      try {
        return await follow(unary(path, request, message))
      } catch (error) {
        if (token.auth === undefined || !isTokenError(error)) throw error
        await authenticate(follow)
        return await follow(unary(path, request, message))
      }
    }
    const response = run()
    response.catch(() => {})
    const cancel = (): void => {
      isCanceled = true
      current?.cancel('unwanted')
    }
    return { response, cancel }
  }

  return {
    endpoint,
    received,
    range: (request) => authorized('/etcdserverpb.KV/Range', encodeRange(request), RANGE_RESPONSE),
    rangeStream: (request) => {
      const [path, encoded] = ['/etcdserverpb.KV/RangeStream', encodeRange(request)]
      const stream = client.makeServerStreamRequest(path, asIs, RANGE_PART.decode, encoded, metadata())
      const parts: AsyncIterator<{ readonly range: RangeResponse }, undefined> = stream[Symbol.asyncIterator]()
      return () => ({ response: parts.next().then(({ value }) => value?.range), cancel: () => stream.cancel() })
    },
    txn: (request) => authorized('/etcdserverpb.KV/Txn', encodeTxn(request), TXN_RESPONSE),
    status: () => authorized('/etcdserverpb.Maintenance/Status', Buffer.alloc(0), STATUS_RESPONSE),
    watch: async (request, requireLeader) => {
      const own = metadata()
      if (requireLeader) own.set('hasleader', 'true')
      const stream = client.makeBidiStreamRequest('/etcdserverpb.Watch/Watch', asIs, WATCH_RESPONSE.decode, own)
      stream.write(encodeWatch(createWatch(request)))
      return streamOf(stream)
    },
    close: (isLost) => {
      if (isLost) lose()
      // Deferred: a channel that is closed before it resolved its address still connects, and stays connected.
      void systemClock.sleep(0).then(() => client.close())
    },
  }
}

/** Requests are encoded before they are given to gRPC. */
function asIs(request: Buffer): Buffer {
  return request
}

function streamOf(stream: ClientDuplexStream<Buffer, WatchResponse>): WatchStream {
  let isOver = false
  stream.on('error', () => {}) // An error before `listen` must not end the process.
  return {
    listen: (to) => {
      const end = (error: unknown): void => {
        if (isOver) return
        isOver = true
        to.ended(statusOf(error) === undefined && error !== undefined ? new Error(String(error)) : error)
      }
      stream.on('data', (response: WatchResponse) => to.message(response))
      stream.on('error', end)
      stream.on('end', () => end(undefined))
    },
    requestProgress: () => {
      if (!isOver) stream.write(encodeWatch(REQUEST_PROGRESS))
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    cancel: () => {
      isOver = true // A lost connection needs no other treatment: it is closed together with the stream.
      stream.cancel()
    },
  }
}
