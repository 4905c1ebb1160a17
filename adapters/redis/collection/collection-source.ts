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
import { checkRole, type Warnings, warningsOf } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
import { SessionRunner } from '../connection/session-runner.js'
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

export class CollectionSource<T> implements RedisCollectionSource<T> {
  readonly name: string
  readonly selection: string
  readonly heartbeatMs: number
  readonly hasReached: RedisCollectionSource<T>['hasReached'] = includesMark
  readonly #settings: CollectionSettings<T>
  readonly #keys: CollectionKeys
  readonly #codec: Events<T>
  readonly #start: Buffer
  readonly #warnings: Warnings
  readonly #runner: SessionRunner
  readonly #responseSize = new ResponseSizeLimit()

  constructor(settings: CollectionSettings<T>) {
    const { client, name, collection, codec, keys } = settings
    this.#settings = settings
    this.name = `redis:${name}${collection ? `:${collection}` : ''}`
    // A read waits for `blockMs`, and the verification after it may take as long as a timeout.
    this.heartbeatMs = settings.blockMs + settings.timeoutMs
    const prefix = keyPrefixOf(client)
    this.#keys = collection === undefined ? collectionKeys(prefix, name) : databaseKeys(prefix, name, collection)
    this.#start = Buffer.from(this.#keys.start)
    this.#codec = settings.events ?? new EventCodec(codec, keys)
    this.selection = JSON.stringify([this.#keys, String(codec), keys])
    this.#warnings = warningsOf(this.name)
    const route = new ClusterRoute(client, this.#keys.meta)
    this.#runner = new SessionRunner({ ...settings, route, warnings: this.#warnings })
  }

  list(context: ListContext): AsyncGenerator<ListPage<T>> {
    return this.#runner.list(context, (session) => this.#list(this.#reader(session, context.pageSize), context))
  }

  watch(context: WatchContext, proofs: Proofs = {}): AsyncGenerator<WatchBatch<T>> {
    return this.#runner.watch(context, (session, current) =>
      this.#watch(this.#reader(session, MAX_ENTRIES, proofs.verified), session, current, proofs),
    )
  }

  head(context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<Version> {
    return this.#runner.once(context, async (session) => formatVersion(await this.#reader(session, 1).current()))
  }

  /** A collection that has lost fields counts as deleted, with a warning. */
  field(
    key: string,
    context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>,
  ): Promise<{ readonly value: string | undefined; readonly version: Version }> {
    return this.#runner.once(context, async (session) => {
      const { value, at, flaw } = await this.#reader(session, 1).field(key)
      if (flaw !== undefined) this.#warnings(context.warn)(`${flaw}: a relay writes it again`)
      return { value: value?.toString(), version: formatVersion(at) }
    })
  }

  /**
   * Reads the hash while other clients write to it, and after each page the new entries of the log. So the log need
   * only reach back to the previous page. A field without an entry did not change during the list. Any other field has
   * the value of its newest entry.
   *
   * A list with a `floor` verifies the history as a watch from there does: a restored history may have more entries by
   * now.
   */
  async *#list(reader: CollectionReader, { floor }: ListContext): AsyncGenerator<ListPage<T>> {
    const begin = await reader.current()
    // Verified after `begin` was read: a later change of the history shows in the entries.
    if (floor !== undefined) await reader.assertContinues(parseVersion(floor))
    if ('absentAt' in begin) return yield { events: [], version: formatVersion(begin) }
    const keys = new Set<string>()
    let at: Position | Absent = begin
    const apply = (entries: readonly LogEntry[], events: ListEvent<T>[] = []): ListEvent<T>[] => {
      for (const entry of entries) at = this.#follow(at, entry, events)
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
      const events = fields.map(({ key, value }) => this.#codec.put(key, value))
      const entries = await changes.catch(async (error: unknown) => {
        await scan // Its error may say more about the lost connection.
        throw error
      })
      yield { events: apply(entries, events) }
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

  async *#watch(
    reader: CollectionReader,
    session: Session,
    { clock, after, warn }: WatchContext,
    { positions = [] }: Proofs,
  ): AsyncGenerator<WatchBatch<T>> {
    let at = parseVersion(after)
    const { blockMs, timeoutMs } = this.#settings
    const batch = (entries: readonly LogEntry[]): WatchBatch<T> => {
      const events: ListEvent<T>[] = []
      for (const entry of entries) at = this.#follow(at, entry, events)
      const committedAt = entries.at(-1)?.committedAt
      return { events, version: formatVersion(at), ...(committedAt === undefined ? {} : { committedAt }) }
    }
    // A list of a branch of the history that was lost meanwhile is not a part of it.
    for (const position of positions) if (position !== after) await reader.assertContinues(parseVersion(position))
    for (;;) {
      const { entries, flaws } = await reader.verify(at)
      if (flaws.size > 0) throw new FlawError(flaws)
      await checkRole(session, this.#warnings(warn))
      yield batch(entries)
      const again = clock.now() + VERIFY_BLOCKS * blockMs
      for await (const following of reader.follow(at, { blockMs, timeoutMs: blockMs + timeoutMs })) {
        yield batch(following)
        if (clock.now() >= again) break
      }
      // After a silent time: a reader often starts before its writer, but a name that is misspelt is never written.
      if ('absentAt' in at) this.#warnOfAbsence(warn)
    }
  }

  #warnOfAbsence(warn: WatchContext['warn']): void {
    const { name, collection, warnsOfAbsence } = this.#settings
    const absent = collection === undefined ? 'no redisWriter has written the collection' : 'nothing has written to'
    if (warnsOfAbsence === true) this.#warnings(warn)(`${absent} "${name}" yet`)
  }

  #follow(at: Position | Absent, entry: LogEntry, events: ListEvent<T>[]): Position {
    const place = advance(at, entry)
    const keyAt = KEY_OFFSET + this.#start.length
    for (const { field, value } of entry.changes) {
      if (keyAt > KEY_OFFSET && !field.subarray(KEY_OFFSET, keyAt).equals(this.#start)) continue
      events.push(value === undefined ? this.#codec.delete(field, keyAt) : this.#codec.put(field, value, keyAt))
    }
    return place
  }

  #reader(session: Session, pageSize: number, verified?: readonly CollectionKeys[]): CollectionReader {
    this.#responseSize.begin(session.clock.now())
    return new CollectionReader(session, { keys: this.#keys, verified, pageSize, responseSize: this.#responseSize })
  }
}
