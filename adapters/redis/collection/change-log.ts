import { expired, forked } from '../../shared/source-errors.js'
import type { RedisReply } from '../connection/client.js'
import type { Absent, Position } from './collection-version.js'

const PUT = 0x75 // u

/** Without a value a deletion. */
export interface LogChange {
  readonly key: Buffer | string
  readonly value: Buffer | string | undefined
}

/** One entry of a collection's stream: one atomic change. */
export interface LogEntry {
  readonly position: Position
  /** The chain that it continues; empty where it begins a history with nothing. */
  readonly previous: string
  readonly changes: readonly LogChange[]
  readonly committedAt: number
}

/** Where a collection is, and how many fields its hash ought to have. */
export interface Meta extends Position {
  readonly count: number
}

/** Of `HMGET meta e i n c`; undefined where there is no collection. */
export function readMeta(reply: RedisReply | undefined): Meta | undefined {
  const [epoch, id, chain, count] = (Array.isArray(reply) ? reply : []).map((each) =>
    each === null ? '' : String(each),
  )
  if (!epoch || !id || !chain || !count) return undefined
  const position = positionOf(id, chain)
  return position === undefined || position.epoch !== Number(epoch) ? undefined : { ...position, count: Number(count) }
}

/** The entries that XREAD of one stream, or XRANGE, gave. */
export function entriesOf(reply: RedisReply | undefined): readonly RedisReply[] {
  if (!Array.isArray(reply)) return []
  const [first] = reply as readonly RedisReply[]
  const entries = Array.isArray(first) ? (first as readonly RedisReply[])[1] : undefined
  return Array.isArray(entries) ? (entries as readonly RedisReply[]) : []
}

const CHAIN_LENGTH = 16
/** What to do about it. */
const KEEP = ' (a redisWriter keeps as many as its option retention says)'

/**
 * An entry as a writer made it; undefined for one that somebody else made. Its first field says: the chain before it, its own, a word,
 * and when it was written.
 */
export function readEntry(reply: RedisReply): LogEntry | undefined {
  const [id, rest] = Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
  const fields = (Array.isArray(rest) ? rest : []) as readonly (Buffer | string)[]
  const about = String(fields[1] ?? '')
  const second = about.indexOf(' ') + 1
  const third = about.indexOf(' ', second) + 1
  const committedAt = Number(about.slice(about.indexOf(' ', third) + 1))
  const isOurs = second > 0 && third === second + CHAIN_LENGTH + 1 && committedAt > 0
  const position = isOurs ? positionOf(String(id), about.slice(second, third - 1)) : undefined
  if (position === undefined) return undefined
  const changes: LogChange[] = []
  for (let i = 2; i + 1 < fields.length; i += 2) {
    const [field, value] = [fields[i], fields[i + 1]]
    if (field === undefined) break
    if (typeof field === 'string') changes.push({ key: field.slice(1), value: field[0] === 'u' ? value : undefined })
    else changes.push({ key: field.subarray(1), value: field[0] === PUT ? value : undefined })
  }
  return { position, previous: about.slice(0, second - 1), changes, committedAt }
}

/**
 * Where we are after an entry; throws where it does not follow: a dense sequence shows what is missing, and the chain that the history
 * before it is another than ours, which numbers alone do not show.
 */
export function advance(at: Position | Absent, { position, previous }: LogEntry): Position {
  if ('absentAt' in at) {
    if (position.sequence > 0)
      throw expired(`the entries before ${position.sequence} of a new history were trimmed${KEEP}`)
    if (previous !== '') throw forked('it began with what was there already')
    return position
  }
  if (position.epoch !== at.epoch) throw forked('the collection was made anew')
  if (position.sequence > at.sequence + 1)
    throw expired(`entries ${at.sequence + 1} to ${position.sequence - 1} were trimmed${KEEP}`)
  if (previous !== at.chain) throw forked(`another entry ${at.sequence} precedes entry ${position.sequence}`)
  return position
}

/** Whether the collection that is there is the one of this place, or a later state of it, as far as it can be told. */
export function assertSameHistory(at: Position, meta: Meta | undefined): asserts meta is Meta {
  if (meta === undefined) throw forked('the collection was deleted')
  if (meta.epoch !== at.epoch) throw forked('the collection was made anew')
  if (meta.sequence < at.sequence) throw forked(`it went back from entry ${at.sequence} to ${meta.sequence}`)
  if (meta.sequence === at.sequence && meta.chain !== at.chain) throw forked(`entry ${at.sequence} is another`)
}

/** Throws if `entry`, the oldest one at or after this place, shows that the history up to there is another. */
export function assertPrecedes(at: Position, { position, previous }: LogEntry): void {
  const chain =
    position.sequence === at.sequence ? position.chain : position.sequence === at.sequence + 1 ? previous : at.chain
  if (position.epoch !== at.epoch || chain !== at.chain) throw forked(`entry ${at.sequence} is another`)
}

/** Whether these entries, read at the same moment, are the next of those that are to come. */
export function assertNotTrimmed(at: Position, meta: Meta, entries: readonly LogEntry[]): void {
  if (entries.length > 0 || meta.sequence === at.sequence) return
  throw expired(`entries ${at.sequence + 1} to ${meta.sequence} were trimmed${KEEP}`)
}

/** The place that an id and a chain name. */
export function positionOf(id: string, chain: string): Position | undefined {
  return /^[0-9a-f]{16}$/.test(chain) ? positionAt(id, chain) : undefined
}

function positionAt(id: string, chain: string): Position | undefined {
  const dash = id.indexOf('-')
  const [epoch, sequence] = [Number(id.slice(0, dash)), Number(id.slice(dash + 1))]
  if (dash < 1 || !Number.isSafeInteger(epoch) || !Number.isSafeInteger(sequence)) return undefined
  return { epoch, sequence, chain }
}
