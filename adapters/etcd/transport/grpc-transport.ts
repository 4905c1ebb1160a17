import type { ChannelCredentials, Client, ClientDuplexStream, Metadata, ServiceError } from '@grpc/grpc-js'
import { systemClock } from '../../../src/contract/clock.js'
import { OptionError } from '../../../src/contract/errors.js'
import { isTokenError, statusOf } from './etcd-errors.js'
import {
  createWatch,
  decodeRange,
  decodeRangePart,
  decodeStatus,
  decodeToken,
  decodeTxn,
  decodeWatch,
  encodeAuthenticate,
  encodeRange,
  encodeTxn,
  encodeWatch,
  type RangeRequest,
  type RangeResponse,
  REQUEST_PROGRESS,
  type ServerStatus,
  type TxnRequest,
  type TxnResponse,
  type WatchRequest,
  type WatchResponse,
} from './etcd-messages.js'
import { patchCredentials } from './grpc-credentials-patch.js'
import type { Call, Connection, RangeStream, Transport, WatchListener, WatchStream } from './transport.js'

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
  /** The function that the user called, for errors. */
  readonly call?: string
}

interface Login {
  readonly auth: EtcdAuth | undefined
  readonly credentials: EtcdCredentials | undefined
}

/** A socket that counts the bytes it has read. */
interface Receiver {
  readonly bytesRead: number
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
export function grpcTransport({ endpoints, call = 'etcdSource', check, ...login }: GrpcOptions): Transport {
  const targets = endpoints.map(targetOf)
  const isSecure = login.credentials !== undefined || endpoints.some((endpoint) => endpoint.startsWith('https:'))
  const token = new Token()
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
      token.use(auth)
      const at = next
      const target = targets[at % targets.length] ?? ''
      // Connections that fail together go to the same next endpoint.
      const lose = (): void => {
        next = Math.max(next, at + 1)
      }
      return new GrpcConnection(grpc, target, channelCredentials(grpc, isSecure, credentials), token, lose)
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

/** The token of the user, shared by all connections of a source. `value` is undefined before the first request. */
class Token {
  auth: EtcdAuth | undefined
  value: string | undefined

  /** Another user or password needs another token. */
  use(auth: EtcdAuth | undefined): void {
    const isSame = auth?.username === this.auth?.username && auth?.password === this.auth?.password
    if (!isSame) this.value = undefined
    this.auth = auth
  }
}

class GrpcConnection implements Connection {
  readonly endpoint: string
  readonly #grpc: Grpc
  readonly #client: Client
  readonly #token: Token
  readonly #lose: () => void
  #socket: Receiver | undefined
  /** Bytes of the connections before the current one. */
  #receivedBefore = 0

  constructor(grpc: Grpc, endpoint: string, credentials: ChannelCredentials, token: Token, lose: () => void) {
    this.endpoint = endpoint
    this.#grpc = grpc
    this.#client = new grpc.Client(
      endpoint,
      patchCredentials(credentials, (socket) => this.#connected(socket)),
      CHANNEL,
    )
    this.#token = token
    this.#lose = lose
  }

  range(request: RangeRequest): Call<RangeResponse> {
    return this.#authorized('/etcdserverpb.KV/Range', encodeRange(request), decodeRange)
  }

  rangeStream(request: RangeRequest): RangeStream {
    const stream = this.#client.makeServerStreamRequest<Buffer, RangeResponse>(
      '/etcdserverpb.KV/RangeStream',
      (bytes) => bytes,
      decodeRangePart,
      encodeRange(request),
      this.#metadata(),
    )
    const parts: AsyncIterator<RangeResponse, undefined> = stream[Symbol.asyncIterator]()
    return () => ({ response: parts.next().then(({ value }) => value), cancel: () => stream.cancel() })
  }

  txn(request: TxnRequest): Call<TxnResponse> {
    return this.#authorized('/etcdserverpb.KV/Txn', encodeTxn(request), decodeTxn)
  }

  status(): Call<ServerStatus> {
    return this.#authorized('/etcdserverpb.Maintenance/Status', Buffer.alloc(0), decodeStatus)
  }

  async watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream> {
    const metadata = this.#metadata()
    if (requireLeader) metadata.set('hasleader', 'true')
    const stream = this.#client.makeBidiStreamRequest<Buffer, WatchResponse>(
      '/etcdserverpb.Watch/Watch',
      (bytes) => bytes,
      decodeWatch,
      metadata,
    )
    stream.write(encodeWatch(createWatch(request)))
    return new GrpcStream(stream)
  }

  received(): number {
    return this.#receivedBefore + (this.#socket?.bytesRead ?? 0)
  }

  #connected(socket: Receiver): void {
    this.#receivedBefore = this.received()
    this.#socket = socket
  }

  close(isLost: boolean): void {
    if (isLost) this.#lose()
    // Deferred: a channel that is closed before it resolved its address still connects, and stays connected.
    void systemClock.sleep(0).then(() => this.#client.close())
  }

  /** Sends the request with the token. If the token has expired, it is sent once more with a new one. */
  #authorized<V>(path: string, request: Buffer, decode: (bytes: Buffer) => V): Call<V> {
    let current: Call<unknown> | undefined
    let isCanceled = false
    const follow = <R>(call: Call<R>): Promise<R> => {
      current = call
      if (isCanceled) call.cancel('unwanted')
      return call.response
    }
    const run = async (): Promise<V> => {
      if (this.#token.auth !== undefined && this.#token.value === undefined) await this.#authenticate(follow)
      try {
        return await follow(this.#unary(path, request, decode))
      } catch (error) {
        if (this.#token.auth === undefined || !isTokenError(error)) throw error
        await this.#authenticate(follow)
        return await follow(this.#unary(path, request, decode))
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

  async #authenticate(follow: <R>(call: Call<R>) => Promise<R>): Promise<void> {
    const { auth } = this.#token
    if (auth === undefined) return
    this.#token.value = undefined
    const request = encodeAuthenticate(auth.username, auth.password)
    try {
      this.#token.value = await follow(this.#unary('/etcdserverpb.Auth/Authenticate', request, decodeToken))
    } catch (error) {
      // A server without authentication needs no token.
      if (!/authentication is not enabled/.test(String(error))) throw error
    }
  }

  #unary<V>(path: string, request: Buffer, decode: (bytes: Buffer) => V): Call<V> {
    let cancel = (): void => {}
    const response = new Promise<V>((resolve, reject) => {
      const answered = (error: ServiceError | null, value?: V): void => {
        if (error !== null) reject(error)
        else if (value === undefined) reject(new Error('a response without a message'))
        else resolve(value)
      }
      const call = this.#client.makeUnaryRequest<Buffer, V>(
        path,
        (bytes) => bytes,
        decode,
        request,
        this.#metadata(),
        {},
        answered,
      )
      cancel = () => call.cancel()
    })
    return { response, cancel: () => cancel() }
  }

  #metadata(): Metadata {
    const metadata = new this.#grpc.Metadata()
    if (this.#token.value !== undefined) metadata.set('token', this.#token.value)
    return metadata
  }
}

class GrpcStream implements WatchStream {
  readonly #stream: ClientDuplexStream<Buffer, WatchResponse>
  #isOver = false

  constructor(stream: ClientDuplexStream<Buffer, WatchResponse>) {
    this.#stream = stream
    stream.on('error', () => {}) // An error before `listen` must not end the process.
  }

  listen(to: WatchListener): void {
    const end = (error: unknown): void => {
      if (this.#isOver) return
      this.#isOver = true
      to.ended(statusOf(error) === undefined && error !== undefined ? new Error(String(error)) : error)
    }
    this.#stream.on('data', (response: WatchResponse) => to.message(response))
    this.#stream.on('error', end)
    this.#stream.on('end', () => end(undefined))
  }

  requestProgress(): void {
    if (!this.#isOver) this.#stream.write(encodeWatch(REQUEST_PROGRESS))
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  cancel(): void {
    this.#isOver = true // A lost connection needs no other treatment: it is closed together with the stream.
    this.#stream.cancel()
  }
}
