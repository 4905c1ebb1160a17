import { RelayConflictError } from '../../src/contract/relay-store.js'
import { unavailable } from '../common/source-errors.js'
import { encodedHeaders, type Session, uniqueName } from './connection/session.js'

export interface NewMessage {
  readonly subject: string
  readonly payload: string
  readonly headers: Readonly<Record<string, string>>
}

/** JetStream's errors of a message with an expected last sequence. */
const WRONG_LAST_SEQUENCE: readonly unknown[] = [10_071, 10_164]

interface Stored {
  readonly seq?: number
  readonly error?: { readonly err_code?: number; readonly description?: string }
}

/**
 * Stores all messages or none, if the last sequence of the stream is `lastSeq`. Returns the sequence of the last
 * message. `check` is called with the size of each message in bytes, before the first one is sent: the server does not
 * say which message of a batch it refuses. Without it no message is measured.
 *
 * @throws RelayConflictError if the stream is at another sequence.
 * @throws SourceError UNAVAILABLE if the response was lost: the messages may have been stored, or will be.
 */
export async function writeAtomically(
  session: Session,
  messages: readonly NewMessage[],
  lastSeq: number,
  check: ((at: number, bytes: number) => void) | undefined,
): Promise<number> {
  const batch = uniqueName()
  const all = messages.map(({ headers, ...message }, at): NewMessage => {
    const own = {
      ...headers,
      ...(at === 0 ? { 'Nats-Expected-Last-Sequence': String(lastSeq) } : {}),
      ...(messages.length > 1 ? { 'Nats-Batch-Id': batch, 'Nats-Batch-Sequence': String(at + 1) } : {}),
      ...(messages.length > 1 && at === messages.length - 1 ? { 'Nats-Batch-Commit': '1' } : {}),
    }
    return { ...message, headers: own }
  })
  if (check !== undefined)
    for (const [at, { payload, headers }] of all.entries())
      check(at, Buffer.byteLength(payload) + encodedHeaders(headers).length)
  const last = all.pop()
  if (last === undefined) throw new TypeError('a write needs a message')
  for (const { subject, payload, headers } of all) session.store(subject, payload, headers)
  const { seq, conflict } = await confirmedWrite(session, last)
  if (conflict !== undefined) throw new RelayConflictError(conflict)
  return seq
}

/**
 * Stores a message if the last one of its subject has this sequence; 0 if it must have none. Returns the new sequence,
 * or undefined if the last message is another one.
 *
 * @throws SourceError UNAVAILABLE if the response was lost: the message may have been stored, or will be.
 */
export async function writeIfLast(session: Session, message: NewMessage, lastSeq: number): Promise<number | undefined> {
  const headers = { ...message.headers, 'Nats-Expected-Last-Subject-Sequence': String(lastSeq) }
  const { seq, conflict } = await confirmedWrite(session, { ...message, headers })
  return conflict === undefined ? seq : undefined
}

/** The sequence of a message that was stored, or why the stream is at another sequence than the message expects. */
async function confirmedWrite(
  session: Session,
  { subject, payload, headers }: NewMessage,
): Promise<{ readonly seq: number; readonly conflict?: string }> {
  const { seq = 0, error } = await session.storeAndWait<Stored>(subject, payload, headers)
  if (error === undefined) return { seq }
  const detail = `${error.description} (${error.err_code})`
  if (WRONG_LAST_SEQUENCE.includes(error.err_code)) return { seq, conflict: detail }
  throw unavailable(`the write was refused: ${detail}`)
}
