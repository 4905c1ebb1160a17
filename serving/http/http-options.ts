import type { UpstreamVersions } from '../../adapters/common/upstream-versions.js'
import type { ListerWatcher, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/**
 * The headers of a request, by name.
 *
 * @example
 * ```ts
 * import { httpSource, type RequestHeaders } from 'listwatch/http'
 *
 * const headers = (): RequestHeaders => ({ authorization: `Bearer ${process.env['TOKEN']}` }) // Called for each request.
 * const source = httpSource<Limit>({ url, headers })
 * ```
 */
export type RequestHeaders = Headers | Readonly<Record<string, string>>

/**
 * The options of `httpSource`.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 *
 * declare function accessToken(): Promise<string>
 * const source = httpSource<Order>({
 *   url: new URL('/mirror/orders', 'https://api.example'),
 *   headers: async () => ({ authorization: `Bearer ${await accessToken()}` }), // For each request.
 *   heartbeatMs: 5_000, // The same as in `serveHttp`. Default: 10 000.
 * })
 * ```
 */
export interface HttpSourceOptions {
  /** The address of the mirror: the prefix under which `serveHttp` is mounted. */
  readonly url: string | URL
  /** The name in logs and errors. Default: `http:` with host and path. */
  readonly name?: string
  /** The headers of every request; a function is called for each request. Default: none. */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>)
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The option `heartbeatMs` of the server, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * Compares versions of the upstream source; its source object fits. With it, marks of its writers can be waited for,
   * and `waitFor` and lists work across several servers of one upstream. Default: only versions of one server can be
   * compared.
   */
  readonly upstream?: UpstreamVersions
}

/**
 * The source that `httpSource` returns.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 *
 * const source = httpSource<Order>({ url: 'https://api.example/mirror/orders' })
 * const orders = createInformer({ source })
 * await orders.start().synced()
 * await orders.fresh({ timeoutMs: 5_000 }) // Includes all writes to the upstream before this call.
 * ```
 */
export interface HttpSource<T> extends ListerWatcher<T> {
  /** Returns the version of the served mirror, which includes every write to the upstream before the call. */
  head(context: SourceContext): Promise<Version>
  /** Returns whether `at` includes everything up to `mark`. */
  hasReached(at: Version, mark: Version): boolean
  /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
  isLaterEpoch(at: Version, mark: Version): boolean
}

/**
 * The options of `httpCollections`: those of `httpSource`, and `holdMs`.
 *
 * @example
 * ```ts
 * import { httpCollections } from 'listwatch/http'
 *
 * const shop = httpCollections({ url: 'https://api.example/mirror', holdMs: 5_000 })
 * ```
 */
export interface HttpCollectionsOptions extends HttpSourceOptions {
  /**
   * If a collection has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * The collections that `serveHttp` serves together.
 *
 * @example
 * ```ts
 * import { type HttpCollections, httpCollections } from 'listwatch/http'
 *
 * const shop: HttpCollections = httpCollections({ url: 'https://api.example/mirror' })
 * const orders = createInformer({ source: shop.collection<Order>('orders') })
 * ```
 */
export interface HttpCollections {
  /**
   * Returns a collection as a source. If the server has no collection of this name, its lists fail with `NOT_FOUND`.
   * @throws OptionError if the name has a "/".
   */
  collection<T = unknown>(name: string): ListerWatcher<T>
}
