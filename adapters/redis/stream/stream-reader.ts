import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import type { RedisReply } from '../connection/client.js'
import type { RedisCommand, Session } from '../connection/session.js'
import {
  assertCounted,
  assertReached,
  assertSame,
  assertWhole,
  digestOf,
  endOf,
  factsOf,
  listOf,
  NOTHING,
  originOf,
  type StreamEntry,
  type StreamFacts,
  streamEntriesOf,
} from './stream-history.js'
import { BEGIN, positionAt, type StreamPosition } from './stream-version.js'

export interface StreamReaderOptions {
  readonly key: string
  /** Most entries that one read asks for. */
  readonly most: number
  readonly responseSize: ResponseSizeLimit
  /** Whether entries that are gone from the middle of what a snapshot lacks are no concern. */
  readonly isLenient: boolean
  /** Where the stream ended when it was last looked at, where that was before `place` was known. */
  readonly end?: StreamPosition | undefined
}

/** What the server says of the stream, and its answers, at one moment. */
type Look = readonly [StreamFacts, ...RedisReply[]]

/**
 * Reads a stream that others write from a place on, and holds each step against what the server counts: that entries were
 * trimmed or deleted before they were read shows in their number alone. Rejects with `VERSION_EXPIRED` where some are
 * missed, with `EPOCH_CHANGED` where this is not the history that was read before.
 */
export class StreamReader {
  readonly #session: Session
  readonly #options: StreamReaderOptions
  readonly #portion: AdaptivePageSize
  #position: StreamPosition
  /** Whether what is read is whatever is left of the stream, up to its end. */
  #isFolding = false
  /** Where the stream ended: a place without numbers says too little, so this one is held against what comes next. */
  #end: StreamPosition | undefined
  /** What comes after `#position`, while what came before it is being used. */
  #coming: Promise<Look> | undefined

  constructor(session: Session, position: StreamPosition, options: StreamReaderOptions) {
    this.#session = session
    this.#position = position
    this.#options = options
    this.#portion = new AdaptivePageSize(options.most, options.responseSize)
    this.#end = options.end
  }

  /** All entries up to there were given. */
  get position(): StreamPosition {
    return this.#position
  }

  /** The next entries; none, where there are none now. */
  async next(): Promise<{ readonly entries: readonly StreamEntry[]; readonly isAll: boolean }> {
    const { isLenient } = this.#options
    const [from, end, count] = [this.#position, this.#end, this.#portion.size]
    const isCounted = from.added !== undefined
    const [facts, answer, at, atEnd] = await (this.#coming ?? this.#ask())
    const entries = streamEntriesOf(listOf(listOf(answer)[0])[1])
    this.#portion.arrived(entries.length, bytesOf(entries))
    assertSame(from, facts, streamEntriesOf(at)[0])
    if (!isCounted && end !== undefined) assertSame(end, facts, streamEntriesOf(atEnd)[0])
    assertReached(from, facts)
    if (!isCounted && !this.#isFolding) assertWhole(from, facts, isLenient)
    const last = entries.at(-1)
    const isAll = entries.length < count || last?.id === facts.last
    const origin = from.origin ?? originOf(facts)
    if (isAll) {
      assertCounted(from, facts, entries.length)
      this.#position = { ...endOf(facts), origin }
    } else if (last !== undefined) {
      const added = from.added === undefined ? undefined : from.added + entries.length
      this.#position = { id: last.id, added, digest: digestOf(last), origin }
      if (!isCounted) this.#end = endOf(facts)
    }
    this.#coming = isAll ? undefined : this.#ask()
    this.#coming?.catch(() => {}) // Nobody may ask for it any more.
    return { entries, isAll }
  }

  /** Settles when there may be something new, or after so many milliseconds. */
  async wait(ms: number, deadlineMs: number): Promise<void> {
    const { key } = this.#options
    await this.#session.command(['XREAD', 'COUNT', 1, 'BLOCK', ms, 'STREAMS', key, this.#position.id], deadlineMs)
  }

  /** From the oldest entry that is there. Rejects where older ones are gone, unless that is no concern. */
  async rewind(): Promise<void> {
    const { key, isLenient } = this.#options
    const [{ added, length }] = await this.#within(this.#look([]), 1)
    const gone = added - length
    if (gone > 0 && !isLenient) {
      throw new SourceError(
        `${gone} of ${added} entries of the stream ${key} are gone, and what they said is not known: ` +
          `give a snapshot, or whenTrimmed: 'fold' where the newest entry of each key always stays`,
        { code: 'PROTOCOL' },
      )
    }
    // Where it is no concern what is gone, neither is what goes while the rest is read.
    this.#position = { ...positionAt(BEGIN), added: isLenient ? undefined : gone }
    this.#isFolding = isLenient
  }

  #ask(): Promise<Look> {
    const { key } = this.#options
    const [{ id, added }, end, { size }] = [this.#position, this.#end, this.#portion]
    const reading = this.#look([
      ['XREAD', 'COUNT', size, 'STREAMS', key, id],
      entryAt(key, id),
      ...(added !== undefined || end === undefined ? [] : [entryAt(key, end.id)]),
    ])
    return this.#within(reading, size)
  }

  /** The response to a request for this number of entries; if it does not arrive, later requests are smaller. */
  #within(reading: Promise<Look>, items: number): Promise<Look> {
    return reading.catch((error: unknown) => {
      throw this.#portion.failed(error, items, this.#session.clock.now())
    })
  }

  #look(commands: readonly RedisCommand[]): Promise<Look> {
    return look(this.#session, this.#options.key, commands)
  }
}

/** The end of the stream now. */
export async function readEnd(session: Session, key: string): Promise<StreamPosition> {
  const [facts] = await look(session, key, [])
  return endOf(facts)
}

/** Rejects with `EPOCH_CHANGED` if the stream is not a later state of the one that was at `shown`, as far as the server tells. */
export async function assertContinues(session: Session, key: string, shown: StreamPosition): Promise<void> {
  const [facts, at] = await look(session, key, [entryAt(key, shown.id)])
  assertSame(shown, facts, streamEntriesOf(at)[0])
}

/** What the server says of the stream, and to these questions, at one moment. */
async function look(session: Session, key: string, commands: readonly RedisCommand[]): Promise<Look> {
  try {
    const [info, ...answers] = await session.transaction([['XINFO', 'STREAM', key], ...commands], true)
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
  for (const { fields } of entries)
    for (const field of fields) if (typeof field === 'string' || Buffer.isBuffer(field)) bytes += field.length
  return bytes
}
