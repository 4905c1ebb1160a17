import type { NatsMessage } from './nats-client.js'

/** A message of the stream, as a consumer delivers it. */
export interface StoredMessage {
  readonly consumer: string
  readonly subject: string
  /** The sequence in the stream. */
  readonly seq: number
  /** The number of the delivery: without a gap if nothing was lost. */
  readonly delivery: number
  /** When it was stored, in nanoseconds. */
  readonly time: string
  readonly isDelete: boolean
  /** Whether a later message belongs to the same atomic batch. */
  readonly isInBatch: boolean
  readonly data: Uint8Array
}

/** The tokens of `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivery>.<time>.<pending>`. */
const TOKENS = 9
/** With a domain and the hash of an account before the stream. */
const EXTRA = 2

export function storedMessage({ subject, reply = '', data, headers }: NatsMessage): StoredMessage | undefined {
  const tokens = reply.split('.')
  const at = tokens.length > TOKENS ? EXTRA : 0
  const [seq, delivery] = [Number(tokens[at + 5]), Number(tokens[at + 6])]
  if (tokens.length < TOKENS || !Number.isSafeInteger(seq) || !Number.isSafeInteger(delivery)) return undefined
  const operation = headers?.get('KV-Operation') ?? ''
  return {
    consumer: tokens[at + 3] ?? '',
    subject,
    seq,
    delivery,
    time: tokens[at + 7] ?? '0',
    isDelete: operation === 'DEL' || operation === 'PURGE' || (headers?.get('Nats-Marker-Reason') ?? '') !== '',
    isInBatch: (headers?.get('Nats-Batch-Id') ?? '') !== '' && headers?.get('Nats-Batch-Commit') === '',
    data,
  }
}
