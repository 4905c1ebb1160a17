import { isUtf8 } from 'node:buffer'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
} from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { unlessAborted } from '../../../src/util/abort-listeners.js'
import {
  checkOptions,
  isCount,
  isFunction,
  isName,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { ReadPace } from '../../common/poll-timer.js'
import { propertiesOf } from '../../common/properties.js'
import { refused } from '../../common/source-errors.js'
import { notPromised } from '../../common/value-codec.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { assertGiven, clientFlaw, keyPrefixOf, type RedisClient, type RedisReply } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { checkRole, warningsOf } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
import { type RunContext, SessionRunner } from '../connection/session-runner.js'
import type { StreamChange, StreamDecode } from './stream-change.js'
import type { StreamEntry } from './stream-history.js'
import { assertContinues, readEnd, StreamReader, type StreamReaderOptions } from './stream-reader.js'
import { BEGIN, includesMark, positionAt, positions, type StreamPosition } from './stream-version.js'

const MAX_ENTRIES = 1_000

/**
 * All objects after one entry of the stream, and before the next one.
 *
 * @example
 * ```ts
 * import type { StreamSnapshot } from 'listwatch/redis'
 *
 * // For the option `snapshot`: a database that stores the id of the last entry it has applied.
 * async function snapshot(): Promise<StreamSnapshot<string>> {
 *   const { rows } = await pool.query('SELECT sku, count, (SELECT id FROM applied) AS id FROM stock')
 *   return { entries: rows.map(({ sku, count }) => [sku, count] as const), after: rows[0]?.id ?? '0-0' }
 * }
 * ```
 */
export interface StreamSnapshot<T> {
  /** Keys and objects. */
  readonly entries: Iterable<readonly [key: string, object: T]>
  /**
   * The id of the entry; `0-0` for the state before the first entry. It may also be a version of this source, such as
   * an informer's. A version detects a replaced stream even if that one has an entry with the same id.
   */
  readonly after: string
}

/**
 * The options of `redisStreamSource`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisStreamSource<string>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   stream: 'stock',
 *   decode: (fields) => ({ key: fields.get('sku') ?? '', object: fields.get('count') }),
 *   whenTrimmed: 'fold', // The newest entry of each key remains. Default: `refuse`.
 *   heartbeatMs: 5_000, // Default: 2 000.
 * })
 * ```
 */
export interface RedisStreamSourceOptions<T> {
  /**
   * A `Redis` or `Cluster` of ioredis. The source opens connections with the same options, and never closes the client.
   */
  readonly client: RedisClient
  /** The key of the stream, after the client's `keyPrefix`. */
  readonly stream: string
  /** Returns the changes of an entry. */
  readonly decode: StreamDecode<T>
  /**
   * Returns the state with which a list begins. It must not be older than the oldest entry. Default: a list begins at
   * the oldest entry.
   */
  readonly snapshot?: (context: Pick<SourceContext, 'signal'>) => Promise<StreamSnapshot<T>>
  /**
   * What a list does if entries that it needs were removed. `refuse` (default): it fails with `PROTOCOL`. `fold`: it
   * reads the remaining entries, for streams in which the newest entry of each key always remains.
   */
  readonly whenTrimmed?: 'refuse' | 'fold'
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 2 000. */
  readonly heartbeatMs?: number
  /**
   * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
   */
  readonly timeoutMs?: number
}

/**
 * A stream of Redis, as a source. A mark is an id that XADD returned.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url)
 * const decode = (fields: ReadonlyMap<string, string>) => ({ key: fields.get('sku') ?? '', object: fields.get('n') })
 * const stock = createInformer({ source: redisStreamSource<string>({ client, stream: 'stock', decode }) }).start()
 * const id = await client.xadd('stock', '*', 'sku', 'A1', 'n', '7')
 * if (id !== null) await stock.waitFor(id)
 * ```
 */
export interface RedisStreamSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: the options `heartbeatMs` and `timeoutMs`. */
  readonly heartbeatMs: number
  /**
   * Reads the id of the newest entry.
   * @throws SourceError UNAVAILABLE when the server does not respond; PROTOCOL when the key does not hold a stream.
   */
  head(context: SourceContext): Promise<Version>
  /**
   * Whether a mirror at `at` includes `mark`.
   * @throws SourceError EPOCH_CHANGED when they are of different histories; PROTOCOL when one is not a version or an
   * id.
   */
  hasReached(at: Version, mark: Version): boolean
}

const optionChecks: Readonly<Record<keyof RedisStreamSourceOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  stream: isName,
  decode: isFunction,
  snapshot: isFunction,
  whenTrimmed: isOneOf('refuse', 'fold'),
  heartbeatMs: isCount,
  timeoutMs: isPositive,
}

/**
 * Creates a source for the objects that a stream of Redis 7.0 or later describes. It opens no connection before the
 * first list, watch or head.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisStreamSource<{ readonly total: number }>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   stream: 'orders',
 *   decode: (fields) => {
 *     const total = fields.get('total')
 *     return { key: fields.get('id') ?? '', object: total === undefined ? undefined : { total: Number(total) } }
 *   },
 * })
 * ```
 */
export function redisStreamSource<T = unknown>(options: RedisStreamSourceOptions<T>): RedisStreamSource<T> {
  checkOptions('redisStreamSource', options, optionChecks)
  assertGiven('redisStreamSource', options, ['client', 'stream', 'decode'])
  return streamSource<T>(options)
}

function streamSource<T>(options: RedisStreamSourceOptions<T>): RedisStreamSource<T> {
  const { client, decode, snapshot, whenTrimmed, heartbeatMs: blockMs = 2_000, timeoutMs = 5_000 } = options
  const key = keyPrefixOf(client) + options.stream
  const name = `redis:${key}`
  const warnings = warningsOf(name)
  const runner = new SessionRunner({ route: new ClusterRoute(client, key), warnings, blockMs, timeoutMs })
  const responseSize = new ResponseSizeLimit()

  const endOf = (context: RunContext): Promise<StreamPosition> =>
    runner.once(context, (session) => readEnd(session, key))

  const readerOf = (
    session: Session,
    position: StreamPosition,
    reading: Pick<StreamReaderOptions, 'most' | 'end'>,
  ): StreamReader => {
    responseSize.begin(session.clock.now())
    return new StreamReader(session, position, { ...reading, key, isLenient: whenTrimmed === 'fold', responseSize })
  }

  const eventsOf = (entries: readonly StreamEntry[]): ListEvent<T>[] =>
    entries.flatMap((entry) => decodedEntry(decode, entry))

  async function* list(
    session: Session,
    { pageSize, floor }: ListContext,
    after: StreamPosition | undefined,
    end: StreamPosition | undefined,
  ): AsyncGenerator<ListPage<T>> {
    const reader = readerOf(session, after ?? positionAt(BEGIN), { most: pageSize, end })
    if (after === undefined) await reader.rewind()
    for (let isAll = false; !isAll; ) {
      const step = await reader.next()
      const events = eventsOf(step.entries)
      isAll = step.isAll
      // A list that follows `floor` is verified as a watch from there is: a restored stream may have more entries by
      // now.
      if (isAll && floor !== undefined) await assertContinues(session, key, positions.parse(floor))
      yield isAll ? { events, version: positions.format(reader.position) } : { events }
    }
  }

  async function* watch(session: Session, { after, warn }: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const reader = readerOf(session, positions.parse(after), { most: MAX_ENTRIES })
    const { clock } = session
    const pace = new ReadPace(clock)
    for (;;) {
      const { entries, isAll } = await reader.next()
      if (entries.length === 0) await checkRole(session, warnings(warn))
      yield { events: eventsOf(entries), version: positions.format(reader.position) }
      if (!isAll) continue
      const restMs = pace.restMs(entries.length)
      if (restMs > 0) await clock.sleep(restMs)
      else await reader.wait(blockMs, blockMs + timeoutMs)
    }
  }

  return {
    name,
    selection: JSON.stringify([String(decode), String(snapshot), whenTrimmed]),
    // A read waits for `blockMs`, and its response may take as long as a timeout.
    heartbeatMs: blockMs + timeoutMs,
    hasReached: includesMark,
    async *list(context) {
      const { signal, pageSize } = context
      // The end is read before the snapshot: it shows whether the stream is replaced while the snapshot is made.
      const end = options.snapshot === undefined ? undefined : await endOf(context)
      const start = await unlessAborted(signal, () => options.snapshot?.({ signal }))
      if (start !== undefined) yield* pagesOf(start, pageSize)
      const after = start === undefined ? undefined : positionOf(start.after)
      yield* runner.list(context, (session) => list(session, context, after, end))
    },
    async *watch(context) {
      positions.parse(context.after) // Before a connection is opened.
      yield* runner.watch(context, watch)
    },
    head: async (context) => (await endOf(context)).id,
  }
}

function* pagesOf<T>({ entries }: StreamSnapshot<T>, pageSize: number): Generator<ListPage<T>> {
  let events: ListEvent<T>[] = []
  for (const [key, object] of entries) {
    events.push({ type: 'put', key, object })
    if (events.length < pageSize) continue
    yield { events }
    events = []
  }
  if (events.length > 0) yield { events }
}

/** The position of a snapshot. In Redis, an id without a sequence number has the number 0. */
function positionOf(after: string): StreamPosition {
  if (/^\d{1,20}(-\d{1,20})?$/.test(after)) return positionAt(after.includes('-') ? after : `${after}-0`)
  if (String(after).startsWith('redisx1.')) return positions.parse(after)
  throw refused(`"after" of the snapshot is not an id or a version: ${JSON.stringify(after)}`)
}

function decodedEntry<T>(decode: StreamDecode<T>, { id, fields }: StreamEntry): ListEvent<T>[] {
  let changes: StreamChange<T> | readonly StreamChange<T>[] | undefined
  try {
    changes = notPromised(decode(mapOf(fields), id), 'decode')
  } catch (error) {
    return [{ type: 'invalid', error }]
  }
  return (isArray(changes) ? changes : [changes]).flatMap((change) => (change === undefined ? [] : eventOf(change)))
}

function isArray<V>(value: V | readonly V[]): value is readonly V[] {
  return Array.isArray(value)
}

function eventOf<T>(change: StreamChange<T>): ListEvent<T> {
  let named: string | undefined
  try {
    const { key } = propertiesOf(notPromised(change, 'decode'))
    if (typeof key !== 'string') throw new TypeError(`decode must return a string as key, got ${typeof key}`)
    named = key
    if ('error' in change) return { type: 'invalid', key, error: change.error }
    const object = notPromised(change.object, 'decode')
    return object === undefined ? { type: 'delete', key } : { type: 'put', key, object }
  } catch (error) {
    return { type: 'invalid', ...(named === undefined ? {} : { key: named }), error }
  }
}

/** A field that occurs twice has its last value, as in other clients of Redis. */
function mapOf(fields: readonly RedisReply[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) map.set(textIn(fields[at]), textIn(fields[at + 1]))
  return map
}

function textIn(bytes: RedisReply | undefined): string {
  if (!Buffer.isBuffer(bytes)) return ''
  const text = bytes.toString()
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new TypeError('a field of the entry is not UTF-8')
  return text
}
