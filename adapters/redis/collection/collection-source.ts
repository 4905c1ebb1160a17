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
import { withSignsOfLife } from '../../../src/util/keep-alive.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { EventCodec, type RedisCodecName, type RedisDecode, type RedisKeys } from '../connection/codec.js'
import { expired, unavailable } from '../connection/redis-errors.js'
import { checkRole, checkServer, Warnings } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
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
  readonly #route: ClusterRoute
  readonly #warnings: Warnings
  readonly #answers = new ResponseSizeLimit()

  constructor(settings: CollectionSettings<T>) {
    this.#settings = settings
    this.name = `redis:${settings.name}`
    // Nothing comes for as long as it waits, and then for as long as the proof of it takes.
    this.heartbeatMs = settings.blockMs + settings.timeoutMs
    this.#keys = collectionKeys(keyPrefixOf(settings.client), settings.name)
    this.#codec = new EventCodec(settings.codec, settings.keys)
    this.#route = new ClusterRoute(settings.client, this.#keys.meta)
    this.#warnings = new Warnings(this.name)
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const sign = (): ListPage<T> => ({ events: [] })
    yield* this.#visit(context, context.pageSize, (reader) => this.#list(reader, context.floor), sign)
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const { after } = context
    const run = (reader: CollectionReader, session: Session): AsyncGenerator<WatchBatch<T>> =>
      this.#watch(reader, session, context)
    const sign = (last?: WatchBatch<T>): WatchBatch<T> => ({ events: [], version: last?.version ?? after })
    yield* this.#visit(context, MOST_ENTRIES, run, sign)
  }

  async head(context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<Version> {
    for await (const version of this.#visit(context, 1, async function* (reader) {
      yield formatVersion(await reader.current())
    }))
      return version
    throw unavailable('nothing was heard')
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

  /** One list or one watch, over a connection of its own; with `sign`, a sign of life while a large answer is on its way. */
  async *#visit<V>(
    { signal, clock, warn }: Pick<SourceContext, 'signal' | 'clock' | 'warn'>,
    pageSize: number,
    run: (reader: CollectionReader, session: Session) => AsyncGenerator<V>,
    sign?: (last: V | undefined) => V,
  ): AsyncGenerator<V> {
    const { timeoutMs, blockMs: everyMs } = this.#settings
    const session = await this.#route.open({ signal, clock, timeoutMs })
    try {
      await checkServer(session, this.#warnings.through(warn))
      const [keys, answers, isText] = [this.#keys, this.#answers, this.#codec.takesText]
      answers.begin(clock.now())
      const steps = run(new CollectionReader(session, { keys, pageSize, isText, answers }), session)
      yield* sign === undefined ? steps : withSignsOfLife(steps, { session, clock, everyMs, sign })
    } catch (error) {
      this.#route.noteFailure(error)
      throw error
    } finally {
      session.close()
    }
  }
}
