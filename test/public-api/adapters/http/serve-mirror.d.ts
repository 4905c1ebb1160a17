import { type Clock } from '../../src/contract/clock.js';
import type { Informer } from '../../src/informer/informer-types.js';
import type { IndexValue } from '../../src/store/indexes/index-types.js';
/**
 * The objects that one caller may read.
 *
 * @example
 * ```ts
 * import { type MirrorScope, serveMirror } from 'listwatch/http'
 *
 * declare function userOf(request: Request): Promise<{ readonly tenant: string; readonly isAdmin: boolean }>
 * const scope = async (request: Request): Promise<MirrorScope<typeof orders.by>> => {
 *   const { tenant, isAdmin } = await userOf(request)
 *   return isAdmin ? {} : { where: { tenant } }
 * }
 * const mirror = serveMirror(orders, { scope })
 * ```
 */
export interface MirrorScope<I = {}> {
    /** Only objects that have these values in these indexes. Default: all objects. */
    readonly where?: {
        readonly [K in keyof I]?: IndexValue<I[K]>;
    };
}
/**
 * The options of `serveMirror`.
 *
 * @example
 * ```ts
 * import { serveMirror } from 'listwatch/http'
 *
 * const mirror = serveMirror(orders, {
 *   heartbeatMs: 5_000, // Default: 10 000. The same as in `httpSource`.
 *   watchMs: 60_000, // Default: 600 000.
 *   historyBytes: 64 * 2 ** 20, // Of each scope. Default: 16 MiB.
 *   maxScopes: 100, // Default: 1 000.
 * })
 * ```
 */
export interface ServeMirrorOptions<I = {}> {
    /**
     * Called for each request. Returns the objects that the caller may read, or the response that refuses the request.
     * Default: every caller reads all objects.
     */
    readonly scope?: (request: Request) => MirrorScope<I> | Response | Promise<MirrorScope<I> | Response>;
    /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /**
     * After this time a watch ends and its follower resumes, so that `scope` is called again, in milliseconds. Default
     * 600 000.
     */
    readonly watchMs?: number;
    /** The size of the history of each scope, in bytes. A follower that is further behind lists again. Default 16 MiB. */
    readonly historyBytes?: number;
    /** The maximum number of scopes at a time. A request for one more is refused with 503. Default 1 000. */
    readonly maxScopes?: number;
    /** The clock of all delays and timeouts. Default: `systemClock`. */
    readonly clock?: Clock;
}
/**
 * A handler for any framework that has `Request` and `Response`.
 *
 * @example
 * ```ts
 * import { serveMirror } from 'listwatch/http'
 *
 * const mirror = serveMirror(orders)
 * const response = await mirror(new Request('https://api.example/mirror/orders/version')) // As a framework calls it.
 * console.log(response.status, await response.text())
 * process.once('SIGTERM', () => mirror.close())
 * ```
 */
export interface MirrorHandler extends AsyncDisposable {
    /**
     * Answers `GET …/list`, `GET …/list/<chunk>`, `GET …/watch?after=<version>` and `GET …/version`, under any prefix. It
     * rejects only for a value that is not a Request, such as a request of node:http: see `nodeListener`.
     */
    (request: Request): Promise<Response>;
    /** Ends all watches. Later requests are answered with 503. The informer continues. */
    close(): Promise<void>;
}
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
 * import { nodeListener, serveMirror } from 'listwatch/http'
 *
 * const mirror = serveMirror(orders, {
 *   scope: (request) => {
 *     const tenant = request.headers.get('x-tenant')
 *     return tenant === null ? new Response('no tenant', { status: 403 }) : { where: { tenant } }
 *   },
 * })
 * createServer(nodeListener(mirror)).listen(8080)
 * ```
 */
export declare function serveMirror<T, I extends object>(informer: Informer<T, I>, options?: ServeMirrorOptions<I>): MirrorHandler;
