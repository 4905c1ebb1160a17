import { assertCollectionName } from '../../adapters/common/database-collections.js'
import { type Clock, systemClock } from '../../src/contract/clock.js'
import { messageOf, OptionError, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import { DEFAULT_HEARTBEAT_MS } from '../../src/contract/source.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Index } from '../../src/store/indexes/index-types.js'
import { membersOf } from '../../src/util/type-guards.js'
import {
  checkOptions,
  checkScope,
  isCount,
  isFunction,
  isObject,
  isPlainObject,
  isPositive,
  isSignal,
} from '../../src/util/validate-options.js'
import { directResponse, type Follower } from './follower.js'
import { isOtherProtocol, parseVersion, UNKNOWN_FEED } from './http-version.js'
import { InvalidKeys } from './invalid-keys.js'
import { type FeedOptions, MirrorFeed } from './mirror-feed.js'
import { ServedMirror, type Sources } from './served-mirror.js'

/**
 * The objects that one caller may read.
 *
 * @example
 * ```ts
 * import { type MirrorScope, serveHttp } from 'listwatch/http'
 *
 * declare function userOf(request: Request): Promise<{ readonly tenant: string; readonly isAdmin: boolean }>
 * const scope = async (request: Request): Promise<MirrorScope<typeof orders.by>> => {
 *   const { tenant, isAdmin } = await userOf(request)
 *   return isAdmin ? {} : { where: { tenant } }
 * }
 * const mirror = serveHttp(orders, { scope })
 * ```
 */
export interface MirrorScope<I = {}> {
  /** Only objects that have these values in these indexes. Default: all objects. */
  readonly where?: { readonly [K in keyof I]?: I[K] extends Index<unknown, infer V> ? V : never }
}

/**
 * The objects that the caller of a request may read, and for how long.
 *
 * @example
 * ```ts
 * import { type RequestScope, serveHttp } from 'listwatch/http'
 *
 * declare function sessionOf(request: Request): Promise<{ readonly tenant: string; readonly ended: AbortSignal }>
 * const scope = async (request: Request): Promise<RequestScope<typeof orders.by>> => {
 *   const { tenant, ended } = await sessionOf(request)
 *   return { where: { tenant }, signal: ended }
 * }
 * const mirror = serveHttp(orders, { scope })
 * ```
 */
export interface RequestScope<I = {}> extends MirrorScope<I> {
  /**
   * Ends the response when it aborts. The follower then sends another request, for which `scope` is called. Default: a
   * watch ends after `watchMs`.
   */
  readonly signal?: AbortSignal
}

/**
 * Informers that are served together, by the names of their collections.
 *
 * @example
 * ```ts
 * import { type ServedInformers, serveHttp } from 'listwatch/http'
 *
 * const collections: ServedInformers = { orders, limits }
 * const mirror = serveHttp(collections)
 * ```
 */
export type ServedInformers = Readonly<Record<string, Informer<unknown, object>>>

/**
 * The objects of several collections that the caller of a request may read, and for how long.
 *
 * @example
 * ```ts
 * import type { CollectionsScope } from 'listwatch/http'
 *
 * type Shop = { readonly orders: typeof orders; readonly limits: typeof limits }
 * const scopeOf = (tenant: string): CollectionsScope<Shop> => ({ where: { orders: { tenant }, limits: { tenant } } })
 * ```
 */
export interface CollectionsScope<M extends ServedInformers> extends Pick<RequestScope, 'signal'> {
  /** For each collection as in `MirrorScope`; `{}` selects all its objects. Default: all objects of all collections. */
  readonly where?: {
    readonly [C in keyof M]: M[C] extends Informer<infer _, infer I> ? NonNullable<MirrorScope<I>['where']> : never
  }
}

/**
 * The options of `serveHttp`.
 *
 * @example
 * ```ts
 * import { serveHttp } from 'listwatch/http'
 *
 * const mirror = serveHttp(orders, {
 *   heartbeatMs: 5_000, // Default: 10 000. The same as in `httpSource`.
 *   watchMs: 60_000, // Default: 600 000.
 *   historyBytes: 64 * 2 ** 20, // Of each scope. Default: 16 MiB.
 *   maxScopes: 100, // Default: 1 000.
 * })
 * ```
 */
export interface ServeHttpOptions<I = {}> {
  /**
   * Called for each request. Returns the objects that the caller may read, or the response that refuses the request.
   * Default: every caller reads all objects.
   */
  readonly scope?: (request: Request) => RequestScope<I> | Response | Promise<RequestScope<I> | Response>
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * After this time a watch ends and its follower resumes, so that `scope` is called again, in milliseconds. Default
   * 600 000.
   */
  readonly watchMs?: number
  /** The size of the history of each scope, in bytes. A follower that is further behind lists again. Default 16 MiB. */
  readonly historyBytes?: number
  /**
   * The maximum number of scopes at a time. A request for one more takes the place of one without a watch; if there is
   * none, it is refused with 503. Default 1 000.
   */
  readonly maxScopes?: number
  /** The clock of all delays and timeouts. Default: `systemClock`. */
  readonly clock?: Clock
}

/**
 * The options of `serveHttp` for several informers.
 *
 * @example
 * ```ts
 * import { type ServeCollectionsOptions, serveHttp } from 'listwatch/http'
 *
 * type Shop = { readonly orders: typeof orders; readonly limits: typeof limits }
 * const options: ServeCollectionsOptions<Shop> = { historyBytes: 64 * 2 ** 20 } // Of each scope, for all collections.
 * const mirror = serveHttp({ orders, limits }, options)
 * ```
 */
export interface ServeCollectionsOptions<M extends ServedInformers> extends Omit<ServeHttpOptions, 'scope'> {
  /**
   * Called for each request. Returns the objects that the caller may read, or the response that refuses the request.
   * Default: every caller reads all objects.
   */
  readonly scope?: (request: Request) => CollectionsScope<M> | Response | Promise<CollectionsScope<M> | Response>
}

/**
 * A handler for any framework that has `Request` and `Response`.
 *
 * @example
 * ```ts
 * import { serveHttp } from 'listwatch/http'
 *
 * const mirror = serveHttp(orders)
 * const response = await mirror(new Request('https://api.example/mirror/orders/version')) // As a framework calls it.
 * console.log(response.status, await response.text())
 * process.once('SIGTERM', () => mirror.close())
 * ```
 */
export interface HttpServing extends AsyncDisposable {
  /**
   * Answers `GET …/list`, `GET …/watch?after=<version>` and `GET …/version`, under any prefix. It rejects only for a
   * value that is not a Request, such as a request of node:http: see `nodeListener`.
   */
  (request: Request): Promise<Response>
  /** Ends all watches. Later requests are answered with 503. The informer continues. */
  close(): Promise<void>
}

/** Returns a scope, or a Response; anything else is a mistake of the program. */
type ScopeOf = (request: Request) => object | Promise<object>

/** @internal The default of `historyBytes`. */
export const DEFAULT_HISTORY_BYTES: number = 16 * 1024 * 1024
/** How many feeds of ended histories are remembered. Versions of others count as those of another server. */
const MAX_ENDED_FEEDS = 10_000
/** A request waits for the first list of the informer for at most this time, in milliseconds. */
const SYNC_MS = 20_000

/**
 * Serves an informer to followers: other informers with `httpSource`, in Node or in browsers, and anything that reads
 * JSON and server-sent events. A change is encoded once for all followers of a scope. A follower that does not read
 * costs no memory: it lists again if it is too far behind.
 *
 * @returns The function that answers the requests of followers.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { nodeListener, serveHttp } from 'listwatch/http'
 *
 * const mirror = serveHttp(orders, {
 *   scope: (request) => {
 *     const tenant = request.headers.get('x-tenant')
 *     return tenant === null ? new Response('no tenant', { status: 403 }) : { where: { tenant } }
 *   },
 * })
 * createServer(nodeListener(mirror)).listen(8080)
 * ```
 */
export function serveHttp<T, I extends object>(informer: Informer<T, I>, options?: ServeHttpOptions<I>): HttpServing
/**
 * Serves several informers together. Followers with `httpCollections` show one state of the server in all of them: the
 * informers of one history, and views of them, change in one step.
 *
 * @param informers By the names of their collections.
 * @returns The function that answers the requests of followers.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { serveHttp } from 'listwatch/http'
 *
 * const mirror = serveHttp({ orders, limits }, {
 *   scope: (request) => {
 *     const tenant = request.headers.get('x-tenant') ?? ''
 *     return { where: { orders: { tenant }, limits: {} } } // All limits.
 *   },
 * })
 * ```
 */
export function serveHttp<M extends ServedInformers>(informers: M, options?: ServeCollectionsOptions<M>): HttpServing
export function serveHttp(
  served: Informer<unknown, object> | ServedInformers,
  options: Omit<ServeHttpOptions, 'scope'> & { readonly scope?: ScopeOf } = {},
): HttpServing {
  const informers = informersIn(served)
  checkOptions('serveHttp', options, {
    scope: isFunction,
    heartbeatMs: isPositive,
    watchMs: isPositive,
    historyBytes: isCount,
    maxScopes: isCount,
    clock: isObject,
  })
  const { scope = () => ({}) } = options
  const server = new MirrorServer<unknown>(informers, options)
  const close = async (): Promise<void> => server.close()
  return Object.assign((request: Request) => server.answer(request, scope), { close, [Symbol.asyncDispose]: close })
}

function isInformer(value: unknown): value is Informer<unknown, object> {
  return typeof membersOf(value)['changes'] === 'function'
}

/** Returns the informers by name; a single one by "". */
function informersIn(served: unknown): ReadonlyMap<string, Informer<unknown, object>> {
  if (isInformer(served)) return new Map([['', served]])
  const all = new Map<string, Informer<unknown, object>>()
  for (const [name, informer] of isPlainObject(served) === undefined ? Object.entries(membersOf(served)) : []) {
    assertCollectionName(name, 'serveHttp: a collection')
    if (!isInformer(informer))
      throw new OptionError(`serveHttp: the collection "${name}" must be an informer`, { option: 'informers' })
    all.set(name, informer)
  }
  if (all.size > 0) return all
  throw new OptionError('serveHttp: the first argument must be an informer, or an object of informers by name', {
    option: 'informer',
  })
}

/** @internal The server of a mirror, whose options were checked. A handler and a share have one. */
export class MirrorServer<T> {
  readonly #mirror: ServedMirror<T>
  readonly #clock: Clock
  readonly #feedOptions: Omit<FeedOptions, 'invalid'>
  readonly #maxScopes: number
  /** By the text of the scope. */
  readonly #feeds = new Map<string, MirrorFeed<T>>()
  /** The ids of feeds whose history has ended. */
  readonly #endedFeeds = new Set<string>()
  /** The sources whose epoch has ended and that have not listed since. */
  readonly #endedEpochs = new Set<string>()
  /** The ends of epochs that were handled. A status can show one again after the error of another source. */
  readonly #handled = new WeakSet<SourceError>()
  readonly #unlisten: () => void
  #isClosed = false

  /** `onCleared`: for a share, whose lists are in shared memory. Called after the objects of a feed were deleted. */
  constructor(
    informers: ReadonlyMap<string, Informer<T, object>>,
    options: Omit<ServeHttpOptions, 'scope'>,
    onCleared?: (feed: object) => void,
  ) {
    const { heartbeatMs = DEFAULT_HEARTBEAT_MS, historyBytes = DEFAULT_HISTORY_BYTES, clock = systemClock } = options
    this.#mirror = new ServedMirror(informers, clock)
    this.#clock = clock
    this.#feedOptions = { historyBytes, heartbeatMs, watchMs: options.watchMs ?? 600_000, onCleared }
    this.#maxScopes = options.maxScopes ?? 1_000
    for (const { lastError } of Object.values(this.#mirror.sources)) if (lastError) this.#handled.add(lastError)
    this.#unlisten = this.#mirror.onStatus((sources, before) => this.#changed(sources, before))
  }

  /** Answers a request with what `scopeOf` allows. */
  async answer(request: Request, scopeOf: ScopeOf): Promise<Response> {
    assertRequest(request)
    try {
      return await this.#answer(request, scopeOf)
    } catch (thrown) {
      if (thrown instanceof SourceError) return failure(503, thrown.code, thrown.message)
      if (request.signal.aborted) return failure(503, 'STOPPED', 'the client closed the request')
      emitWarning(`serveHttp: a request failed: ${messageOf(thrown)}`)
      return failure(500, 'UNAVAILABLE', 'the request failed')
    }
  }

  close(): void {
    this.#isClosed = true
    this.#unlisten()
    this.#end(new SourceError('the server is closing', { code: 'UNAVAILABLE' }))
  }

  #changed(sources: Sources, before: Sources): void {
    let hasEnded = false
    for (const [name, { state, isSynced, lastError }] of Object.entries(sources)) {
      if (state === 'connecting' && before[name]?.state.endsWith('listing') === true) this.#endedEpochs.delete(name)
      if (lastError?.code !== 'EPOCH_CHANGED' || this.#handled.has(lastError)) continue
      this.#handled.add(lastError)
      if (!isSynced) continue // The store has shown nothing of that epoch.
      this.#endedEpochs.add(name)
      hasEnded = true
    }
    if (!hasEnded) return
    for (const { id } of this.#feeds.values()) this.#endedFeeds.add(id)
    for (const id of this.#endedFeeds) if (this.#endedFeeds.size > MAX_ENDED_FEEDS) this.#endedFeeds.delete(id)
    this.#end(new SourceError('the source has another history', { code: 'EPOCH_CHANGED' }))
  }

  #end(reason: SourceError): void {
    for (const feed of this.#feeds.values()) feed.close(reason)
    this.#feeds.clear()
  }

  async #answer(request: Request, scopeOf: ScopeOf): Promise<Response> {
    const url = new URL(request.url)
    const [, path] = /\/(list|watch|version)\/?$/.exec(url.pathname) ?? []
    if (path === undefined) return failure(404, 'NOT_FOUND', 'allowed are /list, /watch and /version')
    if (request.method !== 'GET') {
      const refusal = failure(405, 'PROTOCOL', 'only GET is allowed')
      refusal.headers.set('allow', 'GET')
      return refusal
    }
    this.#assertOpen()
    const scope = await scopeOf(request)
    if (scope instanceof Response) return scope
    assertScope(scope, this.#mirror)
    const { signal: right } = scope
    if (right?.aborted === true) return failure(403, 'UNAUTHORIZED', 'the right of the caller has ended')
    // Read before the feed: a feed that is found later is of a later epoch.
    const hasEnded = this.#endedFeeds.has(url.searchParams.get('ended') ?? '')
    const feed = await this.feedOf(scope, request.signal)
    if (path === 'watch') return this.#watch(feed, url, request, right)
    if (path === 'version') return this.#version(feed, url, request.signal)
    const collection = this.#mirror.hasCollections ? (url.searchParams.get('collection') ?? undefined) : undefined
    if (collection !== undefined) {
      if (!this.#mirror.has(collection))
        return failure(404, 'NOT_FOUND', `the collection ${JSON.stringify(collection)} is not served`)
      if (isOfOtherFeed(feed, url)) return ofOtherFeed(feed)
    }
    const data = { ...repeated(url), ...(hasEnded && { hasEnded }), ...(collection !== undefined && { collection }) }
    return events(await feed.list(request, data, right, collection), 'no-store')
  }

  /** Returns the feed of a scope, after the first list of the informer. Throws as `synced` does. */
  async feedOf({ where = {} }: MirrorScope, signal: AbortSignal): Promise<MirrorFeed<T>> {
    await this.#mirror.synced({ timeoutMs: SYNC_MS, signal })
    this.#assertOpen() // It may have been closed since the request arrived.
    this.#assertListedSinceEpoch()
    const name = this.#mirror.scopeName(where)
    let feed = this.#feeds.get(name)
    if (feed === undefined || feed.ended !== undefined) {
      for (const [each, { ended }] of this.#feeds) if (ended !== undefined) this.#feeds.delete(each)
      if (this.#feeds.size >= this.#maxScopes) this.#dropUnused()
      if (this.#feeds.size >= this.#maxScopes)
        throw new SourceError(`${this.#maxScopes} scopes are in use`, { code: 'UNAVAILABLE' })
      // A share packs its lists without invalid objects, and an invalid object has no values of indexes of a scope.
      const isShare = this.#feedOptions.onCleared !== undefined
      const invalid = !isShare && name === this.#mirror.scopeName({}) ? new InvalidKeys() : undefined
      feed = new MirrorFeed(this.#mirror, where, this.#clock, { ...this.#feedOptions, invalid })
      this.#feeds.set(name, feed)
    }
    await feed.ready
    return feed
  }

  /** Drops the scope that has had no watch for the longest time: a caller may have sent many unknown values. */
  #dropUnused(): void {
    const [longest] = [...this.#feeds]
      .filter(([, { idleMs }]) => idleMs > 0)
      .sort(([, a], [, b]) => b.idleMs - a.idleMs)
    if (longest === undefined) return
    const [name, feed] = longest
    feed.close(new SourceError('another scope needed the place of an unused one', { code: 'UNAVAILABLE' }))
    this.#feeds.delete(name)
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SourceError('the server is closing', { code: 'UNAVAILABLE' })
  }

  /** Between the end of an epoch and the next list, the store shows a history that is over. */
  #assertListedSinceEpoch(): void {
    if (this.#endedEpochs.size === 0) return
    const { sources } = this.#mirror
    for (const name of this.#endedEpochs) {
      // A source that was removed, or added again and not listed, shows nothing.
      if (sources[name]?.isSynced === true)
        throw new SourceError('the mirror lists another history', { code: 'UNAVAILABLE' })
      this.#endedEpochs.delete(name)
    }
  }

  #watch(feed: MirrorFeed<T>, url: URL, request: Request, right: AbortSignal | undefined): Response {
    const requested = url.searchParams.get('after') ?? ''
    const after = parseVersion(requested)
    if (isOtherProtocol(requested)) return failure(410, UNKNOWN_FEED, 'the version is of another version of listwatch')
    if (after === undefined)
      return failure(400, 'PROTOCOL', 'the parameter "after" must be a version of a list or a batch')
    if (this.#endedFeeds.has(after.feed)) return failure(410, 'EPOCH_CHANGED', 'the source has another history')
    if (after.feed !== feed.id) return ofOtherFeed(feed)
    if (!feed.canResume(after.sequence))
      return failure(410, 'VERSION_EXPIRED', 'the history after this version is not available')
    // A proxy that compresses the changes holds them back.
    return events(feed.watch(after.sequence, request, repeated(url), right), 'no-store, no-transform')
  }

  async #version(feed: MirrorFeed<T>, url: URL, signal: AbortSignal): Promise<Response> {
    if (isOfOtherFeed(feed, url)) return ofOtherFeed(feed)
    if (url.searchParams.has('fresh')) {
      try {
        await this.#mirror.fresh({ timeoutMs: SYNC_MS, signal })
      } catch (error) {
        if (error instanceof TypeError) return failure(400, 'PROTOCOL', error.message)
        throw error
      }
    }
    await feed.caughtUp()
    return Response.json({ ...repeated(url), version: feed.version }, { headers: { 'cache-control': 'no-store' } })
  }
}

/** The request of node:http or Express has a path instead of a URL, and its response waits for this program. */
function assertRequest(request: Request): void {
  if (typeof membersOf(membersOf(request)['headers'])['get'] !== 'function')
    throw new TypeError('serveHttp: the handler takes a Request; for node:http and Express use nodeListener(mirror)')
}

/** Without this, a caller whose scope is misspelt, or a Response of another library, would read all objects. */
function assertScope(scope: unknown, mirror: { assertWhere(where: object): void }): asserts scope is RequestScope {
  if (typeof scope !== 'object' || scope === null || isPlainObject(scope) !== undefined)
    throw new TypeError('serveHttp: "scope" must return a plain object or a Response of this runtime')
  checkScope('serveHttp: the result of "scope"', scope, { signal: isSignal })
  mirror.assertWhere({ ...membersOf(membersOf(scope)['where']) })
}

/** A response with server-sent events. nginx passes them on at once. */
function events(body: Follower, caching: string): Response {
  return directResponse(body, {
    'content-type': 'text/event-stream',
    'cache-control': caching,
    'x-accel-buffering': 'no',
  })
}

/** The id of the request, which the response repeats: a follower knows that no cache has answered. */
function repeated({ searchParams }: URL): { readonly request?: string } {
  const request = searchParams.get('request')
  return request === null ? {} : { request }
}

/** Whether a request is for another feed than that of its server and scope. */
function isOfOtherFeed({ id }: { readonly id: string }, { searchParams }: URL): boolean {
  return (searchParams.get('feed') ?? id) !== id
}

/** With the id of the feed, a follower knows how many servers have answered. */
function ofOtherFeed({ id }: { readonly id: string }): Response {
  return failure(410, UNKNOWN_FEED, 'the version is of another server or scope', { feed: id })
}

function failure(
  status: number,
  code: SourceErrorCode | typeof UNKNOWN_FEED,
  message: string,
  details: object = {},
): Response {
  const headers = { 'cache-control': 'no-store', ...(status === 503 && { 'retry-after': '1' }) }
  return Response.json({ error: message, code, ...details }, { status, headers })
}
