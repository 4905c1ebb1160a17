import { SourceError } from '../../../src/contract/errors.js'
import { expired, forked } from '../../shared/source-errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import type { RedisReply } from '../connection/client.js'
import { type RedisCommand, type Session, textOf } from '../connection/session.js'
import {
  assertNotTrimmed,
  assertPrecedes,
  assertSameHistory,
  entriesOf,
  type LogEntry,
  type Meta,
  readEntry,
  readMeta,
} from './change-log.js'
import type { CollectionKeys } from './collection-keys.js'
import { type Absent, idOf, type Position } from './collection-version.js'

/** What is known of one moment. */
export interface Verification {
  readonly entries: readonly LogEntry[]
  /** Whether there is nothing after these entries. */
  readonly isHead: boolean
  /** How many fields there ought to be at the head. */
  readonly count: number
  /** What is wrong with the hash, in words. */
  readonly flaw: string | undefined
}

const META_FIELDS = ['e', 'i', 'n', 'c'] as const
const LAST_SEQUENCE = '18446744073709551615'

export interface Field {
  readonly key: Buffer | string
  readonly value: Buffer | string
}

export interface CollectionReaderOptions {
  readonly keys: CollectionKeys
  readonly pageSize: number
  /** Whether keys and values are strings wherever they can be. */
  readonly isText: boolean
  readonly responseSize: ResponseSizeLimit
}

/** What a collection's keys say, over one connection. */
export class CollectionReader {
  readonly #session: Session
  readonly #keys: CollectionKeys
  readonly #ask: (command: RedisCommand, timeoutMs?: number) => Promise<RedisReply>
  readonly #fields: AdaptivePageSize
  readonly #entries: AdaptivePageSize
  /** After which entry one that begins a history comes. */
  #before = '0-0'

  constructor(session: Session, { keys, pageSize, isText, responseSize }: CollectionReaderOptions) {
    this.#session = session
    this.#ask = (command, timeoutMs) =>
      isText ? session.texts(command, timeoutMs) : session.command(command, timeoutMs)
    this.#keys = keys
    this.#fields = new AdaptivePageSize(pageSize, responseSize)
    this.#entries = new AdaptivePageSize(pageSize, responseSize)
  }

  /** Where the collection is now; where there is none, since when that is certain. */
  async current(): Promise<Meta | Absent> {
    const here = await this.#look()
    if (here !== undefined) return here
    // First the time, then another look: whatever began before that time is gone.
    const time = await this.#session.command(['TIME'])
    const [seconds, microseconds] = (Array.isArray(time) ? time : []).map(Number)
    const absentAt = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
    return (await this.#look()) ?? { absentAt }
  }

  /** A part of what is in the hash, while others may write; with the cursor from which to go on, `0` at the end. */
  async scan(cursor: string): Promise<{ readonly next: string; readonly fields: readonly Field[] }> {
    const { size } = this.#fields
    const reply = await this.#within(this.#fields, this.#ask(['HSCAN', this.#keys.hash, cursor, 'COUNT', size]), size)
    const [next, items] = Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
    const parts = (Array.isArray(items) ? items : []) as readonly (Buffer | string)[]
    const fields: Field[] = []
    let bytes = 0
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const [key, value] = [parts[i], parts[i + 1]]
      if (key === undefined || value === undefined) break
      fields.push({ key, value })
      bytes += key.length + value.length
    }
    this.#fields.arrived(fields.length, bytes)
    return { next: textOf(next), fields }
  }

  /**
   * Entries after this place, if there are any now. They are asked for once, as bytes: whatever is asked next is of a later moment.
   */
  async read(after: Position | Absent): Promise<readonly LogEntry[]> {
    const reply = this.#session.command(this.#reading(this.#idBefore(after)))
    return written(this.#learned(await this.#within(this.#entries, reply)))
  }

  /**
   * Entries after this place as they come, until none came for `blockMs`. While some are being used, the next ones are on their way.
   */
  async *follow(
    after: Position | Absent,
    { blockMs, timeoutMs }: { readonly blockMs: number; readonly timeoutMs: number },
  ): AsyncGenerator<readonly LogEntry[]> {
    const ask = (id: string): Promise<RedisReply> =>
      this.#within(this.#entries, this.#ask(this.#reading(id, 'BLOCK', blockMs), timeoutMs))
    for (let coming = ask(this.#idBefore(after)); ; ) {
      const entries = this.#learned(await coming)
      const last = entries.at(-1)
      if (last === undefined) return
      coming = ask(textOf(Array.isArray(last) ? (last as readonly RedisReply[])[0] : null))
      coming.catch(() => {}) // Nobody may ask for it any more.
      yield written(entries)
    }
  }

  /**
   * Entries after this place, of one moment with where the collection is: that it is the one that it was, and that there is nothing
   * more than what its entries say; where there are no entries, that there was no change.
   */
  async verify(at: Position | Absent): Promise<Verification> {
    return 'absentAt' in at ? await this.#proveAbsence(at) : await this.#provePlace(at)
  }

  /**
   * Rejects with `EPOCH_CHANGED` if the collection is not a later state of the one that was at `shown`. If the log no longer reaches back to
   * `shown`, only the numbers are compared.
   */
  async assertContinues(shown: Position | Absent): Promise<void> {
    const { stream, meta } = this.#keys
    const before = 'absentAt' in shown ? '0-0' : idBefore(shown)
    const [place, found] = await this.#session.transaction([
      ['HMGET', meta, ...META_FIELDS],
      ['XREAD', 'COUNT', 1, 'STREAMS', stream, before],
    ])
    const here = readMeta(place)
    if ('absentAt' in shown) {
      if (here !== undefined) assertBeganAfter(shown, here)
      return
    }
    assertSameHistory(shown, here)
    const [entry] = written(entriesOf(found ?? null))
    if (entry !== undefined) assertPrecedes(shown, entry)
  }

  async #provePlace(at: Position): Promise<Verification> {
    const { hash, stream, meta } = this.#keys
    const reading = this.#session.transaction([
      ['HMGET', meta, ...META_FIELDS],
      ['HLEN', hash],
      ['XREAD', 'COUNT', this.#entries.size, 'STREAMS', stream, idOf(at)],
    ])
    const [place, size, found] = await this.#within(this.#entries, reading)
    const here = readMeta(place)
    assertSameHistory(at, here)
    const entries = written(this.#learned(found ?? null))
    const last = entries.at(-1)?.position ?? at
    assertNotTrimmed(at, here, entries)
    return { entries, isHead: last.sequence === here.sequence, count: here.count, flaw: this.#flaw(Number(size), here) }
  }

  async #proveAbsence(at: Absent): Promise<Verification> {
    const { hash, stream, meta } = this.#keys
    const [place, last, size] = await this.#session.transaction([
      ['HMGET', meta, ...META_FIELDS],
      ['XREVRANGE', stream, '+', '-', 'COUNT', 1],
      ['HLEN', hash],
    ])
    const here = readMeta(place)
    if (here === undefined) {
      // What is left of an older history is not the beginning of the next, which begins above it.
      const [newest] = Array.isArray(last) ? (last as readonly RedisReply[]) : []
      if (Array.isArray(newest)) this.#before = textOf((newest as readonly RedisReply[])[0])
      return { entries: [], isHead: true, count: 0, flaw: Number(size) > 0 ? this.#orphans(Number(size)) : undefined }
    }
    assertBeganAfter(at, here)
    this.#before = idBefore({ epoch: here.epoch, sequence: 0 })
    const entries = await this.read(at)
    if (entries.length === 0) throw expired('the beginning of a new history was trimmed')
    return { entries, isHead: false, count: here.count, flaw: undefined }
  }

  #flaw(size: number, { count }: Meta): string | undefined {
    const { hash, meta } = this.#keys
    return size === count
      ? undefined
      : `${hash} has ${size} fields and its history says ${count}: something else than a redisWriter writes there, or its fields expire (to take it as it is: DEL ${meta}, and apply([]) by a writer)`
  }

  async #look(): Promise<Meta | undefined> {
    const { hash, meta } = this.#keys
    const [place, size] = await this.#session.transaction([
      ['HMGET', meta, ...META_FIELDS],
      ['HLEN', hash],
    ])
    const here = readMeta(place)
    if (here !== undefined || Number(size) === 0) return here
    throw new SourceError(this.#orphans(Number(size)), { code: 'PROTOCOL' })
  }

  #orphans(size: number): string {
    const { hash } = this.#keys
    return `${hash} has ${size} fields and no history: apply([]) by a redisWriter makes a collection of it, DEL ${hash} an empty one`
  }

  #idBefore(at: Position | Absent): string {
    return 'absentAt' in at ? this.#before : idOf(at)
  }

  #reading(after: string, ...block: readonly (string | number)[]): RedisCommand {
    return ['XREAD', 'COUNT', this.#entries.size, ...block, 'STREAMS', this.#keys.stream, after]
  }

  /** The answer to a request for a portion, which learns if it does not arrive. */
  async #within<V>(portion: AdaptivePageSize, reply: Promise<V>, items: number = portion.size): Promise<V> {
    try {
      return await reply
    } catch (error) {
      throw portion.failed(error, items, this.#session.clock.now())
    }
  }

  /** The entries of an answer, by the size of which the next one is asked for. */
  #learned(reply: RedisReply): readonly RedisReply[] {
    const entries = entriesOf(reply)
    let bytes = 0
    for (const entry of entries) bytes += bytesOf(Array.isArray(entry) ? (entry as readonly RedisReply[])[1] : null)
    this.#entries.arrived(entries.length, bytes)
    return entries
  }
}

/** The last id before this one. */
function idBefore({ epoch, sequence }: Pick<Position, 'epoch' | 'sequence'>): string {
  return sequence > 0 ? `${epoch}-${sequence - 1}` : `${epoch - 1}-${LAST_SEQUENCE}`
}

function assertBeganAfter({ absentAt }: Absent, { epoch }: Meta): void {
  if (epoch < absentAt) throw forked('the clock of the server went back')
}

/** Of these, those that a writer wrote. What somebody else adds is no part of the history: the next write begins another above it. */
function written(replies: readonly RedisReply[]): readonly LogEntry[] {
  const entries: LogEntry[] = []
  for (const reply of replies) {
    const entry = readEntry(reply)
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

function bytesOf(fields: RedisReply | undefined): number {
  let bytes = 0
  if (Array.isArray(fields))
    for (const field of fields as readonly RedisReply[])
      if (typeof field === 'string' || Buffer.isBuffer(field)) bytes += field.length
  return bytes
}
