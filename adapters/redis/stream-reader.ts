import { createHash } from 'node:crypto'
import { messageOf, SourceError } from '../../src/errors.js'
import type { RedisReply } from './client.js'
import { Portion } from './portion.js'
import { expired, forked } from './redis-errors.js'
import { type RedisCommand, type Session, textOf } from './session.js'
import { BEGIN, compareIds, placeAt, type StreamPlace } from './stream-version.js'

/** An entry as it came: names and values in turn. */
export interface StreamEntry {
  readonly id: string
  readonly fields: readonly RedisReply[]
}

export interface StreamReaderOptions {
  readonly key: string
  /** Most entries that one read asks for. */
  readonly most: number
  /** Whether entries that are gone from the middle of what a snapshot lacks are no concern. */
  readonly isLenient: boolean
}

/** What the server says of a stream; one that is not there is one to which nothing was ever added. */
interface Facts {
  readonly added: number
  readonly length: number
  readonly first: string | undefined
  /** Of the entry that was added last, whether it is still there or not. */
  readonly last: string
  /** Of the last one that was deleted by its id; trimming does not count. */
  readonly deleted: string
}

const NOTHING: Facts = { added: 0, length: 0, first: undefined, last: BEGIN, deleted: BEGIN }

/**
 * Reads a stream that others write from a place on, and holds each step against what the server counts: that entries were
 * trimmed or deleted before they were read shows in their number alone. Rejects with `VERSION_EXPIRED` where some are
 * missed, with `EPOCH_CHANGED` where this is not the history that was read before.
 */
export class StreamReader {
  readonly #session: Session
  readonly #options: StreamReaderOptions
  readonly #portion: Portion
  #place: StreamPlace
  /** Whether what is read is whatever is left of the stream, up to its end. */
  #isFolding = false

  constructor(session: Session, place: StreamPlace, options: StreamReaderOptions) {
    this.#session = session
    this.#place = place
    this.#options = options
    this.#portion = new Portion(options.most)
  }

  /** All entries up to there were given. */
  get place(): StreamPlace {
    return this.#place
  }

  /** The next entries; none, where there are none now. */
  async next(): Promise<{ readonly entries: readonly StreamEntry[]; readonly isAll: boolean }> {
    const { key } = this.#options
    const count = this.#portion.size
    const from = this.#place
    const [facts, answer, at] = await this.#look([
      ['XREAD', 'COUNT', count, 'STREAMS', key, from.id],
      ['XRANGE', key, from.id, from.id],
    ])
    const entries = entriesOf(firstStream(answer))
    this.#portion.learn(entries.length, bytesOf(entries))
    assertSame(from, facts, entriesOf(at)[0])
    assertReached(from, facts)
    if (from.added === undefined && !this.#isFolding) this.#assertWhole(from, facts)
    const last = entries.at(-1)
    const isAll = entries.length < count || last?.id === facts.last
    const origin = from.origin ?? originOf(facts)
    if (isAll) {
      assertCounted(from, facts, entries.length)
      // The last one may have been deleted before anybody read it, and been told to who asked where the stream ends.
      this.#place = { id: facts.last, added: facts.added, digest: digestAt(facts.last, last, from), origin }
    } else if (last !== undefined) {
      const added = from.added === undefined ? undefined : from.added + entries.length
      this.#place = { id: last.id, added, digest: digestOf(last), origin }
    }
    return { entries, isAll }
  }

  /** Settles when there may be something new, or after so many milliseconds. */
  async wait(ms: number, deadlineMs: number): Promise<void> {
    const { key } = this.#options
    await this.#session.command(['XREAD', 'COUNT', 1, 'BLOCK', ms, 'STREAMS', key, this.#place.id], deadlineMs)
  }

  /** From the oldest entry that is there. Rejects where older ones are gone, unless that is no concern. */
  async rewind(): Promise<void> {
    const [{ added, length }] = await this.#look([])
    const gone = added - length
    if (gone > 0 && !this.#options.isLenient) {
      throw new SourceError(
        `${gone} of ${added} entries of the stream ${this.#options.key} are gone, and what they said is not known: ` +
          `give a snapshot, or whenTrimmed: 'fold' where the newest entry of each key always stays`,
        { code: 'PROTOCOL' },
      )
    }
    // Where it is no concern what is gone, neither is what goes while the rest is read.
    this.#place = { ...placeAt(BEGIN), added: this.#options.isLenient ? undefined : gone }
    this.#isFolding = this.#options.isLenient
  }

  /** What the server says of the stream, and to these questions, at one moment. */
  async #look(commands: readonly RedisCommand[]): Promise<readonly [Facts, ...RedisReply[]]> {
    try {
      const [info, ...answers] = await this.#session.transaction(
        [['XINFO', 'STREAM', this.#options.key], ...commands],
        true,
      )
      return [factsOf(info), ...answers]
    } catch (error) {
      if (/no such key/.test(messageOf(error))) return [NOTHING, null, []]
      throw error
    }
  }

  /** A snapshot knows no numbers: then the next entry must be seen to be the next. */
  #assertWhole({ id }: StreamPlace, { added, length, first, last, deleted }: Facts): void {
    const isNothingGone = added === length
    const isReachedBack = first !== undefined && compareIds(first, id) <= 0
    if (!isNothingGone && !isReachedBack && last !== id)
      throw expired(`the stream begins at ${first ?? last}, and what came between ${id} and that is gone`)
    if (compareIds(deleted, id) > 0 && !this.#options.isLenient)
      throw expired(`an entry after ${id} was deleted (${deleted})`)
  }
}

/** The end of the stream, as marks have it. */
export async function endOf(session: Session, key: string): Promise<string> {
  const [info] = await session.transaction([['XINFO', 'STREAM', key]]).catch((error: unknown) => {
    if (/no such key/.test(messageOf(error))) return [undefined]
    throw error
  })
  return info === undefined ? BEGIN : factsOf(info).last
}

/** That this is the history in which `from` was read, as far as the server tells. */
function assertSame(from: StreamPlace, facts: Facts, at: StreamEntry | undefined): void {
  const { id, digest, origin } = from
  const { added, first, last, deleted } = facts
  const begin = originOf(facts)
  if (origin !== undefined && begin !== undefined && begin !== origin)
    throw forked(`it begins with the entry ${begin}, and began with ${origin}`)
  if (compareIds(last, id) < 0) throw forked(`it ends at ${last}, and was read up to ${id}`)
  if (from.added !== undefined && added < from.added)
    throw forked(`${added} entries were added to it, and ${from.added} were read`)
  if (digest === undefined) return
  if (at !== undefined && digestOf(at) !== digest) throw forked(`the entry ${id} is another`)
  const isTrimmed = first === undefined || compareIds(first, id) > 0
  const isDeleted = compareIds(deleted, id) >= 0
  if (at === undefined && !isTrimmed && !isDeleted) throw forked(`it has no entry ${id}, and never had`)
}

/** That no more is gone than was read: found out before the end is reached. */
function assertReached(from: StreamPlace, { added, length }: Facts): void {
  const gone = added - length
  if (from.added !== undefined && gone > from.added)
    throw expired(`${gone} entries are gone, and ${from.added} were read`)
}

/** That exactly as many entries were added as were read. */
function assertCounted(from: StreamPlace, { added }: Facts, read: number): void {
  if (from.added === undefined) return
  const grown = added - from.added
  if (grown < read) throw forked(`${grown} entries were added after ${from.id}, and ${read} are there`)
  if (grown > read) throw expired(`${grown} entries were added after ${from.id}, and ${read} of them are left`)
}

function digestAt(id: string, last: StreamEntry | undefined, from: StreamPlace): string | undefined {
  if (last !== undefined) return last.id === id ? digestOf(last) : undefined
  return from.id === id ? from.digest : undefined
}

function digestOf({ id, fields }: StreamEntry): string {
  const hash = createHash('sha1').update(id)
  for (const field of fields) {
    const bytes = Buffer.isBuffer(field) ? field : Buffer.from(textOf(field))
    hash.update(`\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex').slice(0, 16)
}

function factsOf(reply: RedisReply | undefined): Facts {
  const pairs = new Map<string, RedisReply>()
  const flat = listOf(reply)
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.set(textOf(flat[at]), flat[at + 1] ?? null)
  const added = pairs.get('entries-added')
  if (added === undefined) throw new SourceError('Redis 7.0 or later is needed', { code: 'PROTOCOL' })
  const [first] = listOf(pairs.get('first-entry'))
  return {
    added: Number(textOf(added)),
    length: Number(textOf(pairs.get('length'))),
    first: first === undefined ? undefined : textOf(first),
    last: textOf(pairs.get('last-generated-id')),
    deleted: textOf(pairs.get('max-deleted-entry-id')),
  }
}

/** The very first entry, where none was ever removed. */
function originOf({ added, length, first }: Facts): string | undefined {
  return added === length ? first : undefined
}

function bytesOf(entries: readonly StreamEntry[]): number {
  let bytes = 0
  for (const { fields } of entries)
    for (const field of fields) if (typeof field === 'string' || Buffer.isBuffer(field)) bytes += field.length
  return bytes
}

/** The entries of the only stream that was asked for. */
function firstStream(reply: RedisReply | undefined): RedisReply | undefined {
  return listOf(listOf(reply)[0])[1]
}

function entriesOf(reply: RedisReply | undefined): StreamEntry[] {
  return listOf(reply).map((each) => {
    const [id, fields] = listOf(each)
    return { id: textOf(id), fields: listOf(fields) }
  })
}

function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
}
