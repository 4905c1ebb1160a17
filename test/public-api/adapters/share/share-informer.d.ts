import { type MessagePort } from 'node:worker_threads';
import { type Clock } from '../../src/contract/clock.js';
import type { Informer } from '../../src/informer/informer-types.js';
import { type MirrorScope } from '../http/serve-mirror.js';
/**
 * The options of `shareInformer`.
 *
 * @example
 * ```ts
 * import { shareInformer } from 'listwatch/share'
 *
 * const share = shareInformer(orders, {
 *   heartbeatMs: 2_000, // Default: 10 000.
 *   historyBytes: 128 * 2 ** 20, // Default: 16 MiB.
 * })
 * ```
 */
export interface ShareOptions {
    /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
    readonly heartbeatMs?: number;
    /**
     * The size of the history of each scope, in bytes. A follower that is further behind lists again. The packed objects
     * are used for later workers until half of it is used. Default 16 MiB.
     */
    readonly historyBytes?: number;
    /** The clock of all delays and timeouts. Default: `systemClock`. */
    readonly clock?: Clock;
}
/**
 * An informer that is shared with other threads and processes. It does not keep the process alive.
 *
 * @example
 * ```ts
 * import { Worker } from 'node:worker_threads'
 * import { shareInformer } from 'listwatch/share'
 *
 * await using share = shareInformer(orders)
 * const port = share.port({ where: { tenant: 'acme' } }) // Only the orders of one tenant. Default: all objects.
 * new Worker('./acme.js', { workerData: { orders: port }, transferList: [port] })
 * await share.listen('/run/shop/orders.sock')
 * ```
 */
export interface Share<I = {}> extends AsyncDisposable {
    /**
     * Returns a port for one worker thread, which passes it to `sharedSource`. A worker that ends closes its port.
     * Without `where`, all workers read one packed copy of the objects. With `where`, the worker has only objects with
     * these values in these indexes, and a copy of its own.
     *
     * @throws OptionError for an unknown index.
     * @throws SourceError STOPPED after `close`.
     */
    port(scope?: MirrorScope<I>): MessagePort;
    /**
     * Listens at a Unix socket, whose file only this user can use (mode 0600). Other processes pass the path to
     * `sharedSource`. The socket of a process that was killed is replaced.
     *
     * @throws OptionError for an unknown index.
     * @throws SourceError STOPPED after `close`.
     * @throws Error with the code of the system, for example EADDRINUSE if another process listens there.
     */
    listen(path: string, scope?: MirrorScope<I>): Promise<void>;
    /** Closes all ports and sockets. The informer continues. */
    close(): Promise<void>;
}
/**
 * Shares an informer with worker threads and other processes of the host, so that the source has one watch. Followers
 * are informers with `sharedSource`. A follower that is slow or dies costs the others nothing.
 *
 * @returns The share, which makes ports and listens at Unix sockets until it is closed.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { Worker } from 'node:worker_threads'
 * import { shareInformer } from 'listwatch/share'
 *
 * const share = shareInformer(orders)
 * const port = share.port()
 * new Worker('./worker.js', { workerData: { orders: port }, transferList: [port] })
 * await share.listen('/run/app/orders.sock') // for other processes
 * ```
 */
export declare function shareInformer<T, I extends object>(informer: Informer<T, I>, options?: ShareOptions): Share<I>;
