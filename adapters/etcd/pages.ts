import { SourceError } from '../../src/errors.js'
import { isCompacted, isFuture, isTooLarge } from './etcd-errors.js'
import { type KeyRange, keyAfter } from './key-range.js'
import type { Header, KeyValue, RangeRequest, RangeResponse } from './messages.js'
import type { Visit } from './visit.js'

/** As large may a value be, where the server is not told otherwise. */
const LARGEST_VALUE = 1.5 * 1024 * 1024
/** What an entry takes besides key and value, in bytes, about. */
const OVERHEAD = 32

export interface PagesOptions {
  readonly range: KeyRange
  /** Most keys of a page; etcd counts the rest of the range on every page, so that small ones are dear. */
  readonly pageSize: number
  /** About how large a page may be. */
  readonly pageBytes: number
  readonly isKeysOnly: boolean
  /** What was learned of how many keys an answer may have at most; kept from one list to the next. */
  readonly learned: { mostKeys: number }
}

export interface RangePage {
  /** Of the first page: `header.revision` of later ones is that of the server then. */
  readonly header: Header
  /** Of the whole range. */
  readonly count: number
  readonly kvs: readonly KeyValue[]
  readonly remaining: number
}

/** A range at one revision, in pages. The first is what a majority stands for; what it pinned any member can tell. */
export async function* rangePages(visit: Visit, options: PagesOptions): AsyncGenerator<RangePage> {
  const { range, pageSize, pageBytes, isKeysOnly, learned } = options
  // Nobody knows yet how large values are.
  let limit = Math.max(1, Math.min(pageSize, learned.mostKeys, Math.floor(pageBytes / LARGEST_VALUE)))
  let first: RangeResponse | undefined
  let key = range.start
  for (let seen = 0; ; ) {
    const revision = first?.header.revision ?? 0
    let answer: RangeResponse
    try {
      answer = await ask(visit, { key, end: range.end, limit, revision, isKeysOnly, isSerializable: revision !== 0 })
    } catch (error) {
      if (!isTooLarge(error) || limit === 1) throw error
      learned.mostKeys = limit = Math.max(1, Math.floor(limit / 4))
      continue
    }
    first ??= answer
    const { kvs } = answer
    seen += kvs.length
    yield { header: first.header, count: first.count, kvs, remaining: Math.max(0, first.count - seen) }
    const last = kvs.at(-1)
    if (!answer.hasMore || last === undefined) return
    key = keyAfter(last.key)
    limit = Math.max(1, Math.min(pageSize, learned.mostKeys, limit * 100, Math.floor(pageBytes / averageBytes(kvs))))
  }
}

async function ask(visit: Visit, request: RangeRequest): Promise<RangeResponse> {
  try {
    return await visit.range(request)
  } catch (error) {
    // A member that lags behind must ask the others.
    if (isFuture(error) && request.isSerializable === true)
      return await visit.range({ ...request, isSerializable: false })
    if (!isCompacted(error)) throw error
    const message = `revision ${request.revision ?? 0} was compacted while it was being read; a larger pageSize is quicker`
    throw new SourceError(message, { code: 'UNAVAILABLE', cause: error })
  }
}

function averageBytes(kvs: readonly KeyValue[]): number {
  const bytes = kvs.reduce((sum, { key, value }) => sum + key.length + value.length + OVERHEAD, 0)
  return bytes / kvs.length
}
