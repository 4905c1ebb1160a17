import { ReadPace } from '../../common/poll-timer.js'
import { expired, forked, refused } from '../../common/source-errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { bytesIn, emptyReply, type RedisReply, repliesIn } from '../connection/client.js'
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

export interface Verification {
  readonly entries: readonly LogEntry[]
  readonly isHead: boolean
  /** The expected number of fields of the hash after the newest entry. */
  readonly count: number
  /** Describes the differences between the hashes and their history, by the key of the hash. */
  readonly flaws: ReadonlyMap<string, string>
}

const LAST_SEQUENCE = '18446744073709551615'

export interface Field {
  readonly key: Buffer
  readonly value: Buffer
}

/** A field of the hash. `flaw` describes why the collection counts as deleted. */
export interface FoundField {
  readonly value: Buffer | undefined
  readonly at: Position | Absent
  readonly flaw?: string
}

export interface CollectionReaderOptions {
  readonly keys: CollectionKeys
  /** The collections that `verify` compares with the history. Default: the one with these keys. */
  readonly verified?: readonly CollectionKeys[] | undefined
  readonly pageSize: number
  readonly responseSize: ResponseSizeLimit
}

export class CollectionReader {
  readonly #session: Session
  readonly #keys: CollectionKeys
  readonly #verified: readonly CollectionKeys[]
  readonly #fields: AdaptivePageSize
  readonly #entries: AdaptivePageSize
  #before = '0-0'

  constructor(session: Session, { keys, verified = [keys], pageSize, responseSize }: CollectionReaderOptions) {
    this.#session = session
    this.#keys = keys
    this.#verified = verified
    this.#fields = new AdaptivePageSize(pageSize, responseSize)
    this.#entries = new AdaptivePageSize(pageSize, responseSize)
  }

  /** The current position; if the collection does not exist, a time at which it did not. */
  async current(): Promise<Meta | Absent> {
    const here = await this.#readMeta()
    if (here !== undefined) return here
    // The time is read before the second attempt: each history that began before that time is gone.
    const absent = await this.#absent()
    return (await this.#readMeta()) ?? absent
  }

  /** The position is that of no collection if a write with `exact` would begin another history: after damage. */
  async field(key: string): Promise<FoundField> {
    const { hash } = this.#keys
    const [place, length, found] = await this.#session.transaction([
      this.#readingMeta([this.#keys]),
      ['HLEN', hash],
      ['HGET', hash, key],
    ])
    const at = readMeta(place)
    const size = Number(length)
    const value = Buffer.isBuffer(found) ? found : undefined
    if (at?.counts[0] === size) return { value, at }
    // Without a position, only a hash with this field was a collection before.
    if (at !== undefined || value !== undefined)
      return { value: undefined, at: await this.#absent(), flaw: difference(hash, size, at?.counts[0]) }
    const here = await this.current()
    return 'absentAt' in here ? { value: undefined, at: here } : await this.field(key)
  }

  /** Some fields of the hash, and the next cursor, which is `0` at the end. Other clients may write meanwhile. */
  async scan(cursor: string): Promise<{ readonly next: string; readonly fields: readonly Field[] }> {
    const { size } = this.#fields
    const scan = this.#session.command(['HSCAN', this.#keys.hash, cursor, 'COUNT', size])
    const reply = await this.#fields.response(scan, this.#session.clock, size)
    const [next, items] = repliesIn(reply)
    const parts = repliesIn(items)
    const fields: Field[] = []
    let bytes = 0
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const key = parts[i]
      const value = parts[i + 1]
      if (!Buffer.isBuffer(key) || !Buffer.isBuffer(value)) break
      fields.push({ key, value })
      bytes += key.length + value.length
    }
    emptyReply(items)
    this.#fields.arrived(fields.length, bytes)
    return { next: textOf(next), fields }
  }

  async read(after: Position | Absent): Promise<readonly LogEntry[]> {
    const reply = this.#session.command(this.#reading(this.#idBefore(after)))
    return written(this.#entriesIn(await this.#entries.response(reply, this.#session.clock)))
  }

  /** Until none arrive for `blockMs`. The next entries are requested before the previous ones are yielded. */
  async *follow(
    after: Position | Absent,
    { blockMs, timeoutMs }: { readonly blockMs: number; readonly timeoutMs: number },
  ): AsyncGenerator<readonly LogEntry[]> {
    const { clock } = this.#session
    const request = (id: string): Promise<RedisReply> =>
      this.#entries.response(this.#session.command(this.#reading(id, 'BLOCK', blockMs), timeoutMs), clock)
    const pace = new ReadPace(clock)
    for (let coming = request(this.#idBefore(after)); ; ) {
      const { size } = this.#entries
      const entries = this.#entriesIn(await coming)
      const last = entries.at(-1)
      if (last === undefined) return
      const id = textOf(repliesIn(last)[0])
      const restMs = entries.length < size ? pace.restMs(entries.length) : 0 // A full page has more after it.
      coming = restMs > 0 ? clock.sleep(restMs).then(() => request(id)) : request(id)
      coming.catch(() => {}) // The consumer may have stopped.
      yield written(entries)
    }
  }

  async verify(at: Position | Absent): Promise<Verification> {
    return 'absentAt' in at ? await this.#verifyAbsence(at) : await this.#verifyPosition(at)
  }

  /** Rejects with `EPOCH_CHANGED` for another history. If the log begins after `floor`, only numbers are compared. */
  async assertContinues(floor: Position | Absent): Promise<void> {
    const { stream } = this.#keys
    const before = 'absentAt' in floor ? '0-0' : idBefore(floor)
    const [place, found] = await this.#session.transaction([
      this.#readingMeta([]),
      ['XREAD', 'COUNT', 1, 'STREAMS', stream, before],
    ])
    const here = readMeta(place)
    if ('absentAt' in floor) {
      if (here !== undefined) assertBeganAfter(floor, here)
      return
    }
    assertSameHistory(floor, here)
    const [entry] = written(entriesOf(found ?? null))
    if (entry !== undefined) assertPrecedes(floor, entry)
  }

  async #verifyPosition(at: Position): Promise<Verification> {
    const reading = this.#session.transaction([
      this.#readingMeta(this.#verified),
      ['XREAD', 'COUNT', this.#entries.size, 'STREAMS', this.#keys.stream, idOf(at)],
      ...this.#readingSizes(),
    ])
    const [place, found, ...sizes] = await this.#entries.response(reading, this.#session.clock)
    const here = readMeta(place)
    assertSameHistory(at, here)
    const entries = written(this.#entriesIn(found ?? null))
    const last = entries.at(-1)?.position ?? at
    assertNotTrimmed(at, here, entries)
    const [count = 0] = here.counts
    return { entries, isHead: last.sequence === here.sequence, count, flaws: this.#flaws(sizes, here) }
  }

  async #verifyAbsence(at: Absent): Promise<Verification> {
    const [place, last, ...sizes] = await this.#session.transaction([
      this.#readingMeta(this.#verified),
      ['XREVRANGE', this.#keys.stream, '+', '-', 'COUNT', 1],
      ...this.#readingSizes(),
    ])
    const here = readMeta(place)
    if (here === undefined) {
      // Entries of an older history may remain. The next history begins after them.
      const [newest] = repliesIn(last)
      if (newest !== undefined) this.#before = textOf(repliesIn(newest)[0])
      return { entries: [], isHead: true, count: 0, flaws: this.#flaws(sizes, undefined) }
    }
    assertBeganAfter(at, here)
    this.#before = idBefore({ epoch: here.epoch, sequence: 0 })
    const entries = await this.read(at)
    if (entries.length === 0) throw expired('the first entries of a new history were trimmed')
    return { entries, isHead: false, count: 0, flaws: new Map() }
  }

  async #absent(): Promise<Absent> {
    const time = await this.#session.command(['TIME'])
    const [seconds, microseconds] = repliesIn(time).map(Number)
    return { absentAt: Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000) }
  }

  #readingMeta(collections: readonly CollectionKeys[]): RedisCommand {
    return ['HMGET', this.#keys.meta, 'e', 'i', 'n', ...collections.map(({ count }) => count)]
  }

  #readingSizes(): readonly RedisCommand[] {
    return this.#verified.map(({ hash }) => ['HLEN', hash])
  }

  /** The flaws of the hashes with these numbers of fields. Without `here` there is no history. */
  #flaws(sizes: readonly RedisReply[], here: Meta | undefined): ReadonlyMap<string, string> {
    const flaws = new Map<string, string>()
    for (const [index, keys] of this.#verified.entries()) {
      const size = Number(sizes[index])
      if (size !== (here?.counts[index] ?? 0)) flaws.set(keys.hash, flawOf(keys, size, here?.counts[index]))
    }
    return flaws
  }

  async #readMeta(): Promise<Meta | undefined> {
    const { hash } = this.#keys
    const [place, size] = await this.#session.transaction([this.#readingMeta([this.#keys]), ['HLEN', hash]])
    const here = readMeta(place)
    if (here !== undefined || Number(size) === 0) return here
    throw refused(flawOf(this.#keys, Number(size)))
  }

  #idBefore(at: Position | Absent): string {
    return 'absentAt' in at ? this.#before : idOf(at)
  }

  #reading(after: string, ...block: readonly (string | number)[]): RedisCommand {
    return ['XREAD', 'COUNT', this.#entries.size, ...block, 'STREAMS', this.#keys.stream, after]
  }

  /** The entries of a reply. Their size determines the size of the next request. */
  #entriesIn(reply: RedisReply): readonly RedisReply[] {
    const entries = entriesOf(reply)
    let bytes = 0
    for (const entry of entries) bytes += bytesIn(repliesIn(repliesIn(entry)[1]))
    this.#entries.arrived(entries.length, bytes)
    return entries
  }
}

function difference(hash: string, size: number, count: number | undefined): string {
  return `${hash} has ${size} fields${count === undefined ? ' and no history' : `, and ${count} according to its history`}`
}

function flawOf({ hash, meta, start }: CollectionKeys, size: number, count?: number): string {
  const found = difference(hash, size, count)
  const write = start === '' ? 'apply([]) of a redisWriter' : 'commit(() => {}) of a redisDatabase with all collections'
  return count === undefined
    ? `${found}: ${write} makes it a collection, and DEL ${hash} empties it`
    : `${found}: another client writes to it, or its fields expire (to keep it as it is: DEL ${meta}, then ${write})`
}

function idBefore({ epoch, sequence }: Pick<Position, 'epoch' | 'sequence'>): string {
  return sequence > 0 ? `${epoch}-${sequence - 1}` : `${epoch - 1}-${LAST_SEQUENCE}`
}

function assertBeganAfter({ absentAt }: Absent, { epoch }: Meta): void {
  if (epoch < absentAt) throw forked('the clock of the server was set back')
}

/** The entries of writers. Entries of other clients are ignored: the next write begins a new history after them. */
function written(replies: readonly RedisReply[]): readonly LogEntry[] {
  const entries: LogEntry[] = []
  for (const reply of replies) {
    const entry = readEntry(reply)
    if (entry !== undefined) entries.push(entry)
  }
  emptyReply(replies)
  return entries
}
