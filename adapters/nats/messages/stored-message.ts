import { propertiesOf } from '../../common/properties.js'
import type { NatsMessage } from '../connection/nats-client.js'

export interface StoredMessage {
  readonly consumer: string
  readonly subject: string
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

export function storedMessage(message: NatsMessage): StoredMessage | undefined {
  const { subject, reply = '', data } = message
  const tokens = reply.split('.')
  const at = tokens.length > TOKENS ? EXTRA : 0
  const [seq, delivery] = [Number(tokens[at + 5]), Number(tokens[at + 6])]
  if (tokens.length < TOKENS || !Number.isSafeInteger(seq) || !Number.isSafeInteger(delivery)) return undefined
  const header = headersOf(message)
  const operation = header('KV-Operation')
  return {
    consumer: tokens[at + 3] ?? '',
    subject,
    seq,
    delivery,
    time: tokens[at + 7] ?? '0',
    isDelete: operation === 'DEL' || operation === 'PURGE' || header('Nats-Marker-Reason') !== '',
    isInBatch: header('Nats-Batch-Id') !== '' && header('Nats-Batch-Commit') === '',
    data,
  }
}

/**
 * Returns a function for the value of a header. nats.js throws for a message with a name that it does not accept, such
 * as one with a space. An exception in a callback would end the reader of the connection.
 */
function headersOf(message: NatsMessage): (name: string) => string {
  try {
    const { headers } = message
    return (name) => headers?.get(name) ?? ''
  } catch {
    const { _rdata: raw, _msg: position } = propertiesOf(message)
    const length = propertiesOf(position)['hdr']
    const text =
      raw instanceof Uint8Array && typeof length === 'number' ? Buffer.from(raw.subarray(0, length)).toString() : ''
    return (name) => new RegExp(`^${name}: *(.*?) *\\r?$`, 'm').exec(text)?.[1] ?? ''
  }
}
