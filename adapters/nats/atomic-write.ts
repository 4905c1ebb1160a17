import { RelayConflictError } from '../../src/contract/relay-store.js'
import { unavailable } from '../shared/source-errors.js'
import { type Session, uniqueName } from './session.js'

/** A message to store. */
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
 * message.
 *
 * @throws RelayConflictError if the stream is at another sequence.
 * @throws SourceError UNAVAILABLE if the response was lost: the messages may have been stored, or will be.
 */
export async function writeAtomically(
  session: Session,
  messages: readonly NewMessage[],
  lastSeq: number,
): Promise<number> {
  const batch = uniqueName()
  for (const [at, { subject, payload, headers }] of messages.entries()) {
    const isLast = at === messages.length - 1
    const all = {
      ...headers,
      ...(at === 0 ? { 'Nats-Expected-Last-Sequence': String(lastSeq) } : {}),
      ...(messages.length > 1 ? { 'Nats-Batch-Id': batch, 'Nats-Batch-Sequence': String(at + 1) } : {}),
      ...(messages.length > 1 && isLast ? { 'Nats-Batch-Commit': '1' } : {}),
    }
    if (!isLast) session.store(subject, payload, all)
    else {
      const { seq, conflict } = await confirmedWrite(session, { subject, payload, headers: all })
      if (conflict !== undefined) throw new RelayConflictError(conflict)
      return seq
    }
  }
  throw new TypeError('a write needs a message')
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
