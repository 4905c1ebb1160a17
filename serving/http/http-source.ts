import { assertCollectionName, placeOf } from '../../adapters/common/database-collections.js'
import { OwnSignal, withOwnSignal } from '../../adapters/common/own-signal.js'
import type { Properties } from '../../adapters/common/properties.js'
import {
  EndedEpochs,
  hasReachedUpstream,
  isBehindUpstream,
  isComparable,
  isLaterUpstreamEpoch,
  isUpstream,
  type UpstreamVersions,
} from '../../adapters/common/upstream-versions.js'
import { wallNowOf } from '../../src/contract/clock.js'
import { isEpochChange, OptionError, SourceError } from '../../src/contract/errors.js'
import type { CollectionBatch, HistoryWatchContext } from '../../src/contract/shared-history.js'
import {
  DEFAULT_HEARTBEAT_MS,
  type ListContext,
  type ListEvent,
  type ListPage,
  type SourceContext,
  type WatchBatch,
  type WatchContext,
} from '../../src/contract/source.js'
import { SplitHistory } from '../../src/contract/split-source.js'
import type { Version } from '../../src/contract/version.js'
import {
  checkOptions,
  isDelayOrInfinity,
  isFunction,
  isName,
  isObject,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { eventsIn } from './event-json.js'
import type { HttpCollections, HttpCollectionsOptions, HttpSource, HttpSourceOptions } from './http-options.js'
import {
  type HttpVersion,
  notServed,
  parsedVersion,
  parseVersion,
  receivedVersion,
  resumePoint,
} from './http-version.js'
import { MirrorRequests, OtherFeed } from './mirror-requests.js'
import type { SendRequest } from './received-response.js'

/**
 * Returns a source that follows an informer of another process, which `serveHttp` serves. It runs in Node and in
 * browsers.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 *
 * const orders = createInformer({ source: httpSource<Order>({ url: 'https://api.example/mirror/orders' }) })
 * await orders.start().synced()
 * ```
 */
export function httpSource<T>(options: HttpSourceOptions): HttpSource<T> {
  checkFollowing('httpSource', options)
  return new Http<T>(options, sendOf(options))
}

/**
 * Returns the collections of a mirror that `serveHttp` serves together. Informers over them show one state of the server,
 * and change in one step.
 *
 * @returns The collections, each of which is a source.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { httpCollections } from 'listwatch/http'
 *
 * const shop = httpCollections({ url: 'https://api.example/mirror' }) // serveHttp({ orders, limits })
 * const orders = createInformer({ source: shop.collection<Order>('orders') })
 * const limits = createInformer({ source: shop.collection<Limit>('limits') })
 * await groupInformers([orders, limits]).start().synced()
 * ```
 */
export function httpCollections(options: HttpCollectionsOptions): HttpCollections {
  checkFollowing('httpCollections', options, { holdMs: isDelayOrInfinity })
  const history = new MirrorHistory(new Http(options, sendOf(options), true), placeOf, options.holdMs)
  return {
    collection: (name) => {
      assertCollectionName(name)
      return history.collection(name)
    },
  }
}

/** The collections of one mirror. All have lists of one feed, so that its changes fit to each of them. */
class MirrorHistory extends SplitHistory {
  override async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const feeds = new Set(Array.from(context.positions.values(), (each) => parseVersion(each)?.feed))
    if (feeds.size > 1)
      throw new SourceError('the lists are of different servers or scopes', { code: 'VERSION_EXPIRED' })
    yield* super.watch(context)
  }
}

function checkFollowing(
  call: string,
  options: HttpSourceOptions,
  more: Readonly<Record<string, OptionCheck>> = {},
): void {
  checkOptions(call, options, {
    ...more,
    url: isUrl,
    name: isName,
    headers: (value) => (typeof value === 'function' ? undefined : isObject(value)),
    fetch: isFunction,
    heartbeatMs: isPositive,
    upstream: isUpstream,
  })
  if (options?.url === undefined) throw new OptionError(`${call}: option "url" is missing`, { option: 'url' })
}

function sendOf({ fetch }: HttpSourceOptions): SendRequest {
  return fetch ?? ((address, init) => globalThis.fetch(address, init))
}

/** @internal Returns a source over another transport than HTTP. The options were checked. */
export function sourceOver<T>(send: SendRequest, options: Omit<HttpSourceOptions, 'fetch'>): HttpSource<T> {
  return new Http<T>(options, send)
}

const isUrl: OptionCheck = (value) => {
  const url = typeof value === 'string' || value instanceof URL ? String(value) : ''
  return URL.canParse(url) && /^https?:/.test(url) ? undefined : 'must be an address with http: or https:'
}

interface EndedEpoch {
  /** The feed that was followed. Its server knows that it has ended. */
  readonly feed: string
  /** The last version of the epoch that the mirror has. */
  readonly at: HttpVersion
}

class Http<T> implements HttpSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly silenceHint: string
  readonly #requests: MirrorRequests
  readonly #upstream: UpstreamVersions | undefined
  /** What mirrors show of the epochs that servers have ended. Other servers may not have detected their ends yet. */
  readonly #endedEpochs = new EndedEpochs<EndedEpoch>()
  /** The feed that a mirror follows, at the version of its last list, or after which its last watch began. */
  readonly #followedFeeds = new WeakMap<object, HttpVersion>()
  /** Whether it is the source of several collections, which are one mirror. */
  readonly #hasCollections: boolean
  /** The feed of the last list of a collection, as far as its server is known to have it. */
  #listedFeed: string | undefined

  constructor(
    { url, name, headers, heartbeatMs = DEFAULT_HEARTBEAT_MS, upstream }: Omit<HttpSourceOptions, 'fetch'>,
    send: SendRequest,
    hasCollections = false,
  ) {
    this.#hasCollections = hasCollections
    const address = new URL(url)
    this.name = name ?? `http:${address.host}${address.pathname.replace(/\/$/, '')}`
    this.heartbeatMs = heartbeatMs
    // With a comparison of upstream versions, another server is known to be behind or not.
    const codeOfOtherFeed = upstream === undefined ? 'EPOCH_CHANGED' : 'VERSION_EXPIRED'
    this.#requests = new MirrorRequests(address, headers, send, codeOfOtherFeed)
    this.#upstream = upstream
    this.silenceHint = `the server sends something every ${heartbeatMs} ms, unless its heartbeatMs differs, or a proxy buffers or compresses the response`
  }

  list(context: ListContext): AsyncIterable<ListPage<T>> {
    return withOwnSignal(context.signal, (own) => this.#list(this.#own(context), own.signal))
  }

  watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    return withOwnSignal(context.signal, (own) => this.#watch(this.#own(context), own))
  }

  async head(context: SourceContext): Promise<Version> {
    const { signal, mirror = this } = this.#own(context)
    const own = new OwnSignal(signal)
    try {
      return await this.#version(own.signal, this.#followedFeeds.get(mirror))
    } catch (error) {
      // The watch finds out whether that server has gone.
      throw error instanceof OtherFeed ? new SourceError(error.message, { code: 'UNAVAILABLE' }) : error
    } finally {
      own.end()
    }
  }

  hasReached(at: Version, mark: Version): boolean {
    const here = parsedVersion(at, this.name)
    const there = parseVersion(mark)
    if (there?.feed === here.feed) return here.sequence >= there.sequence
    const [compare, of, isOfFollower] = [this.#upstream, this.name, there !== undefined]
    return hasReachedUpstream({ compare, at: here.upstream, mark: there?.upstream ?? mark, isOfFollower, of })
  }

  isLaterEpoch(at: Version, mark: Version): boolean {
    const { upstream } = parsedVersion(at, this.name)
    return isLaterUpstreamEpoch({ compare: this.#upstream, at: upstream, mark: parseVersion(mark)?.upstream ?? mark })
  }

  /** All collections are one mirror. `splitSource` has names of its own for collections of a source without them. */
  #own<C extends SourceContext>(context: C): C {
    return this.#hasCollections ? { ...context, mirror: this } : context
  }

  async *#list(context: ListContext, signal: AbortSignal): AsyncGenerator<ListPage<T>> {
    let version: Version | undefined
    const collection = this.#hasCollections ? context.collection : undefined
    const query = new URLSearchParams()
    const ended = this.#endedEpochs.shownBy(context)
    if (ended !== undefined) query.set('ended', ended.feed)
    if (collection !== undefined) query.set('collection', collection)
    for await (const received of this.#listed(query, signal)) {
      context.alive?.()
      if (received === undefined) continue
      const { type, fields } = received
      if (type === 'error') {
        const { feed = '' } = parseVersion(version ?? context.floor ?? '') ?? {}
        throw this.#ended(endOf(fields), context, feed, context.floor)
      }
      if (version === undefined) {
        const listed = receivedVersion(fields['version'], 'a list')
        version = String(fields['version'])
        this.#assertSameEpoch(version, context)
        if (fields['hasEnded'] !== true) this.#assertNotBehind(listed, context)
        if (fields['collection'] !== collection)
          throw collection === undefined ? notServed('a list of all objects') : withoutCollections(this.name)
        this.#listedFeed = listed.feed
      } else if (type === 'part' || type === 'batch') yield { events: eventsIn(fields['events']) as ListEvent<T>[] }
      else if (type === 'end') {
        this.#follows(context, parseVersion(version))
        return yield { events: [], version }
      } else throw notServed('a list')
    }
    throw new SourceError('the list ended early', { code: 'UNAVAILABLE' })
  }

  /** Yields the events of a list: of a collection, from the server that the others have, as long as it answers. */
  async *#listed(query: URLSearchParams, signal: AbortSignal): ReturnType<MirrorRequests['events']> {
    const events = () => this.#requests.events(query.size === 0 ? '/list' : `/list?${query}`, signal)
    if (this.#hasCollections && this.#listedFeed !== undefined) query.set('feed', this.#listedFeed)
    try {
      yield* events()
    } catch (error) {
      if (!(error instanceof OtherFeed)) throw error
      query.delete('feed')
      yield* events()
    }
  }

  async *#watch(context: WatchContext, own: OwnSignal): AsyncGenerator<WatchBatch<T>> {
    const position = parsedVersion(context.after, this.name)
    this.#endedEpochs.watching(context)
    this.#follows(context, position)
    let at = context.after
    let contactAt = wallNowOf(context.clock)
    let isResumed = false
    const removeListener = onPageReturn((isOnline) => {
      if (!isOnline && wallNowOf(context.clock) - contactAt <= this.heartbeatMs) return
      isResumed = true
      own.end()
    })
    try {
      for await (const batch of this.#followed(context, position, own.signal)) {
        contactAt = wallNowOf(context.clock)
        at = batch.version
        yield batch
      }
    } catch (error) {
      if (isResumed) return
      if (error instanceof OtherFeed || isEpochChange(error)) this.#listedFeed = undefined
      throw this.#ended(error, context, position.feed, at)
    } finally {
      removeListener()
    }
  }

  async *#followed(context: WatchContext, position: HttpVersion, signal: AbortSignal): AsyncGenerator<WatchBatch<T>> {
    let at = context.after
    // A snapshot is followed by the changes since it was packed, as one batch.
    const until = context.isUnconfirmed === true ? Number(context.resumeState ?? 0) : 0
    const isAtSnapshot = until > position.sequence
    const batches = this.#batches(position, signal, isAtSnapshot ? undefined : at)
    if (isAtSnapshot) {
      const caughtUp = await mergedUntil(batches, until)
      if (caughtUp === undefined) return
      at = caughtUp.version
      yield caughtUp
    }
    let next: ReturnType<typeof batches.next> | undefined
    let answer: (mirror: { readonly version: Version | undefined }) => void = () => {}
    context.onProgressRequest(() => {
      this.#version(signal, position).then(
        (version) => answer({ version }),
        () => answer({ version: undefined }), // The reader continues to wait.
      )
    })
    for (;;) {
      next ??= batches.next()
      const answered = new Promise<{ readonly version: Version | undefined }>((resolve) => {
        answer = resolve
      })
      const first = await Promise.race([next, answered])
      if ('version' in first) {
        // If the watch has reached the version of the mirror, no batch will report it.
        if (first.version !== undefined && this.#includes(at, first.version)) yield { events: [], version: at }
        continue
      }
      next = undefined
      if (first.done === true) return
      at = first.value.version
      yield first.value
    }
  }

  /**
   * Throws `EPOCH_CHANGED` for a list of another epoch than that of the version which readers have seen. The next list
   * may be of a server that is in the earlier epoch.
   */
  #assertSameEpoch(listed: Version, context: ListContext): void {
    const { floor } = context
    const shown = floor === undefined ? undefined : parseVersion(floor)
    if (floor === undefined || shown === undefined || this.#upstream === undefined) return
    try {
      this.hasReached(listed, floor)
    } catch (error) {
      throw this.#ended(error, context, shown.feed, floor)
    }
  }

  /**
   * Throws `STALE_LIST` for the list of another server that may be an earlier state of the ended epoch. A restored
   * upstream may count versions from a smaller number, and only the server that has ended the epoch knows that.
   */
  #assertNotBehind(listed: HttpVersion, context: SourceContext): void {
    const ended = this.#endedEpochs.refusedBy(context)
    if (ended === undefined || !isBehindUpstream(listed.upstream, ended.at.upstream, this.#upstream)) return
    const message = 'the list is of another server, which may not have detected the end of the epoch yet'
    throw new SourceError(message, { code: 'STALE_LIST' })
  }

  /** `shown` is undefined if the mirror has no version, or is listing since the end of an epoch. */
  #ended(error: unknown, context: SourceContext, feed: string, shown: Version | undefined): unknown {
    const at = shown === undefined ? this.#endedEpochs.shownBy(context)?.at : parseVersion(shown)
    return this.#endedEpochs.ended(error, context, at && { feed, at })
  }

  #follows({ mirror = this }: SourceContext, at: HttpVersion | undefined): void {
    if (at !== undefined) this.#followedFeeds.set(mirror, at)
  }

  /** Whether `at` includes `version`; false if another server sent it and the two cannot be compared. */
  #includes(at: Version, version: Version): boolean {
    try {
      return this.hasReached(at, version)
    } catch {
      return false
    }
  }

  /** Returns the version of the server that is followed, or one that can be compared with its versions. */
  async #version(signal: AbortSignal, followed: HttpVersion | undefined): Promise<Version> {
    const isAnyServer = followed === undefined || (this.#upstream !== undefined && isComparable(followed.upstream))
    const address = `/version?fresh${isAnyServer ? '' : `&feed=${followed.feed}`}`
    const { version } = await this.#requests.ofFeed(() => this.#requests.json(address, signal))
    receivedVersion(version, 'a version')
    return String(version)
  }

  /**
   * Yields the batches after a version. The first one is a bookmark at `resumed`, when the first frame has arrived: the
   * headers alone do not show that frames pass. While a batch arrives, each of its pieces is a bookmark, so that the
   * watch is not silent.
   */
  async *#batches(
    after: HttpVersion,
    signal: AbortSignal,
    resumed: Version | undefined,
  ): AsyncGenerator<{ events: ListEvent<T>[]; version: Version }> {
    let parts: ListEvent<T>[] = []
    let { sequence } = after
    let at: Version | undefined
    const address = `/watch?after=${encodeURIComponent(resumePoint(after))}`
    for await (const received of this.#requests.events(address, signal)) {
      if (received?.type === 'error') throw endOf(received.fields)
      if (at === undefined) {
        if (received === undefined) continue
        at = resumed ?? resumePoint(after)
        if (resumed !== undefined) yield { events: [], version: at }
        continue
      }
      if (received === undefined) {
        yield { events: [], version: at }
        continue
      }
      const { type, fields } = received
      if (type !== 'part' && type !== 'batch') continue
      if (receivedVersion(fields['version'], 'a batch').sequence !== ++sequence)
        // Each frame has the next one. A server of another version may send some in a form that is not known here.
        throw new SourceError(`the changes with the sequence ${sequence} did not arrive`, { code: 'VERSION_EXPIRED' })
      for (const event of eventsIn(fields['events']) as ListEvent<T>[]) parts.push(event)
      if (type === 'batch') {
        at = String(fields['version'])
        yield { events: parts, version: at }
        parts = []
      } else yield { events: [], version: at }
    }
  }
}

/** Returns all batches until a sequence of the feed as one; undefined if the watch has ended before. */
async function mergedUntil<T>(
  batches: AsyncIterator<{ readonly events: readonly ListEvent<T>[]; readonly version: Version }>,
  until: number,
): Promise<WatchBatch<T> | undefined> {
  const events: ListEvent<T>[] = []
  for (;;) {
    const { done, value } = await batches.next()
    if (done === true) return undefined
    for (const event of value.events) events.push(event)
    const sequence = parseVersion(value.version)?.sequence ?? Number.POSITIVE_INFINITY
    if (sequence >= until) return { events, version: value.version }
  }
}

function withoutCollections(of: string): SourceError {
  const message = `${of} serves one informer: use httpSource, or serve several as serveHttp({ orders, limits })`
  return new SourceError(message, { code: 'NOT_FOUND' })
}

function endOf({ code, message }: Properties): SourceError {
  const known = code === 'VERSION_EXPIRED' || code === 'EPOCH_CHANGED' ? code : 'UNAVAILABLE'
  return new SourceError(typeof message === 'string' ? message : 'the server ended the watch', { code: known })
}

interface BrowserGlobal {
  readonly document?: EventTarget & { readonly visibilityState: string }
  readonly addEventListener?: EventTarget['addEventListener']
}

/**
 * Calls `listener` when a browser shows its page again, or has a network again. A connection may have been lost
 * meanwhile without a sign. Returns a function that removes the listener. In Node nothing happens.
 */
function onPageReturn(listener: (isOnline: boolean) => void): () => void {
  const browser: BrowserGlobal = globalThis as BrowserGlobal
  const { document } = browser
  const removing = new AbortController()
  const { signal } = removing
  const returned = (): void => {
    if (document?.visibilityState !== 'hidden') listener(false)
  }
  browser.addEventListener?.('online', () => listener(true), { signal })
  browser.addEventListener?.('pageshow', returned, { signal })
  document?.addEventListener('visibilitychange', returned, { signal })
  return () => removing.abort()
}
