import { createHash } from 'node:crypto'
import { SourceError } from '../../../src/contract/errors.js'
import { expired, forked } from '../../shared/source-errors.js'
import type { RedisReply } from '../connection/client.js'
import { textOf } from '../connection/session.js'
import { BEGIN, compareIds, type StreamPosition } from './stream-version.js'

/** An entry as it came: names and values in turn. */
export interface StreamEntry {
  readonly id: string
  readonly fields: readonly RedisReply[]
}

/** What the server says of a stream; one that is not there is one to which nothing was ever added. */
export interface StreamFacts {
  readonly added: number
  readonly length: number
  readonly first: string | undefined
  /** Of the entry that was added last, whether it is still there or not. */
  readonly last: string
  /** Of the last one that was deleted by its id; trimming does not count. */
  readonly deleted: string
  /** The newest entry that is there. */
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

/** Of XINFO STREAM. */
export function factsOf(reply: RedisReply | undefined): StreamFacts {
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
    newest: newestOf(pairs.get('last-entry')),
  }
}

/** Where a stream ends. */
export function endOf(facts: StreamFacts): StreamPosition {
  const { last: id, added, newest } = facts
  // The last one may have been deleted before anybody read it.
  return { id, added, digest: newest?.id === id ? digestOf(newest) : undefined, origin: originOf(facts) }
}

/** The very first entry, where none was ever removed. */
export function originOf({ added, length, first }: StreamFacts): string | undefined {
  return added === length ? first : undefined
}

/** That this is the history in which `from` was read, as far as the server tells; `at` is the entry that it now has there. */
export function assertSame(from: StreamPosition, facts: StreamFacts, at: StreamEntry | undefined): void {
  const { id, digest, origin } = from
  const { added, length, first, last, deleted } = facts
  const begin = originOf(facts)
  if (origin !== undefined && begin !== undefined && begin !== origin)
    throw forked(`it begins with the entry ${begin}, and began with ${origin}`)
  if (compareIds(last, id) < 0) throw forked(`it ends at ${last}, and was read up to ${id}`)
  if (from.added !== undefined && added < from.added)
    throw forked(`${added} entries were added to it, and ${from.added} were read`)
  if (at !== undefined && digest !== undefined && digestOf(at) !== digest) throw forked(`the entry ${id} is another`)
  const gone = added - length
  const isPast = first === undefined || compareIds(first, id) > 0
  // A place whose entry was gone before it was read has numbers, and no digest.
  const hadEntry = id !== BEGIN && (digest !== undefined || from.added === undefined)
  if (hadEntry && at === undefined && (gone === 0 || (!isPast && compareIds(deleted, id) < 0)))
    throw forked(`it has no entry ${id}, and never had`)
  if (isPast && from.added !== undefined && gone < from.added)
    throw forked(
      `it begins with ${first ?? 'nothing'}, and only ${gone} of the ${from.added} entries up to ${id} are gone`,
    )
}

/** That no more is gone than was read: found out before the end is reached. */
export function assertReached(from: StreamPosition, { added, length }: StreamFacts): void {
  const gone = added - length
  if (from.added !== undefined && gone > from.added)
    throw expired(`${gone} entries are gone, and ${from.added} were read`)
}

/** That exactly as many entries were added as were read. */
export function assertCounted(from: StreamPosition, { added }: StreamFacts, read: number): void {
  if (from.added === undefined) return
  const grown = added - from.added
  if (grown < read) throw forked(`${grown} entries were added after ${from.id}, and ${read} are there`)
  if (grown > read) throw expired(`${grown} entries were added after ${from.id}, and ${read} of them are left`)
}

/** That the next entry is seen to be the next where numbers are not known; `mayMiss` where what was deleted since is no concern. */
export function assertWhole({ id }: StreamPosition, facts: StreamFacts, mayMiss: boolean): void {
  const { added, length, first, last, deleted } = facts
  const isNothingGone = added === length
  const isReachedBack = first !== undefined && compareIds(first, id) <= 0
  if (!isNothingGone && !isReachedBack && last !== id)
    throw expired(`the stream begins at ${first ?? last}, and what came between ${id} and that is gone`)
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
  return listOf(reply).map((each) => {
    const [id, fields] = listOf(each)
    return { id: textOf(id), fields: listOf(fields) }
  })
}

export function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
}

function newestOf(reply: RedisReply | undefined): StreamEntry | undefined {
  return Array.isArray(reply) ? streamEntriesOf([reply])[0] : undefined
}
