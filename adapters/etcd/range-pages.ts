import type { Clock } from '../../src/contract/clock.js'
import { isUnavailable, unavailable } from '../common/source-errors.js'
import type { PageLimit } from './page-limit.js'
import { isCompacted, isTokenError, isTooLarge, isUnimplemented } from './transport/etcd-errors.js'
import { type Header, type KeyValue, NO_HEADER, type RangeResponse } from './transport/etcd-messages.js'
import { type KeyRange, keyAfter } from './transport/key-range.js'
import type { Session } from './transport/session.js'

export interface PagesOptions {
  readonly range: KeyRange
  readonly isKeysOnly: boolean
  readonly limit: PageLimit
  readonly clock: Clock
}

export interface RangePage {
  /** The header of the first page. The `header.revision` of a later page is the server's revision at that time. */
  readonly header: Header
  readonly count: number
  readonly kvs: readonly KeyValue[]
  readonly remaining: number
}

export function firstPage(session: Session, options: PagesOptions, timeoutMs?: number): Promise<RangeResponse> {
  return requestPage(session, options, { key: options.range.start, revision: 0, remaining: Infinity, timeoutMs })
}

/**
 * A range at one revision, in pages, after its first page. Every page is a linearizable read: the grpc-proxy of etcd
 * answers a serializable read from its cache, which may be older than a restored backup. The next page is requested
 * before the previous one is yielded, so that up to two pages are in memory.
 */
export async function* rangePages(
  session: Session,
  first: RangeResponse,
  options: PagesOptions,
): AsyncGenerator<RangePage> {
  const { header, count } = first
  const nextPage = laterPages(session, first, options)
  let received = 0
  for (let page = first; ; ) {
    assertFits(page, first, received)
    received += page.kvs.length
    const remaining = count - received
    const last = page.kvs.at(-1)
    const next = remaining === 0 || last === undefined ? undefined : nextPage(keyAfter(last.key), remaining)
    next?.catch(() => {}) // The consumer may have stopped.
    // gRPC writes the request in the next turn of the event loop, which a busy consumer would delay.
    if (next !== undefined) await options.clock.sleep(0)
    yield { header, count, kvs: page.kvs, remaining }
    if (next === undefined) {
      options.limit.completed()
      return
    }
    page = await next
  }
}

/** Pages after the first one are parts of a stream, which etcd 3.7 has, or requests one after the other. */
function laterPages(session: Session, { header }: RangeResponse, options: PagesOptions) {
  const { range, isKeysOnly, limit, clock } = options
  const { revision } = header
  let request: (() => Promise<RangeResponse | undefined>) | undefined
  let isFirst = true
  let streamed = 0
  /** The next part, as a page; undefined if there is no stream. */
  const nextPart = async (remaining: number): Promise<RangeResponse | undefined> => {
    const wasFirst = isFirst
    isFirst = false
    const sentAt = clock.now()
    const part = await request?.().catch((error: unknown) => {
      limit.streamFailed(isUnimplemented(error) || isTooLarge(error), clock.now() - sentAt)
      // A token that has just expired is replaced by the request for the page.
      if (!wasFirst || (isUnavailable(error) && !isTokenError(error))) throw explained(error, revision)
      request = undefined
    })
    if (part === undefined && request === undefined) return undefined
    if (part === undefined) throw unavailable(`the stream at revision ${revision} ended too early`)
    const before = streamed
    streamed += part.kvs.length
    const isLast = part.header.clusterId !== NO_HEADER.clusterId
    if (isLast) return { ...part, count: part.count - before }
    return { header, kvs: part.kvs, hasMore: true, count: remaining }
  }

  return async (key: Buffer, remaining: number): Promise<RangeResponse> => {
    if (isFirst && limit.hasStreams)
      request = session.rangeStream({ key, range_end: range.end, revision, keys_only: isKeysOnly })
    const page = request && (await nextPart(remaining))
    return page ?? (await requestPage(session, options, { key, revision, remaining }))
  }
}

/** Pages of one list belong to one history, and together have as many keys as the first page counted. */
function assertFits({ header, count, kvs, hasMore }: RangeResponse, first: RangeResponse, received: number): void {
  const { clusterId, term, revision } = first.header
  const isSame = header.clusterId === clusterId && header.term === term && header.revision >= revision
  const remaining = first.count - received
  if (isSame && count === remaining && hasMore === kvs.length < remaining && (kvs.length > 0 || remaining === 0)) return
  const detail = isSame
    ? `${count} keys (${kvs.length} on this page) were left instead of ${remaining}`
    : 'the term, the cluster or the revision of the server changed'
  throw unavailable(`the pages at revision ${revision} do not fit together: ${detail}`)
}

interface PageRequest {
  readonly key: Buffer
  readonly revision: number
  /** Number of keys from `key` on; Infinity if it is not known. */
  readonly remaining: number
  readonly timeoutMs?: number | undefined
}

async function requestPage(
  session: Session,
  { range, isKeysOnly, limit, clock }: PagesOptions,
  { key, revision, remaining, timeoutMs }: PageRequest,
): Promise<RangeResponse> {
  for (;;) {
    const keys = Math.min(limit.keys, remaining)
    const sentAt = clock.now()
    try {
      const page = await session.range(
        { key, range_end: range.end, limit: keys, revision, keys_only: isKeysOnly },
        timeoutMs,
      )
      limit.arrived(page.kvs, clock.now() - sentAt)
      return page
    } catch (error) {
      if (isTooLarge(error) && keys > 1) {
        limit.tooLarge(keys)
        continue
      }
      const mayBeTooSlow = limit.failed(keys, clock.now() - sentAt)
      // Over the user's client, a page that is still arriving looks like one that is lost: fewer keys may arrive in
      // time.
      if (mayBeTooSlow && session.canReconnect && isUnavailable(error)) continue
      throw explained(error, revision)
    }
  }
}

function explained(error: unknown, revision: number): unknown {
  if (!isCompacted(error)) return error
  const message = `revision ${revision} was compacted while the list was read; a larger pageSize makes lists faster`
  return unavailable(message, error)
}
