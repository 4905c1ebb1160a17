import type {
  ListContext,
  ListerWatcher,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
} from '../../src/source.js'
import type { Version } from '../../src/version.js'
import { EntryCodec } from './codec.js'
import { checkEtcdOptions, type EtcdSourceOptions, PROGRESS_MS, STALL_MS } from './etcd-options.js'
import { formatHead, formatVersion, includesMark, parseVersion } from './etcd-version.js'
import { etcd3Transport } from './etcd3-transport.js'
import { grpcTransport } from './grpc-transport.js'
import { type KeyBytes, type KeyRange, keyRange, prefixRange } from './key-range.js'
import type { Header, KeyValue } from './messages.js'
import { Newest } from './newest.js'
import { type RangePage, rangePages } from './pages.js'
import { KNOWN_LOSSES, losesEvents } from './server-version.js'
import type { Transport } from './transport.js'
import { Visit } from './visit.js'
import { watchRange } from './watch-loop.js'

/** A range of keys of etcd, as a source. Marks are etcd's own revisions: `header.revision` of what a write answers. */
export interface EtcdSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  versions(context: ListContext): AsyncIterable<VersionPage>
  head(context: SourceContext): Promise<Version>
  hasReached(at: Version, mark: Version): boolean
}

/** Mirrors a range of keys of etcd 3.4 or later. Opens nothing by itself. */
export function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T> {
  checkEtcdOptions(options)
  return new RangeSource<T>(options)
}

class RangeSource<T> implements EtcdSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #transport: Transport
  readonly #range: KeyRange
  readonly #codec: EntryCodec<T>
  readonly #pageSize: number
  readonly #settings: { readonly maxCatchup: number; readonly requireLeader: boolean }
  readonly #progressMs: number
  readonly #stallMs: number
  readonly #learned = { mostKeys: Infinity }
  readonly #versionsSeen = new Set<string>()

  constructor(options: EtcdSourceOptions<T>) {
    const { client, endpoints = [], prefix = '', range, auth, credentials } = options
    this.#transport =
      client === undefined
        ? grpcTransport({ endpoints: [endpoints].flat(), auth, credentials })
        : etcd3Transport(client)
    this.#range = range === undefined ? prefixRange(prefix) : keyRange(range.from, range.to)
    this.#codec = new EntryCodec(options.codec ?? 'json', options.keys ?? 'string')
    this.#pageSize = options.pageSize ?? 10_000
    this.#progressMs = options.progressMs ?? PROGRESS_MS
    this.#stallMs = options.stallMs ?? STALL_MS
    this.#settings = { maxCatchup: options.maxCatchup ?? 20_000, requireLeader: options.requireLeader ?? true }
    // It is asked after a time of silence, and given as much to answer.
    this.heartbeatMs = 2 * this.#progressMs
    const [from, to] = [range?.from ?? prefix, range?.to].map((key) => (key === undefined ? '' : printable(key)))
    this.name = `etcd:${from}${range === undefined ? '' : `..${to}`}`
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    let newest: KeyValue | undefined
    for await (const { header, count, kvs, remaining } of this.#pages(context, false)) {
      for (const kv of kvs) if (newest === undefined || kv.modRevision > newest.modRevision) newest = kv
      const isLast = remaining === 0
      for (const [part, isEnd] of parts(kvs, context.pageSize)) {
        const events = part.map((kv) => this.#codec.put(kv))
        if (!isLast || !isEnd) yield { events, remaining }
        else {
          const { clusterId, term, revision } = header
          const fingerprint = Newest.of(count, newest === undefined ? [] : [newest]).fingerprint()
          yield { events, version: formatVersion({ clusterId, term, revision, raftIndex: 0, ...fingerprint }) }
        }
      }
    }
  }

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    for await (const { header, kvs, remaining } of this.#pages(context, true)) {
      const keys = kvs.map(({ key, modRevision }) => ({ key: this.#codec.key(key), version: String(modRevision) }))
      const version = formatHead(header.clusterId, header.revision)
      yield remaining === 0 ? { keys, version } : { keys }
    }
  }

  async *watch({ after, signal, clock, onNudge, doubt, warn }: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const from = parseVersion(after)
    const [visit, head] = await this.#visit({ signal, clock })
    try {
      const settings = {
        range: this.#range,
        hasFragments: this.#transport.hasFragments,
        progressMs: this.#progressMs,
        stallMs: this.#stallMs,
        ...this.#settings,
      }
      const wishes = {
        signal,
        clock,
        onNudge,
        doubt: (reason: string) => doubt?.(reason),
        served: (version: string) => this.#served(version, warn),
      }
      for await (const { events, version } of watchRange(visit, head, from, settings, wishes)) {
        yield { events: events.map(({ isDelete, kv }) => this.#event(isDelete, kv)), version }
      }
    } finally {
      visit.close()
    }
  }

  async head(context: Pick<SourceContext, 'signal' | 'clock'>): Promise<Version> {
    const [visit, { clusterId, revision }] = await this.#visit(context)
    visit.close()
    return formatHead(clusterId, revision)
  }

  hasReached(at: Version, mark: Version): boolean {
    return includesMark(at, mark)
  }

  async *#pages(context: ListContext, isKeysOnly: boolean): AsyncGenerator<RangePage> {
    const [visit] = await this.#visit(context)
    try {
      yield* rangePages(visit, {
        range: this.#range,
        pageSize: this.#pageSize,
        pageBytes: this.#transport.maxAnswerBytes,
        isKeysOnly,
        learned: this.#learned,
      })
    } finally {
      visit.close()
    }
  }

  #visit({ signal, clock }: Pick<SourceContext, 'signal' | 'clock'>): Promise<[Visit, Header]> {
    return Visit.begin(this.#transport, this.#range, { signal, clock, timeoutMs: this.#stallMs })
  }

  /** Says once of each version of a server what is wrong with it. */
  #served(version: string, warn: WatchContext['warn']): void {
    if (warn === undefined || this.#versionsSeen.has(version)) return
    this.#versionsSeen.add(version)
    if (losesEvents(version)) warn(`etcd ${version} ${KNOWN_LOSSES}`)
  }

  #event(isDelete: boolean, kv: KeyValue): WatchBatch<T>['events'][number] {
    if (!isDelete) return this.#codec.put(kv)
    return { type: 'delete', key: this.#codec.key(kv.key), version: String(kv.modRevision) }
  }
}

/** Parts of at most `size`; of nothing, one part without anything. */
function* parts<V>(all: readonly V[], size: number): Generator<readonly [readonly V[], boolean]> {
  for (let begin = 0; begin === 0 || begin < all.length; begin += size)
    yield [begin === 0 && all.length <= size ? all : all.slice(begin, begin + size), begin + size >= all.length]
}

function printable(key: KeyBytes): string {
  return JSON.stringify(Buffer.from(key).toString()).slice(1, -1)
}
