import { hasMethods } from '../../common/properties.js'

/**
 * A received message.
 *
 * @example
 * ```ts
 * import type { NatsMessage } from 'listwatch/nats'
 *
 * // As the callback of a subscription receives it.
 * const callback = (error: Error | null, message: NatsMessage) => {
 *   console.log(error?.message ?? `${message.subject}: ${message.data.byteLength} bytes`)
 * }
 * connection.subscribe('$KV.limits.>', { callback })
 * ```
 */
export interface NatsMessage {
  /** The subject that the message was published to. */
  readonly subject: string
  /** The subject for replies. JetStream puts the position of a message in it. */
  readonly reply?: string
  /** The payload. */
  readonly data: Uint8Array
  /** The headers, if the message has any. */
  readonly headers?: {
    readonly code: number
    readonly description: string
    /** Returns the value of a header; empty if the message does not have it. */
    get(name: string): string
  }
}

/**
 * A `NatsConnection` of the package @nats-io/transport-node 3.x, or of another transport of @nats-io. Sources use it
 * together with the program, and never close it.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node'
 *
 * const connection = await connect({ servers: ['nats-0:4222', 'nats-1:4222'], maxReconnectAttempts: -1 })
 * const limits = createInformer({ source: natsKvSource<Limit>({ client: connection, bucket: 'limits' }) }).start()
 * process.once('SIGTERM', async () => {
 *   await limits.stop()
 *   await connection.close() // The source does not close it.
 * })
 * ```
 */
export interface NatsClient {
  /** Publishes a message. */
  publish(subject: string, payload: string, options?: { reply?: string; headers?: object }): void
  /** Calls `callback` for each message of a subject. */
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessage) => void },
  ): {
    /** Ends the subscription. */
    unsubscribe(): void
  }
  /** The events of the connection. */
  status(): AsyncIterable<{ readonly type: string }>
  /** Whether the connection was closed. */
  isClosed(): boolean
  /** Whether the connection is being closed. */
  isDraining(): boolean
}

export function isNatsClient(value: unknown): boolean {
  return hasMethods(value, 'publish', 'subscribe', 'status', 'isClosed', 'isDraining')
}
