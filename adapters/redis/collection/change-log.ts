import { expired, forked } from '../../common/source-errors.js'
import { type RedisReply, repliesIn } from '../connection/client.js'
import type { Absent, Position } from './collection-version.js'

const PUT = 0x75 // u
const DASH = 0x2d
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

export interface LogChange {
  /** The key, after one byte. */
  readonly field: Buffer
  readonly value: Buffer | undefined
}

export const KEY_OFFSET = 1

/** One entry of a collection's stream: one atomic change. */
export interface LogEntry {
  readonly position: Position
  /** The chain of the previous entry; empty if this is the first entry of an empty collection. */
  readonly previous: string
  readonly changes: readonly LogChange[]
  readonly committedAt: number
}

/** The current position of a history, and the expected number of fields of each hash. */
export interface Meta extends Position {
  readonly counts: readonly number[]
}

/** Parses the reply to `HMGET meta e i n`, with the field of each count; undefined if the history does not exist. */
export function readMeta(reply: RedisReply | undefined): Meta | undefined {
  const [epoch, id, chain, ...counts] = repliesIn(reply).map((each) => (each === null ? '' : String(each)))
  if (!epoch || !id || !chain) return undefined
  const position = positionOf(id, chain)
  return position === undefined || position.epoch !== Number(epoch)
    ? undefined
    : { ...position, counts: counts.map(Number) }
}

export function entriesOf(reply: RedisReply | undefined): readonly RedisReply[] {
  const [first] = repliesIn(reply)
  return repliesIn(repliesIn(first)[1])
}

const CHAIN_LENGTH = 16
const KEEP = ' (a redisWriter keeps as many as its option retention says)'

/** Undefined for an entry of another client. Its first field has both chains, a nonce, and the time of the write. */
export function readEntry(reply: RedisReply): LogEntry | undefined {
  const parts = repliesIn(reply)
  const fields = repliesIn(parts[1])
  const [id, bytes] = [parts[0], fields[1]]
  if (!Buffer.isBuffer(id) || !Buffer.isBuffer(bytes)) return undefined
  const about = bytes.toString('latin1')
  const second = about.indexOf(' ') + 1
  const third = about.indexOf(' ', second) + 1
  const committedAt = integerIn(bytes, about.indexOf(' ', third) + 1, bytes.length)
  const isOurs = second > 0 && third === second + CHAIN_LENGTH + 1 && committedAt > 0
  const chain = isOurs ? about.slice(second, third - 1) : ''
  if (!isChain(chain)) return undefined
  const dash = id.indexOf(DASH)
  const position = positionAt(integerIn(id, 0, dash), integerIn(id, dash + 1, id.length), chain)
  if (position === undefined) return undefined
  const changes: LogChange[] = []
  for (let i = 2; i + 1 < fields.length; i += 2) {
    const field = fields[i]
    const value = fields[i + 1]
    if (!Buffer.isBuffer(field) || !Buffer.isBuffer(value)) break
    changes.push({ field, value: field[0] === PUT ? value : undefined })
  }
  return { position, previous: about.slice(0, second - 1), changes, committedAt }
}

/** A decimal number, or NaN. Strings of these parts would cost more to create. */
function integerIn(bytes: Buffer, from: number, to: number): number {
  let value = from < to ? 0 : Number.NaN
  for (let i = from; i < to; i++) {
    const byte = bytes[i] ?? 0
    if (byte < DIGIT_0 || byte > DIGIT_9) return Number.NaN
    value = 10 * value + byte - DIGIT_0
  }
  return value
}

/** Throws if the entry is not the next one: numbers have a gap if entries are missing, and forks have other chains. */
export function advance(at: Position | Absent, { position, previous }: LogEntry): Position {
  if ('absentAt' in at) {
    if (position.sequence > 0)
      throw expired(`the entries before ${position.sequence} of a new history were trimmed${KEEP}`)
    if (previous !== '') throw forked('it began with fields that were in the hash already')
    return position
  }
  if (position.epoch !== at.epoch) throw forked('the collection was recreated')
  if (position.sequence > at.sequence + 1)
    throw expired(`entries ${at.sequence + 1} to ${position.sequence - 1} were trimmed${KEEP}`)
  if (previous !== at.chain) throw forked(`entry ${position.sequence} follows another entry ${at.sequence}`)
  return position
}

/** Throws `EPOCH_CHANGED` if the collection is provably not a later state of the one at this position. */
export function assertSameHistory(at: Position, meta: Meta | undefined): asserts meta is Meta {
  if (meta === undefined) throw forked('the collection was deleted')
  if (meta.epoch !== at.epoch) throw forked('the collection was recreated')
  if (meta.sequence < at.sequence) throw forked(`it went back from entry ${at.sequence} to ${meta.sequence}`)
  if (meta.sequence === at.sequence && meta.chain !== at.chain) throw forked(`entry ${at.sequence} has changed`)
}

/** Throws if `entry`, the oldest one at or after this position, belongs to another history. */
export function assertPrecedes(at: Position, { position, previous }: LogEntry): void {
  const chain =
    position.sequence === at.sequence ? position.chain : position.sequence === at.sequence + 1 ? previous : at.chain
  if (position.epoch !== at.epoch || chain !== at.chain) throw forked(`entry ${at.sequence} has changed`)
}

/** Throws if entries after this position were trimmed. `entries` were read together with `meta`. */
export function assertNotTrimmed(at: Position, meta: Meta, entries: readonly LogEntry[]): void {
  if (entries.length > 0 || meta.sequence === at.sequence) return
  throw expired(`entries ${at.sequence + 1} to ${meta.sequence} were trimmed${KEEP}`)
}

export function positionOf(id: string, chain: string): Position | undefined {
  const dash = id.indexOf('-')
  if (dash < 1 || !isChain(chain)) return undefined
  return positionAt(Number(id.slice(0, dash)), Number(id.slice(dash + 1)), chain)
}

function isChain(chain: string): boolean {
  return /^[0-9a-f]{16}$/.test(chain)
}

function positionAt(epoch: number, sequence: number, chain: string): Position | undefined {
  return Number.isSafeInteger(epoch) && Number.isSafeInteger(sequence) ? { epoch, sequence, chain } : undefined
}
