import { createHash } from 'node:crypto'
import { expired, forked, refused } from '../../common/source-errors.js'
import { type RedisReply, repliesIn } from '../connection/client.js'
import { textOf } from '../connection/session.js'
import { BEGIN, compareIds, type StreamPosition } from './stream-version.js'

/** An entry. `fields` has names and values alternately. */
export interface StreamEntry {
  readonly id: string
  readonly fields: readonly RedisReply[]
}

/** The counters of a stream. A stream that does not exist counts as empty. */
export interface StreamFacts {
  readonly added: number
  readonly length: number
  readonly first: string | undefined
  /** The id of the last added entry, even if it was removed. */
  readonly last: string
  /** The greatest id of an entry that was deleted with XDEL. Trimmed entries do not count. */
  readonly deleted: string
  readonly newest: StreamEntry | undefined
}

export const NOTHING: StreamFacts = {
  added: 0,
  length: 0,
  first: undefined,
  last: BEGIN,
  deleted: BEGIN,
  newest: undefined,
}

export function factsOf(reply: RedisReply | undefined): StreamFacts {
  const pairs = new Map<string, RedisReply>()
  const flat = repliesIn(reply)
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.set(textOf(flat[at]), flat[at + 1] ?? null)
  const added = pairs.get('entries-added')
  if (added === undefined) throw refused('Redis 7.0 or later is needed')
  const [first] = repliesIn(pairs.get('first-entry'))
  return {
    added: Number(textOf(added)),
    length: Number(textOf(pairs.get('length'))),
    first: first === undefined ? undefined : textOf(first),
    last: textOf(pairs.get('last-generated-id')),
    deleted: textOf(pairs.get('max-deleted-entry-id')),
    newest: newestOf(pairs.get('last-entry')),
  }
}

export function endOf(facts: StreamFacts): StreamPosition {
  const { last: id, added, newest } = facts
  // The last added entry may have been deleted.
  return { id, added, digest: newest?.id === id ? digestOf(newest) : undefined, origin: originOf(facts) }
}

/** The id of the first entry of the history; undefined if entries were removed. */
export function originOf({ added, length, first }: StreamFacts): string | undefined {
  return added === length ? first : undefined
}

/** Throws if the stream is another one than at `from`. `at`: the entry that now has the id of `from`. */
export function assertSame(from: StreamPosition, facts: StreamFacts, at: StreamEntry | undefined): void {
  const { id, digest, origin } = from
  const { added, length, first, last, deleted } = facts
  const begin = originOf(facts)
  if (origin !== undefined && begin !== undefined && begin !== origin)
    throw forked(`it begins with the entry ${begin}, and began with ${origin}`)
  if (compareIds(last, id) < 0) throw forked(`it ends at ${last}, and was read up to ${id}`)
  if (from.added !== undefined && added < from.added)
    throw forked(`${added} entries were added to it, and ${from.added} were read`)
  if (at !== undefined && digest !== undefined && digestOf(at) !== digest) throw forked(`the entry ${id} has changed`)
  const gone = added - length
  const isPast = first === undefined || compareIds(first, id) > 0
  // A position whose entry was deleted before it was read has a count, and no digest.
  const hadEntry = id !== BEGIN && (digest !== undefined || from.added === undefined)
  if (hadEntry && at === undefined && (gone === 0 || (!isPast && compareIds(deleted, id) < 0)))
    throw forked(`it never had an entry ${id}`)
  if (isPast && from.added !== undefined && gone < from.added)
    throw forked(
      `it begins with ${first ?? 'nothing'}, and only ${gone} of the ${from.added} entries up to ${id} are gone`,
    )
}

/** Throws `VERSION_EXPIRED` if more entries were removed than read. */
export function assertReached(from: StreamPosition, { added, length }: StreamFacts): void {
  const gone = added - length
  if (from.added !== undefined && gone > from.added)
    throw expired(`${gone} entries are gone, and ${from.added} were read`)
}

export function assertCounted(from: StreamPosition, { added }: StreamFacts, read: number): void {
  if (from.added === undefined) return
  const grown = added - from.added
  if (grown < read) throw forked(`${grown} entries were added after ${from.id}, and ${read} are there`)
  if (grown > read) throw expired(`${grown} entries were added after ${from.id}, and ${read} of them are left`)
}

/** For a position without a count. `mayMiss`: deleted entries may be missing. */
export function assertWhole({ id }: StreamPosition, facts: StreamFacts, mayMiss: boolean): void {
  const { added, length, first, last, deleted } = facts
  const isNothingGone = added === length
  const isReachedBack = first !== undefined && compareIds(first, id) <= 0
  if (!isNothingGone && !isReachedBack && last !== id)
    throw expired(`the stream begins at ${first ?? last}, and the entries between ${id} and that were removed`)
  if (compareIds(deleted, id) > 0 && !mayMiss) throw expired(`an entry after ${id} was deleted (${deleted})`)
}

export function digestOf({ id, fields }: StreamEntry): string {
  const hash = createHash('sha1').update(id)
  for (const field of fields) {
    const bytes = Buffer.isBuffer(field) ? field : Buffer.from(textOf(field))
    hash.update(`\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex').slice(0, 16)
}

export function streamEntriesOf(reply: RedisReply | undefined): StreamEntry[] {
  return repliesIn(reply).map((each) => {
    const entry = repliesIn(each)
    return { id: textOf(entry[0]), fields: repliesIn(entry[1]) }
  })
}

function newestOf(reply: RedisReply | undefined): StreamEntry | undefined {
  return Array.isArray(reply) ? streamEntriesOf([reply])[0] : undefined
}
