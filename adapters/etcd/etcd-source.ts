import type {
  ListContext,
  ListerWatcher,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { expired } from '../common/source-errors.js'
import { EntryCodec } from './entry-codec.js'
import { checkEtcdOptions, checkLogin, type EtcdSourceOptions, HEARTBEAT_MS, TIMEOUT_MS } from './etcd-options.js'
import { formatHead, formatVersion, includesMark, parseVersion } from './history/etcd-version.js'
import { HistoryFingerprint } from './history/fingerprint.js'
import { assertSameHistory } from './history/history-check.js'
import { PageLimit } from './page-limit.js'
import { firstPage, type PagesOptions, rangePages } from './range-pages.js'
import type { Header, KeyValue } from './transport/etcd-messages.js'
import { etcd3Transport } from './transport/etcd3-transport.js'
import { grpcTransport } from './transport/grpc-transport.js'
import { type KeyBytes, type KeyRange, keyRange, prefixRange } from './transport/key-range.js'
import { KNOWN_LOSSES, losesEvents } from './transport/server-version.js'
import { Session } from './transport/session.js'
import type { Transport } from './transport/transport.js'
import { watchRange } from './watch/watch-loop.js'

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
  return new RangeSource<T>(options)
}

/**
 * After this number of watches that end at the same version without an event, the range is listed. The second watch
 * uses fragments.
 */
const MOST_STUCK = 2
const NOT_STUCK = { after: '', attempts: 0 }

class RangeSource<T> implements EtcdSource<T> {
  readonly name: string
  readonly selection: string
  readonly heartbeatMs: number
  readonly #transport: Transport
  readonly #range: KeyRange
  readonly #codec: EntryCodec<T>
  readonly #pageSize: number
  readonly #settings: { readonly maxCatchup: number; readonly requireLeader: boolean }
  readonly #progressMs: number
  readonly #timeoutMs: number
  readonly #learned = { acceptedKeys: Infinity, timelyKeys: Infinity, mostTimelyKeys: Infinity, hasStreams: true }
  readonly #versionsSeen = new Set<string>()
  /** The version at which consecutive watches ended before their first event. */
  #stuck = NOT_STUCK

  constructor(options: EtcdSourceOptions<T>) {
    const { client, endpoints = [], prefix = '', range, auth, credentials } = options
    this.#transport =
      client === undefined
        ? grpcTransport({ endpoints: [endpoints].flat(), auth, credentials, check: checkLogin })
        : etcd3Transport(client)
    this.#range = range === undefined ? prefixRange(prefix) : keyRange(range.from, range.to)
    this.#codec = new EntryCodec(options.codec ?? 'json', options.keys ?? 'string')
    this.#pageSize = options.pageSize ?? 10_000
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS
    this.#settings = { maxCatchup: options.maxCatchup ?? 20_000, requireLeader: options.requireLeader ?? true }
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
    // A progress request is sent after this time of silence, and its response may take as long.
    this.#progressMs = this.heartbeatMs / 2
    const { codec = 'json', keys = 'string' } = options
    const { start, end } = this.#range
    this.selection = JSON.stringify([start.toString('hex'), end.toString('hex'), String(codec), keys])
    const [from, to] = [range?.from ?? prefix, range?.to].map((key) => (key === undefined ? '' : printable(key)))
    this.name = `etcd:${from}${range === undefined ? '' : `..${to}`}`
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const options = this.#pagesOptions(context, false)
    const [session, first] = await this.#session(context, (opened, timeoutMs) => firstPage(opened, options, timeoutMs))
    try {
      // A list passes the same history check as a resumed watch. The core compares the contents, for what no check
      // finds.
      if (context.floor !== undefined)
        await assertSameHistory(session, this.#range, parseVersion(context.floor), first.header)
      // Requested beside the pages, which do not wait for the response.
      const status = session.status()
      let newest: KeyValue | undefined
      for await (const { header, count, kvs, remaining } of rangePages(session, first, options)) {
        for (const kv of kvs) if (newest === undefined || kv.modRevision > newest.modRevision) newest = kv
        const isLast = remaining === 0
        for (const [part, isEnd] of parts(kvs, context.pageSize)) {
          const events = part.map((kv) => this.#codec.put(kv))
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
  }

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    const options = this.#pagesOptions(context, true)
    const [session, first] = await this.#session(context, (opened, timeoutMs) => firstPage(opened, options, timeoutMs))
    try {
      for await (const { header, kvs, remaining } of rangePages(session, first, options)) {
        const keys = kvs.map((kv) => ({ key: this.#codec.key(kv), version: String(kv.modRevision) }))
        const version = formatHead(header)
        yield remaining === 0 ? { keys, version } : { keys }
      }
    } finally {
      session.close()
    }
  }

  async *watch({
    after,
    signal,
    clock,
    onProgressRequest,
    requestAudit,
    warn,
  }: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const from = parseVersion(after)
    const attempts = this.#stuck.after === after ? this.#stuck.attempts : 0
    if (attempts >= MOST_STUCK) {
      this.#stuck = NOT_STUCK
      throw expired(`${attempts} watches in a row ended before a whole revision had arrived`)
    }
    const [session, head] = await this.#openAtHead({ signal, clock })
    const openedAt = clock.now()
    let isStuck = head.revision > from.revision
    try {
      const settings = {
        range: this.#range,
        hasFragments: this.#transport.hasFragments || attempts > 0,
        progressMs: this.#progressMs,
        timeoutMs: this.#timeoutMs,
        ...this.#settings,
      }
      const callbacks = {
        signal,
        clock,
        onProgressRequest,
        requestAudit: (reason: string) => requestAudit?.(reason),
        onServerVersion: (version: string) => this.#served(version, warn),
      }
      for await (const { events, version } of watchRange(session, head, from, settings, callbacks)) {
        isStuck &&= parseVersion(version).revision <= from.revision
        yield { events: events.map(({ isDelete, kv }) => this.#event(isDelete, kv)), version }
      }
    } finally {
      session.close()
      isStuck &&= clock.now() - openedAt >= this.#progressMs
      this.#stuck = isStuck ? { after, attempts: attempts + 1 } : NOT_STUCK
    }
  }

  async head(context: Pick<SourceContext, 'signal' | 'clock'>): Promise<Version> {
    const [session, header] = await this.#openAtHead(context)
    session.close()
    return formatHead(header)
  }

  hasReached(at: Version, mark: Version): boolean {
    return includesMark(at, mark)
  }

  #pagesOptions({ clock }: Pick<SourceContext, 'clock'>, isKeysOnly: boolean): PagesOptions {
    const limit = new PageLimit(this.#pageSize, this.#transport.maxAnswerBytes, this.#learned)
    return { range: this.#range, isKeysOnly, limit, clock }
  }

  #openAtHead(context: Pick<SourceContext, 'signal' | 'clock'>): Promise<[Session, Header]> {
    return this.#session(context, (session, timeoutMs) => session.head(this.#range, timeoutMs))
  }

  #session<V>(
    { signal, clock }: Pick<SourceContext, 'signal' | 'clock'>,
    first: (session: Session, timeoutMs: number) => Promise<V>,
  ): Promise<[Session, V]> {
    return Session.open(this.#transport, { signal, clock, timeoutMs: this.#timeoutMs }, first)
  }

  /** Warns once of each server version that may lose events. */
  #served(version: string, warn: WatchContext['warn']): void {
    if (warn === undefined || this.#versionsSeen.has(version)) return
    this.#versionsSeen.add(version)
    if (losesEvents(version)) warn(`etcd ${version} ${KNOWN_LOSSES}`)
  }

  #event(isDelete: boolean, kv: KeyValue): WatchBatch<T>['events'][number] {
    return isDelete ? this.#codec.delete(kv) : this.#codec.put(kv)
  }
}

/** Parts of at most `size` elements, and whether each is the last part. An empty array is one empty part. */
function* parts<V>(all: readonly V[], size: number): Generator<readonly [readonly V[], boolean]> {
  for (let begin = 0; begin === 0 || begin < all.length; begin += size)
    yield [begin === 0 && all.length <= size ? all : all.slice(begin, begin + size), begin + size >= all.length]
}

function printable(key: KeyBytes): string {
  return JSON.stringify(Buffer.from(key).toString()).slice(1, -1)
}
