import { OwnSignal } from '../../adapters/common/own-signal.js'
import { unavailable } from '../../adapters/common/source-errors.js'
import {
  EndedEpochs,
  hasReachedUpstream,
  isBehindUpstream,
  isLaterUpstreamEpoch,
  isUpstream,
  type UpstreamVersions,
} from '../../adapters/common/upstream-versions.js'
import { notAVersion } from '../../adapters/common/version-format.js'
import { isEpochChange, messageOf, OptionError, SourceError } from '../../src/contract/errors.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../src/contract/source.js'
import { MAX_VERSION_BYTES, type Version } from '../../src/contract/version.js'
import { backoff, drawDelay, grown } from '../../src/reflector/backoff.js'
import { checkOptions } from '../../src/util/validate-options.js'
import { eventsOf, HEADER_KEY, parseHeader, type RelayHeader } from './relay-texts.js'
import { isStore } from './store-check.js'

/**
 * The options of `relaySource`.
 *
 * @example
 * ```ts
 * import { natsRelayStore } from 'listwatch/nats'
 * import { relaySource } from 'listwatch/relay'
 *
 * const store = natsRelayStore({ client: connection, relay: 'orders' })
 * const follower = createInformer({ source: relaySource<Order>({ store, upstream: source }) })
 * await follower.start().synced()
 * await follower.waitFor(mark) // A mark of the upstream, which is Postgres here.
 * ```
 */
export interface RelaySourceOptions {
  /** The store that a relay writes. */
  readonly store: RelayStore
  /**
   * Compares versions of the upstream source; its source object fits, also if it never connects. With it, marks of the
   * writers of the upstream can be waited for. Default: only versions of followers can be compared.
   */
  readonly upstream?: UpstreamVersions
}

/**
 * The source that `relaySource` returns.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { serveRelay, relaySource } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * await serveRelay(orders, store).synced()
 * const follower = createInformer({ source: relaySource<Order>({ store }) })
 * await follower.start().synced()
 * await follower.fresh({ timeoutMs: 5_000 }) // Includes every write of the relay before this call.
 * ```
 */
export interface RelaySource<T> extends ListerWatcher<T> {
  /** Returns the version of the store, which includes every write of the relay before the call. */
  head(context: SourceContext): Promise<Version>
  /** Returns whether `at` includes everything up to `mark`. */
  hasReached(at: Version, mark: Version): boolean
  /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
  isLaterEpoch(at: Version, mark: Version): boolean
}

/**
 * Returns a source that follows a mirror which `serveRelay` of another process writes to an engine. Its versions contain
 * those of the upstream source.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import pg from 'pg'
 * import { postgresSource } from 'listwatch/postgres'
 * import { redisRelayStore } from 'listwatch/redis'
 * import { relaySource } from 'listwatch/relay'
 *
 * const store = redisRelayStore({ client: new Redis(url, { lazyConnect: true }), relay: 'orders' })
 * const upstream = postgresSource<Order>({ connect: () => new pg.Client(), table: 'orders' })
 * const orders = createInformer({ source: relaySource<Order>({ store, upstream }) })
 * ```
 */
export function relaySource<T>(options: RelaySourceOptions): RelaySource<T> {
  checkOptions('relaySource', options, { store: isStore, upstream: isUpstream })
  if (options?.store === undefined) throw new OptionError('relaySource: option "store" is missing', { option: 'store' })
  return new Relayed<T>(options)
}

/** How long a list waits for the rest of a batch, in milliseconds: it must yield a page within 30 s. */
const REST_MS = 20_000
/** The delays between two looks at the store meanwhile, in milliseconds. */
const FIRST_LOOK_MS = 100
const MAX_LOOK_MS = 4_000

class Relayed<T> implements RelaySource<T> {
  readonly name: string
  readonly selection: string
  readonly heartbeatMs?: number
  readonly #store: RelayStore
  readonly #collection: RelayStore['collection']
  readonly #upstream: UpstreamVersions | undefined
  readonly #ended = new EndedEpochs<RelayVersion>()

  constructor({ store, upstream }: RelaySourceOptions) {
    const { collection, name } = store
    this.name = name
    this.selection = JSON.stringify(['relay', collection.selection ?? collection.name])
    if (collection.heartbeatMs !== undefined) this.heartbeatMs = collection.heartbeatMs
    this.#store = store
    this.#collection = collection
    this.#upstream = upstream
  }

  hasReached(at: Version, mark: Version): boolean {
    const { epoch, position, upstream } = parsedVersion(at)
    const there = parseVersion(mark)
    const isIn = there && this.#reached(position, there.position)
    if (there === undefined || isIn === undefined) {
      const isOfFollower = there !== undefined
      const [compare, of] = [this.#upstream, OF]
      return hasReachedUpstream({ compare, at: upstream, mark: there?.upstream ?? mark, isOfFollower, of })
    }
    if (epoch !== there.epoch) throw upstreamChanged()
    return isIn
  }

  /** Of the relay, of the engine, or of the upstream. */
  isLaterEpoch(at: Version, mark: Version): boolean {
    const { epoch, position, upstream } = parsedVersion(at)
    const there = parseVersion(mark)
    if (there !== undefined) {
      if (this.#reached(position, there.position) !== undefined) return there.epoch > epoch
      if (this.#collection.isLaterEpoch?.(position, there.position) === true) return true
    }
    return isLaterUpstreamEpoch({ compare: this.#upstream, at: upstream, mark: there?.upstream ?? mark })
  }

  /** Undefined if the positions are of different histories of the engine. */
  #reached(at: Version, mark: Version): boolean | undefined {
    try {
      return this.#collection.hasReached?.(at, mark) === true
    } catch (error) {
      if (isEpochChange(error)) return undefined
      throw error
    }
  }

  async head(context: SourceContext): Promise<Version> {
    const { text, position } = await this.#store.read(HEADER_KEY, context)
    return this.#version(position, this.#complete(parseHeader(text)))
  }

  resumeState(mirror: object): string | undefined {
    return this.#collection.resumeState?.(mirror)
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const { floor } = context
    try {
      yield* this.#list(context)
    } catch (error) {
      throw this.#ended.ended(error, context, floor === undefined ? undefined : parsedVersion(floor))
    }
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    this.#ended.watching(context)
    let at = context.after
    try {
      for await (const batch of this.#watch(context)) {
        at = batch.version
        yield batch
      }
    } catch (error) {
      throw this.#ended.ended(error, context, parsedVersion(at))
    }
  }

  async *#list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const floor = context.floor === undefined ? undefined : parsedVersion(context.floor)
    // A store that stays incomplete is not read as a whole.
    await this.#awaitProgress(context)
    let header: RelayHeader | undefined
    let end: Version | undefined
    const last = (events: readonly ListEvent<T>[], position: Version): ListPage<T> => {
      const complete = this.#complete(header)
      if (floor !== undefined && floor.epoch !== complete.epoch) throw upstreamChanged()
      this.#assertNotBehind(complete, context)
      return { events, version: this.#version(position, complete) }
    }
    const decoded = (stored: readonly WatchEvent<string>[]): readonly ListEvent<T>[] => {
      const events: ListEvent<T>[] = []
      for (const each of stored) {
        const event = changeIn(each)
        if (event.key === HEADER_KEY) header = headerIn(event)
        else events.push(...eventsOf<T>(event))
      }
      return events
    }
    for await (const page of this.#collection.list({ ...context, floor: floor?.position })) {
      const events = decoded(page.events)
      const remaining = page.remaining === undefined ? {} : { remaining: page.remaining }
      end = page.version
      yield end === undefined || header?.isWhole === false
        ? { events, ...remaining }
        : { ...last(events, end), ...remaining }
    }
    if (end === undefined || header?.isWhole !== false) return
    // A relay that writes large batches without a pause has always written a part of one.
    for await (const batch of this.#rest(end, context)) {
      const events = decoded(batch.events)
      if (header?.isWhole !== false) {
        yield last(events, batch.version)
        return
      }
      yield { events }
    }
    this.#complete(header)
  }

  async *#watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const after = parsedVersion(context.after)
    let version = context.after
    let { epoch, upstream } = after
    let isWhole = true
    /** The changes of a batch whose last part has not arrived. */
    let pending: WatchEvent<T>[] = []
    for await (const batch of this.#collection.watch({ ...context, after: after.position })) {
      for (const event of batch.events) {
        const change = changeIn(event)
        if (change.key !== HEADER_KEY) pending.push(...eventsOf<T>(change))
        else {
          const header = laterHeaderIn(change)
          if (header !== undefined && header.epoch !== epoch) throw upstreamChanged()
          isWhole = header?.isWhole === true
          upstream = header?.version ?? ''
          epoch = header?.epoch ?? epoch
        }
      }
      if (isWhole) {
        version = formatVersion({ epoch, position: batch.version, upstream })
        const { committedAt } = batch
        yield { events: pending, version, ...(committedAt === undefined ? {} : { committedAt }) }
        pending = []
      } else yield { events: [], version } // The watch is alive.
    }
  }

  /**
   * Throws `STALE_LIST` for an earlier state: the engine has lost writes, which a relay will write again. If the upstream
   * has another history, the epoch of the relay is later. If engine and upstream were restored, no relay may know that,
   * so the time of the refusals is limited.
   */
  #assertNotBehind({ epoch, version = '' }: RelayHeader, context: SourceContext): void {
    const upstream = this.#upstream
    const shown = upstream && this.#ended.refusedBy(context)
    if (shown === undefined) return
    if (epoch > shown.epoch) return
    if (epoch === shown.epoch && !isBehindUpstream(version, shown.upstream, upstream)) return
    const message = `${this.name} has lost writes, and no relay has written them again yet`
    throw new SourceError(message, { code: 'STALE_LIST' })
  }

  /** If the store has a part of a batch, waits until a relay has written more of it. It may follow soon. */
  async #awaitProgress(context: SourceContext): Promise<void> {
    const { clock, random, signal } = context
    const until = clock.now() + REST_MS
    let first: Version | undefined
    for (let delay = backoff(FIRST_LOOK_MS, MAX_LOOK_MS); ; delay = grown(delay)) {
      const { text, position } = await this.#store.read(HEADER_KEY, context)
      const header = parseHeader(text)
      first ??= position
      if (header?.isWhole === false && position !== first) return
      if (header?.isWhole !== false || clock.now() >= until) {
        this.#complete(header)
        return
      }
      await clock.sleep(drawDelay(delay, random), signal)
    }
  }

  /** The changes of the store after a position, for a limited time. */
  async *#rest(after: Version, context: ListContext): AsyncGenerator<WatchBatch<string>> {
    const own = new OwnSignal(context.signal)
    const { signal } = own
    context.clock.sleep(REST_MS, signal).then(
      () => own.end(),
      () => {},
    )
    try {
      yield* this.#collection.watch({ ...context, signal, after, onProgressRequest: () => {} })
    } catch (error) {
      if (context.signal.aborted || !signal.aborted) throw error
    } finally {
      own.end()
    }
  }

  #version(position: Version, { epoch, version = '' }: RelayHeader): Version {
    return formatVersion({ epoch, position, upstream: version })
  }

  #complete(header: RelayHeader | undefined): RelayHeader {
    if (header === undefined) throw unavailable(`no relay has written to ${this.name} yet`)
    if (header.isWhole) return header
    throw unavailable(`a relay has written a part of a batch to ${this.name}; the rest is missing`)
  }
}

/** Throws for an event that no collection of a relay store has. */
function changeIn(event: WatchEvent<string>): ListEvent<string> {
  if (event.type !== 'replace') return event
  throw new TypeError('the collection of a relay store must not yield "replace"')
}

function headerIn(event: ListEvent<string>): RelayHeader | undefined {
  return event.type === 'put' ? parseHeader(event.object) : undefined
}

/** If it cannot be read, only a list helps: a watch would receive it again, also after a relay has replaced it. */
function laterHeaderIn(event: ListEvent<string>): RelayHeader | undefined {
  try {
    return headerIn(event)
  } catch (cause) {
    throw new SourceError(messageOf(cause), { code: 'VERSION_EXPIRED', cause })
  }
}

/** A version of a follower: a position of the store, the epoch of the relay, and the version of the upstream. */
interface RelayVersion {
  readonly epoch: number
  readonly position: Version
  /** Empty if the upstream mirror had none. */
  readonly upstream: string
}

const OF = 'a relay'
const pattern = /^relay1\.(\d{1,15})\.([\x21-\x7e]+) ([\x20-\x7e]*)$/

/** `relay1.<epoch>.<position> <upstream>` */
function formatVersion({ epoch, position, upstream }: RelayVersion): Version {
  const own = `relay1.${epoch}.${position} `
  return own.length + upstream.length > MAX_VERSION_BYTES ? own : own + upstream
}

/** Returns undefined if the text is not a version of a follower. */
function parseVersion(version: Version): RelayVersion | undefined {
  const [, epoch, position, upstream = ''] = pattern.exec(version) ?? []
  return position === undefined ? undefined : { epoch: Number(epoch), position, upstream }
}

/** Throws PROTOCOL for any other text. */
function parsedVersion(version: Version): RelayVersion {
  const known = parseVersion(version)
  if (known === undefined) throw notAVersion(version, OF)
  return known
}

function upstreamChanged(): SourceError {
  return new SourceError('the upstream source has another history', { code: 'EPOCH_CHANGED' })
}
