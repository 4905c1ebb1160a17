import { messageOf } from '../../../src/contract/errors.js'
import { refused } from '../../common/source-errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { bytesIn, emptyReply, type RedisReply, repliesIn } from '../connection/client.js'
import type { RedisCommand, Session } from '../connection/session.js'
import {
  assertCounted,
  assertReached,
  assertSame,
  assertWhole,
  digestOf,
  endOf,
  factsOf,
  NOTHING,
  originOf,
  type StreamEntry,
  type StreamFacts,
  streamEntriesOf,
} from './stream-history.js'
import { BEGIN, positionAt, type StreamPosition } from './stream-version.js'

export interface StreamReaderOptions {
  readonly key: string
  readonly most: number
  readonly responseSize: ResponseSizeLimit
  /** Whether entries may be missing because they were deleted or trimmed. */
  readonly isLenient: boolean
  /** The end of the stream, if it was read before `position` was known. */
  readonly end?: StreamPosition | undefined
}

type StreamState = readonly [StreamFacts, ...RedisReply[]]

/**
 * Reads a stream from a position on, and compares each step with the counters of the server. Entries that were trimmed
 * or deleted before they were read show only in these counters. Rejects with `VERSION_EXPIRED` if entries are missing,
 * and with `EPOCH_CHANGED` if the history is another one.
 */
export class StreamReader {
  readonly #session: Session
  readonly #options: StreamReaderOptions
  readonly #pageSize: AdaptivePageSize
  /** That of the last returned entry. */
  position: StreamPosition
  /** Whether the remaining entries are read, up to the end of the stream, regardless of missing ones. */
  #isFolding = false
  /** A position without a count proves too little, so later reads also verify this one. */
  #end: StreamPosition | undefined
  /** The next read, which begins before the consumer has used the previous entries. */
  #prefetched: Promise<StreamState> | undefined

  constructor(session: Session, position: StreamPosition, options: StreamReaderOptions) {
    this.#session = session
    this.position = position
    this.#options = options
    this.#pageSize = new AdaptivePageSize(options.most, options.responseSize)
    this.#end = options.end
  }

  /** The next entries, without waiting. `isAll`: they are the newest ones. */
  async next(): Promise<{ readonly entries: readonly StreamEntry[]; readonly isAll: boolean }> {
    const { isLenient } = this.#options
    const [from, end, count] = [this.position, this.#end, this.#pageSize.size]
    const isCounted = from.added !== undefined
    const [facts, answer, at, atEnd] = await (this.#prefetched ?? this.#read())
    const found = repliesIn(repliesIn(answer)[0])[1]
    const entries = streamEntriesOf(found)
    emptyReply(found)
    this.#pageSize.arrived(entries.length, bytesOf(entries))
    assertSame(from, facts, streamEntriesOf(at)[0])
    if (!isCounted && end !== undefined) assertSame(end, facts, streamEntriesOf(atEnd)[0])
    assertReached(from, facts)
    if (!isCounted && !this.#isFolding) assertWhole(from, facts, isLenient)
    const last = entries.at(-1)
    const isAll = entries.length < count || last?.id === facts.last
    const origin = from.origin ?? originOf(facts)
    if (isAll) {
      assertCounted(from, facts, entries.length)
      this.position = { ...endOf(facts), origin }
    } else if (last !== undefined) {
      const added = from.added === undefined ? undefined : from.added + entries.length
      this.position = { id: last.id, added, digest: digestOf(last), origin }
      if (!isCounted) this.#end = endOf(facts)
    }
    this.#prefetched = isAll ? undefined : this.#read()
    this.#prefetched?.catch(() => {}) // The consumer may have stopped.
    return { entries, isAll }
  }

  async wait(ms: number, deadlineMs: number): Promise<void> {
    const { key } = this.#options
    await this.#session.command(['XREAD', 'COUNT', 1, 'BLOCK', ms, 'STREAMS', key, this.position.id], deadlineMs)
  }

  /** Moves to the oldest entry. Rejects if older entries were removed, unless the reader is lenient. */
  async rewind(): Promise<void> {
    const { key, isLenient } = this.#options
    const [{ added, length }] = await this.#pageSize.response(this.#state([]), this.#session.clock, 1)
    const gone = added - length
    if (gone > 0 && !isLenient) {
      throw refused(
        `${gone} of ${added} entries of the stream ${key} were removed: add the option snapshot, or whenTrimmed: 'fold' if the newest entry of each key always remains`,
      )
    }
    // A lenient reader also ignores entries that are removed while it reads.
    this.position = { ...positionAt(BEGIN), added: isLenient ? undefined : gone }
    this.#isFolding = isLenient
  }

  #read(): Promise<StreamState> {
    const { key } = this.#options
    const [{ id, added }, end, { size }] = [this.position, this.#end, this.#pageSize]
    const reading = this.#state([
      ['XREAD', 'COUNT', size, 'STREAMS', key, id],
      entryAt(key, id),
      ...(added !== undefined || end === undefined ? [] : [entryAt(key, end.id)]),
    ])
    return this.#pageSize.response(reading, this.#session.clock)
  }

  #state(commands: readonly RedisCommand[]): Promise<StreamState> {
    return readState(this.#session, this.#options.key, commands)
  }
}

export async function readEnd(session: Session, key: string): Promise<StreamPosition> {
  const [facts] = await readState(session, key, [])
  return endOf(facts)
}

/** Rejects with `EPOCH_CHANGED` if the stream is provably not a later state of the one at `floor`. */
export async function assertContinues(session: Session, key: string, floor: StreamPosition): Promise<void> {
  const [facts, at] = await readState(session, key, [entryAt(key, floor.id)])
  assertSame(floor, facts, streamEntriesOf(at)[0])
}

/** Reads the counters of the stream and sends other commands, in one transaction. */
async function readState(session: Session, key: string, commands: readonly RedisCommand[]): Promise<StreamState> {
  try {
    const [info, ...answers] = await session.transaction([['XINFO', 'STREAM', key], ...commands])
    return [factsOf(info), ...answers]
  } catch (error) {
    if (/no such key/.test(messageOf(error))) return [NOTHING, null]
    throw error
  }
}

function entryAt(key: string, id: string): RedisCommand {
  return ['XRANGE', key, id, id]
}

function bytesOf(entries: readonly StreamEntry[]): number {
  let bytes = 0
  for (const { fields } of entries) bytes += bytesIn(fields)
  return bytes
}
