import { MessagePort } from 'node:worker_threads';
import type { HttpSource } from '../http/http-options.js';
import { type UpstreamVersions } from '../shared/upstream-versions.js';
/**
 * The options of `sharedSource`.
 *
 * @example
 * ```ts
 * import { sharedSource } from 'listwatch/share'
 *
 * const source = sharedSource<Order>({
 *   path: '/run/shop/orders.sock', // In a worker thread: `port`.
 *   heartbeatMs: 2_000, // The same as in `shareInformer`. Default: 10 000.
 * })
 * const orders = createInformer({ source })
 * ```
 */
export interface SharedSourceOptions {
    /** A port of `share.port()`, in a worker thread. Either this or `path`. */
    readonly port?: MessagePort;
    /** The path of the socket of `share.listen(path)`, in another process. Either this or `port`. */
    readonly path?: string;
    /** The name in logs and errors. Default: `share:port`, or `share:` with the path. */
    readonly name?: string;
    /** The option `heartbeatMs` of the share, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /**
     * Compares versions of the upstream source; its source object fits. With it, marks of its writers can be waited for.
     * Default: only versions of the share can be compared.
     */
    readonly upstream?: UpstreamVersions;
}
/**
 * Returns a source that follows an informer of the main thread or of another process, which `shareInformer` shares.
 * Over a port, its informer reads the objects in shared memory, unless it has the option `cache`, `schema` or
 * `transform`.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { workerData } from 'node:worker_threads'
 * import { createInformer } from 'listwatch'
 * import { sharedSource } from 'listwatch/share'
 *
 * const orders = createInformer({ source: sharedSource<Order>({ port: workerData.orders }) })
 * await orders.start().synced()
 * ```
 */
export declare function sharedSource<T>(options: SharedSourceOptions): HttpSource<T>;
