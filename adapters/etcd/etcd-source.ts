import { watchCollection } from '../../src/contract/shared-history.js'
import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { EntryCodec } from './entry-codec.js'
import { checkEtcdOptions, type EtcdCollectionOptions, type EtcdSourceOptions } from './etcd-options.js'
import { formatHead, formatVersion, includesMark, parseVersion } from './history/etcd-version.js'
import { HistoryFingerprint } from './history/fingerprint.js'
import { assertSameHistory } from './history/history-check.js'
import { PageLimit } from './page-limit.js'
import { RangeHistory } from './range-history.js'
import { firstPage, rangePages } from './range-pages.js'
import type { KeyValue } from './transport/etcd-messages.js'
import { keyRange, prefixRange, printable } from './transport/key-range.js'

/**
 * A range of etcd keys, as a source. A mark is the `header.revision` of the response to a write.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({ client: etcd, prefix: '/limits/' })
 * const limits = createInformer({ source })
 * await limits.start().synced()
 * const { header } = await etcd.put('/limits/acme').value('{"rps":5,"burst":10}')
 * await limits.waitFor(header.revision) // The mark of the write.
 * ```
 */
export interface EtcdSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds. */
  readonly heartbeatMs: number
  /**
   * Reads all keys with their revisions, for audits.
   * @throws SourceError UNAVAILABLE when a page does not arrive; PROTOCOL or UNAUTHORIZED when etcd rejects the
   * request.
   */
  versions(context: ListContext): AsyncIterable<VersionPage>
  /**
   * Reads the current revision with a quorum read.
   * @throws SourceError UNAVAILABLE when no endpoint responds; UNAUTHORIZED when the user may not read the range.
   */
  head(context: SourceContext): Promise<Version>
  /**
   * Whether a mirror at `at` includes `mark`.
   * @throws SourceError EPOCH_CHANGED when they are of different clusters; PROTOCOL when one is not a version of etcd.
   */
  hasReached(at: Version, mark: Version): boolean
}

/**
 * Creates a source for a range of keys of etcd 3.4 or later. It opens no connection before the first list, watch or
 * head.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({ endpoints: ['http://127.0.0.1:2379'], prefix: '/limits/' })
 * const limits = createInformer({ source })
 * ```
 */
export function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T> {
  checkEtcdOptions(options)
  return rangeSource<T>(options, new RangeHistory(options, 'etcdSource'))
}

export function rangeSource<T>(
  options: EtcdCollectionOptions<T>,
  history: RangeHistory,
): EtcdSource<T> & { readonly collection: string } {
  const { prefix = '', range: given, codec: format = 'json', keys: encoding = 'string', pageSize = 10_000 } = options
  const range = given === undefined ? prefixRange(prefix) : keyRange(given.from, given.to)
  const codec = new EntryCodec(format, encoding)
  const learned = { acceptedKeys: Infinity, timelyKeys: Infinity, mostTimelyKeys: Infinity, hasStreams: true }
  const name = given === undefined ? printable(prefix) : `${printable(given.from)}..${printable(given.to ?? '')}`
  const collection = history.add(name, { range, codec })
  const open = async (context: ListContext, isKeysOnly: boolean) => {
    const limit = new PageLimit(pageSize, history.transport.maxAnswerBytes, learned)
    const paging = { range, isKeysOnly, limit, clock: context.clock }
    const [session, first] = await history.open(context, (opened, timeoutMs) => firstPage(opened, paging, timeoutMs))
    return { session, first, paging }
  }
  return {
    name: `etcd:${name}`,
    selection: JSON.stringify([range.start.toString('hex'), range.end.toString('hex'), String(format), encoding]),
    heartbeatMs: history.heartbeatMs,
    collection,
    async *list(context) {
      const { session, first, paging } = await open(context, false)
      try {
        // A list passes the same history check as a resumed watch. The core compares the contents, for what no check
        // finds.
        if (context.floor !== undefined)
          await assertSameHistory(session, range, parseVersion(context.floor), first.header)
        // Requested beside the pages, which do not wait for the response.
        const status = session.status()
        let newest: KeyValue | undefined
        for await (const { header, count, kvs, remaining } of rangePages(session, first, paging)) {
          for (const kv of kvs) if (newest === undefined || kv.modRevision > newest.modRevision) newest = kv
          const isLast = remaining === 0
          for (const [part, isEnd] of parts(kvs, context.pageSize)) {
            const events = part.map((kv) => codec.put(kv))
            if (!isLast || !isEnd) yield { events, remaining }
            else {
              const { clusterId, term, revision } = header
              const raftIndex = (await status)?.raftIndex ?? 0
              const fingerprint = HistoryFingerprint.of(count, newest === undefined ? [] : [newest]).fingerprint()
              const version = formatVersion({ clusterId, term, revision, raftIndex, ...fingerprint })
              yield { events, version }
            }
          }
        }
      } finally {
        session.close()
      }
    },
    async *versions(context) {
      const { session, first, paging } = await open(context, true)
      try {
        for await (const { header, kvs, remaining } of rangePages(session, first, paging)) {
          const keys = kvs.map((kv) => ({ key: codec.key(kv), version: String(kv.modRevision) }))
          const version = formatHead(header)
          yield remaining === 0 ? { keys, version } : { keys }
        }
      } finally {
        session.close()
      }
    },
    watch: (context) => watchCollection<T>(history, collection, context),
    head: async (context) => {
      const [session, header] = await history.openAtHead(context, range)
      session.close()
      return formatHead(header)
    },
    hasReached: includesMark,
  }
}

/** Parts of at most `size` elements, and whether each is the last part. An empty array is one empty part. */
function* parts<V>(all: readonly V[], size: number): Generator<readonly [readonly V[], boolean]> {
  for (let begin = 0; begin === 0 || begin < all.length; begin += size)
    yield [begin === 0 && all.length <= size ? all : all.slice(begin, begin + size), begin + size >= all.length]
}
