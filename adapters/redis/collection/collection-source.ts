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
import { expired, unavailable } from '../../shared/source-errors.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { EventCodec } from '../connection/codec.js'
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js'
import { checkRole, Warnings } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
import { type Connected, plainRunner, type SessionRunner } from '../connection/session-runner.js'
import { advance, type LogEntry } from './change-log.js'
import { type CollectionKeys, collectionKeys } from './collection-keys.js'
import { CollectionReader } from './collection-reader.js'
import { type Absent, formatVersion, includesMark, type Position, parseVersion } from './collection-version.js'

export interface CollectionSettings<T> {
  readonly client: RedisClient
  readonly name: string
  readonly codec: RedisCodecName | RedisDecode<T>
  readonly keys: RedisKeys
  readonly blockMs: number
  readonly timeoutMs: number
}

/** Most entries of the stream that one read asks for. */
const MOST_ENTRIES = 1_000
/** Where something is written all the time, hash and history are compared after so many times `blockMs`. */
const PROOF_BLOCKS = 5

/** A collection of Redis, as a source. Marks are the versions that a `redisWriter` gives. */
export interface RedisCollection<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  head(context: SourceContext): Promise<Version>
  hasReached(at: Version, mark: Version): boolean
}

export class CollectionSource<T> implements RedisCollection<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #settings: CollectionSettings<T>
  readonly #keys: CollectionKeys
  readonly #codec: EventCodec<T>
  readonly #warnings: Warnings
  readonly #runner: SessionRunner<Connected>
  readonly #responseSize = new ResponseSizeLimit()

  constructor(settings: CollectionSettings<T>) {
    this.#settings = settings
    this.name = `redis:${settings.name}`
    // Nothing comes for as long as it waits, and then for as long as the proof of it takes.
    this.heartbeatMs = settings.blockMs + settings.timeoutMs
    this.#keys = collectionKeys(keyPrefixOf(settings.client), settings.name)
    this.#codec = new EventCodec(settings.codec, settings.keys)
    this.#warnings = new Warnings(this.name)
    this.#runner = plainRunner(new ClusterRoute(settings.client, this.#keys.meta), this.#warnings, settings)
  }

  list(context: ListContext): AsyncGenerator<ListPage<T>> {
    return this.#runner.list(context, ({ session }) =>
      this.#list(this.#reader(session, context.pageSize), context.floor),
    )
  }

  watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    return this.#runner.watch(context, ({ session }) =>
      this.#watch(this.#reader(session, MOST_ENTRIES), session, context),
    )
  }

  head(context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<Version> {
    return this.#runner.once(context, async ({ session }) => formatVersion(await this.#reader(session, 1).current()))
  }

  hasReached(at: Version, mark: Version): boolean {
    return includesMark(at, mark)
  }

  /**
   * What is in the hash while others write, and what they write meanwhile: read in turn, so that the log need not reach back further
   * than to the page before. A field that nobody touched was there all along, and any other is as its newest entry says.
   *
   * A list that follows `shown` is held against it as a watch from there is: a restored history may have got past it since.
   */
  async *#list(reader: CollectionReader, shown: Version | undefined): AsyncGenerator<ListPage<T>> {
    const begin = await reader.current()
    // After `begin`: what is another history at that place was one already, or the entries after it do not continue it.
    if (shown !== undefined) await reader.assertContinues(parseVersion(shown))
    if ('absentAt' in begin) {
      yield { events: [], version: formatVersion(begin) }
      return
    }
    const keys = new Set<string>()
    let at: Position | Absent = begin
    const tell = (entries: readonly LogEntry[], events: ListEvent<T>[] = []): ListEvent<T>[] => {
      for (const entry of entries) at = this.#follow(at, entry, events)
      for (const { type, key } of events) {
        if (type === 'delete') keys.delete(key)
        else if (key !== undefined) keys.add(key)
      }
      return events
    }
    for (let scan = reader.scan('0'); ; ) {
      const { next, fields } = await scan
      // In this order: no page may be older than an entry that was told before it.
      const news = reader.read(at)
      if (next !== '0') {
        scan = reader.scan(next)
        scan.catch(() => {}) // Nobody may ask for it any more.
      }
      const events = fields.map(({ key, value }) => this.#codec.put(key, value))
      const entries = await news.catch(async (error: unknown) => {
        await scan // It may know better why the connection was lost.
        throw error
      })
      yield { events: tell(entries, events) }
      if (next === '0') break
    }
    for (;;) {
      const { entries, isHead, count, flaw } = await reader.verify(at)
      const events = tell(entries)
      if (!isHead) yield { events }
      else {
        if (flaw !== undefined) throw new SourceError(flaw, { code: 'PROTOCOL' })
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
  ): AsyncGenerator<WatchBatch<T>> {
    let at = parseVersion(after)
    const { blockMs, timeoutMs } = this.#settings
    const batch = (entries: readonly LogEntry[]): WatchBatch<T> => {
      const events: ListEvent<T>[] = []
      for (const entry of entries) at = this.#follow(at, entry, events)
      const committedAt = entries.at(-1)?.committedAt
      return { events, version: formatVersion(at), ...(committedAt === undefined ? {} : { committedAt }) }
    }
    for (;;) {
      const { entries, flaw } = await reader.verify(at)
      if (flaw !== undefined) throw expired(flaw)
      await checkRole(session, this.#warnings.through(warn))
      yield batch(entries)
      const again = clock.now() + PROOF_BLOCKS * blockMs
      for await (const news of reader.follow(at, { blockMs, timeoutMs: blockMs + timeoutMs })) {
        yield batch(news)
        if (clock.now() >= again) break
      }
    }
  }

  #follow(at: Position | Absent, entry: LogEntry, events: ListEvent<T>[]): Position {
    const place = advance(at, entry)
    for (const { key, value } of entry.changes)
      events.push(value === undefined ? this.#codec.delete(key) : this.#codec.put(key, value))
    return place
  }

  #reader(session: Session, pageSize: number): CollectionReader {
    this.#responseSize.begin(session.clock.now())
    const [keys, responseSize, isText] = [this.#keys, this.#responseSize, this.#codec.takesText]
    return new CollectionReader(session, { keys, pageSize, isText, responseSize })
  }
}
