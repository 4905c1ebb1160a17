import { checkOptions, isBoolean, isCount, isOneOf, isPositive, type OptionCheck } from '../../src/options.js'
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
import { EntryCodec, type EtcdCodec, type EtcdKeys } from './codec.js'
import { formatHead, formatVersion, includesMark, parseVersion } from './etcd-version.js'
import { type EtcdClient, etcd3Transport, isEtcdClient } from './etcd3-transport.js'
import { type EtcdAuth, type EtcdCredentials, grpcTransport } from './grpc-transport.js'
import { type KeyBytes, type KeyRange, keyRange, prefixRange } from './key-range.js'
import type { Header, KeyValue } from './messages.js'
import { Newest } from './newest.js'
import { type RangePage, rangePages } from './pages.js'
import { KNOWN_LOSSES, losesEvents } from './server-version.js'
import type { Transport } from './transport.js'
import { Visit } from './visit.js'
import { watchRange } from './watch-loop.js'

/** From `from` on, up to but without `to`; without `to`, all that come after. */
export interface EtcdRange {
  readonly from: KeyBytes
  readonly to?: KeyBytes
}

export interface EtcdSourceOptions<T> {
  /** Your own `Etcd3` of the package etcd3; or give `endpoints`. It stays yours: the source never closes it. */
  readonly client?: EtcdClient
  /** `localhost:2379`, `https://etcd-1:2379`: tried one after the other. Needs the package @grpc/grpc-js. */
  readonly endpoints?: string | readonly string[]
  /** All keys that begin so; or give `range`. */
  readonly prefix?: KeyBytes
  /** Keys in their order as bytes. */
  readonly range?: EtcdRange
  /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
  readonly codec?: 'json' | 'string' | 'bytes' | EtcdCodec<T>
  /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
  readonly keys?: EtcdKeys
  /** TLS, with `endpoints`. */
  readonly credentials?: EtcdCredentials
  /** Who reads, with `endpoints`. */
  readonly auth?: EtcdAuth
  /** Most keys that one request asks for. Default 10 000: etcd looks at all keys on every page. */
  readonly pageSize?: number
  /** Further behind than so many revisions, all is read again, which is cheaper for the server. Default 20 000. */
  readonly maxCatchup?: number
  /** Whether a member without a leader ends the watch; else it is silent. Default true. */
  readonly requireLeader?: boolean
  /** After so many milliseconds of silence the server is asked where it is. Default 5 000. */
  readonly progressMs?: number
  /** What is not answered for so many milliseconds counts as lost. Default 15 000. */
  readonly stallMs?: number
}

/** A range of keys of etcd, as a source. Marks are etcd's own revisions: `header.revision` of what a write answers. */
export interface EtcdSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  versions(context: ListContext): AsyncIterable<VersionPage>
  head(context: SourceContext): Promise<Version>
  hasReached(at: Version, mark: Version): boolean
}

const isBytes = (value: unknown): boolean => value instanceof Uint8Array
const isKeyBytes: OptionCheck = (value) =>
  typeof value === 'string' || isBytes(value) ? undefined : 'must be a string or bytes'
const isEndpoints: OptionCheck = (value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (all.length === 0 || !all.every((each) => typeof each === 'string' && /^(https?:\/\/)?[^/\s]+\/?$/.test(each)))
    return 'must be host:port, http://host:port or https://host:port, or an array of these'
  const secure = all.filter((each) => String(each).startsWith('https:')).length
  return secure === 0 || secure === all.length ? undefined : 'must not mix https with others'
}
const isRange: OptionCheck = (value) => {
  const { from, to } = Object(value) as Partial<EtcdRange>
  return isKeyBytes(from) === undefined && (to === undefined || isKeyBytes(to) === undefined)
    ? undefined
    : 'must be { from, to? }, strings or bytes'
}
const hasTexts =
  (...names: readonly string[]): OptionCheck =>
  (value) =>
    names.every((name) => typeof Object(value)[name] === 'string')
      ? undefined
      : `must be an object with ${names.join(' and ')}`

const optionChecks: Readonly<Record<keyof EtcdSourceOptions<unknown>, OptionCheck>> = {
  client: (value) => (isEtcdClient(value) ? undefined : 'must be an Etcd3 of the package etcd3 1.x'),
  endpoints: isEndpoints,
  prefix: (value) =>
    value === '' || (value instanceof Uint8Array && value.length === 0)
      ? "must not be empty; for all keys of the server say range: { from: '' }"
      : isKeyBytes(value),
  range: isRange,
  codec: (value) => (typeof value === 'function' ? undefined : isOneOf('json', 'string', 'bytes')(value)),
  keys: isOneOf('string', 'bytes'),
  credentials: (value) => (isBytes(Object(value).rootCertificate) ? undefined : 'must have a rootCertificate'),
  auth: hasTexts('username', 'password'),
  pageSize: isCount,
  maxCatchup: isCount,
  requireLeader: isBoolean,
  progressMs: isPositive,
  stallMs: isPositive,
}

/** Mirrors a range of keys of etcd 3.4 or later. Opens nothing by itself. */
export function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T> {
  checkOptions('etcdSource', options, optionChecks)
  const { client, endpoints, prefix, range, auth, credentials } = options ?? {}
  if ((client === undefined) === (endpoints === undefined))
    throw new TypeError('etcdSource: give either "client" (an Etcd3) or "endpoints"')
  if ((prefix === undefined) === (range === undefined))
    throw new TypeError('etcdSource: give either "prefix" or "range"')
  if (client !== undefined && (auth !== undefined || credentials !== undefined))
    throw new TypeError('etcdSource: "auth" and "credentials" belong to "endpoints"; a client has its own')
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
    this.#progressMs = options.progressMs ?? 5_000
    this.#stallMs = options.stallMs ?? 15_000
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
