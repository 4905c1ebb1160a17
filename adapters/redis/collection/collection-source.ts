import { SourceError } from '../../../src/contract/errors.js'
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
import { unavailable } from '../../common/source-errors.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { EventCodec } from '../connection/codec.js'
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js'
import { checkRole, warningsOf } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
import { type RunContext, SessionRunner } from '../connection/session-runner.js'
import { advance, KEY_OFFSET, type LogEntry } from './change-log.js'
import { type CollectionKeys, collectionKeys, databaseKeys } from './collection-keys.js'
import { CollectionReader } from './collection-reader.js'
import { type Absent, formatVersion, includesMark, type Position, parseVersion } from './collection-version.js'

export interface CollectionSettings<T> {
  readonly client: RedisClient
  readonly name: string
  /** A collection of the database `name`; empty for all of them. Then their keys are `collection/key`. */
  readonly collection?: string
  readonly codec: RedisCodecName | RedisDecode<T>
  readonly keys: RedisKeys
  /** Makes the events, in place of `codec` and `keys`. */
  readonly events?: Events<T>
  readonly blockMs: number
  readonly timeoutMs: number
  /** Whether a silent watch of what no writer has written is a warning: the name may be misspelled. */
  readonly warnsOfAbsence?: boolean
}

export type Events<T> = Pick<EventCodec<T>, 'put' | 'delete'>

export interface Proofs {
  /** The collections whose hashes are compared with the history. */
  readonly verified?: readonly CollectionKeys[]
  /** Later positions, which must belong to the history. */
  readonly positions?: readonly Version[]
}

export class FlawError extends SourceError {
  readonly flaws: ReadonlyMap<string, string>

  constructor(flaws: ReadonlyMap<string, string>) {
    super(`the version has expired: ${[...flaws.values()].join('; ')}`, { code: 'VERSION_EXPIRED' })
    this.flaws = flaws
  }
}

const MAX_ENTRIES = 1_000
/** During continuous writes, the hash is compared with its history after this many times `blockMs`. */
const VERIFY_BLOCKS = 5

/**
 * A collection of Redis, as a source. A mark is a version that `apply` of a `redisWriter`, or `commit` of a
 * `redisDatabase`, returned.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const limits = createInformer({ source: redisCollectionSource<Limit>({ client, collection: 'limits' }) })
 * await limits.start().synced()
 * const version = await redisWriter<Limit>({ client, collection: 'limits' }).apply([{ delete: 'acme' }])
 * await limits.waitFor(version)
 * ```
 */
export interface RedisCollectionSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: the options `heartbeatMs` and `timeoutMs`. */
  readonly heartbeatMs: number
  /**
   * Reads the current version.
   * @throws SourceError UNAVAILABLE when the server does not respond; PROTOCOL when the keys do not hold a collection.
   */
  head(context: SourceContext): Promise<Version>
  /**
   * Whether a mirror at `at` includes `mark`.
   * @throws SourceError EPOCH_CHANGED when they are of different histories; PROTOCOL when one is not a version of a
   * collection.
   */
  hasReached(at: Version, mark: Version): boolean
}

/** With what the database and the store of a relay need. */
export interface CollectionSource<T> extends RedisCollectionSource<T> {
  watch(context: WatchContext, proofs?: Proofs): AsyncGenerator<WatchBatch<T>>
  /** A collection that has lost fields counts as deleted, with a warning. */
  field(key: string, context: RunContext): Promise<{ readonly value: string | undefined; readonly version: Version }>
}

export function collectionSource<T>(settings: CollectionSettings<T>): CollectionSource<T> {
  const { client, name: own, collection, codec: format, keys: keyForm, blockMs, timeoutMs, warnsOfAbsence } = settings
  const prefix = keyPrefixOf(client)
  const keys = collection === undefined ? collectionKeys(prefix, own) : databaseKeys(prefix, own, collection)
  const start = Buffer.from(keys.start)
  const codec = settings.events ?? new EventCodec(format, keyForm)
  const name = `redis:${own}${collection ? `:${collection}` : ''}`
  const warnings = warningsOf(name)
  const runner = new SessionRunner({ route: new ClusterRoute(client, keys.meta), warnings, blockMs, timeoutMs })
  const responseSize = new ResponseSizeLimit()

  const readerOf = (session: Session, pageSize: number, verified?: readonly CollectionKeys[]): CollectionReader => {
    responseSize.begin(session.clock.now())
    return new CollectionReader(session, { keys, verified, pageSize, responseSize })
  }

  const follow = (at: Position | Absent, entry: LogEntry, events: ListEvent<T>[]): Position => {
    const place = advance(at, entry)
    const keyAt = KEY_OFFSET + start.length
    for (const { field, value } of entry.changes) {
      if (keyAt > KEY_OFFSET && !field.subarray(KEY_OFFSET, keyAt).equals(start)) continue
      events.push(value === undefined ? codec.delete(field, keyAt) : codec.put(field, value, keyAt))
    }
    return place
  }

  /**
   * Reads the hash while other clients write to it, and after each page the new entries of the log. So the log need
   * only reach back to the previous page. A field without an entry did not change during the list. Any other field has
   * the value of its newest entry.
   *
   * A list with a `floor` verifies the history as a watch from there does: a restored history may have more entries by
   * now.
   */
  async function* list(reader: CollectionReader, { floor }: ListContext): AsyncGenerator<ListPage<T>> {
    const begin = await reader.current()
    // Verified after `begin` was read: a later change of the history shows in the entries.
    if (floor !== undefined) await reader.assertContinues(parseVersion(floor))
    if ('absentAt' in begin) return yield { events: [], version: formatVersion(begin) }
    const keys = new Set<string>()
    let at: Position | Absent = begin
    const apply = (entries: readonly LogEntry[], events: ListEvent<T>[] = []): ListEvent<T>[] => {
      for (const entry of entries) at = follow(at, entry, events)
      for (const { type, key } of events) {
        if (type === 'delete') keys.delete(key)
        else if (key !== undefined) keys.add(key)
      }
      return events
    }
    for (let scan = reader.scan('0'); ; ) {
      const { next, fields } = await scan
      // The order matters: a page of the hash must not be older than the entries that were yielded before it.
      const changes = reader.read(at)
      if (next !== '0') {
        scan = reader.scan(next)
        scan.catch(() => {}) // The consumer may have stopped.
      }
      const found = fields.map(({ key, value }) => codec.put(key, value))
      const entries = await changes.catch(async (error: unknown) => {
        await scan // Its error may say more about the lost connection.
        throw error
      })
      yield { events: apply(entries, found) }
      if (next === '0') break
    }
    for (;;) {
      const { entries, isHead, count, flaws } = await reader.verify(at)
      const events = apply(entries)
      if (!isHead) yield { events }
      else {
        for (const flaw of flaws.values()) throw new SourceError(flaw, { code: 'PROTOCOL' })
        if (keys.size !== count) throw unavailable(`the list found ${keys.size} keys of ${count}`)
        yield { events, version: formatVersion(at) }
        return
      }
    }
  }

  async function* watch(
    reader: CollectionReader,
    session: Session,
    { clock, after, warn }: WatchContext,
    { positions = [] }: Proofs,
  ): AsyncGenerator<WatchBatch<T>> {
    let at = parseVersion(after)
    const batch = (entries: readonly LogEntry[]): WatchBatch<T> => {
      const events: ListEvent<T>[] = []
      for (const entry of entries) at = follow(at, entry, events)
      const committedAt = entries.at(-1)?.committedAt
      return { events, version: formatVersion(at), ...(committedAt === undefined ? {} : { committedAt }) }
    }
    // A list of a branch of the history that was lost meanwhile is not a part of it.
    for (const position of positions) if (position !== after) await reader.assertContinues(parseVersion(position))
    for (;;) {
      const { entries, flaws } = await reader.verify(at)
      if (flaws.size > 0) throw new FlawError(flaws)
      await checkRole(session, warnings(warn))
      yield batch(entries)
      const again = clock.now() + VERIFY_BLOCKS * blockMs
      for await (const following of reader.follow(at, { blockMs, timeoutMs: blockMs + timeoutMs })) {
        yield batch(following)
        if (clock.now() >= again) break
      }
      // After a silent time: a reader often starts before its writer, but a name that is misspelt is never written.
      if ('absentAt' in at) warnOfAbsence(warn)
    }
  }

  const warnOfAbsence = (warn: WatchContext['warn']): void => {
    const absent = collection === undefined ? 'no redisWriter has written the collection' : 'nothing has written to'
    if (warnsOfAbsence === true) warnings(warn)(`${absent} "${own}" yet`)
  }

  return {
    name,
    selection: JSON.stringify([keys, String(format), keyForm]),
    // A read waits for `blockMs`, and the verification after it may take as long as a timeout.
    heartbeatMs: blockMs + timeoutMs,
    hasReached: includesMark,
    list: (context) => runner.list(context, (session) => list(readerOf(session, context.pageSize), context)),
    watch: (context, proofs = {}) =>
      runner.watch(context, (session, current) =>
        watch(readerOf(session, MAX_ENTRIES, proofs.verified), session, current, proofs),
      ),
    head: (context) => runner.once(context, async (session) => formatVersion(await readerOf(session, 1).current())),
    field: (key, context) =>
      runner.once(context, async (session) => {
        const { value, at, flaw } = await readerOf(session, 1).field(key)
        if (flaw !== undefined) warnings(context.warn)(`${flaw}: a relay writes it again`)
        return { value: value?.toString(), version: formatVersion(at) }
      }),
  }
}
