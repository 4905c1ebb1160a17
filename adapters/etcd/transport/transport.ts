import type {
  RangeRequest,
  RangeResponse,
  ServerStatus,
  TxnRequest,
  TxnResponse,
  WatchRequest,
  WatchResponse,
} from './etcd-messages.js'

export interface Call<V> {
  readonly response: Promise<V>
  /** The response is no longer wanted, or it did not arrive in time. */
  cancel(reason: 'unwanted' | 'lost'): void
}

export type RangeStream = () => Call<RangeResponse | undefined>

export interface WatchStream {
  listen(to: WatchListener): void
  requestProgress(): void
  /** Stops messages until `resume` is called, so that the server waits instead of filling memory here. */
  pause(): void
  resume(): void
  /** The stream is no longer wanted, or its peer is silent. */
  cancel(reason: 'unwanted' | 'lost'): void
}

export interface WatchListener {
  message(response: WatchResponse): void
  /** Called once. `error` is undefined if the server ended the stream normally. */
  ended(error: unknown): void
}

/** A connection to one member of the cluster, for one list or one watch. */
export interface Connection {
  readonly endpoint: string
  range(request: RangeRequest): Call<RangeResponse>
  /** Begins a range as a stream of parts, of which only the last one has a header and a count. */
  rangeStream?(request: RangeRequest): RangeStream
  txn(request: TxnRequest): Call<TxnResponse>
  status(): Call<ServerStatus>
  watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream>
  /** How many bytes have arrived, also those of a message that is not complete; undefined if that is not known. */
  received(): number | undefined
  /** `isLost`: the connection failed, and the next one goes to the next endpoint. */
  close(isLost: boolean): void
}

export interface Transport {
  readonly endpoints: number
  readonly maxAnswerBytes: number
  /** Whether large messages must come in fragments. These cost the server much more CPU if its events are small. */
  readonly hasFragments: boolean
  connect(): Promise<Connection>
}
