import { resolve } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type Clock, systemClock } from '../../src/contract/clock.js'
import { OptionError, SourceError } from '../../src/contract/errors.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { internalsOf } from '../../src/informer/internals.js'
import { checkOptions, checkScope, isCount, isObject, isPositive } from '../../src/util/validate-options.js'
import { DEFAULT_HISTORY_BYTES, type MirrorScope, MirrorServer } from '../http/serve-http.js'
import { servePort } from './port-server.js'
import { type OpenContext, SharedSnapshots } from './shared-snapshots.js'
import { isSocketPath } from './socket-path.js'
import type { SocketServer } from './socket-server.js'

/**
 * The options of `serveShared`.
 *
 * @example
 * ```ts
 * import { serveShared } from 'listwatch/share'
 *
 * const share = serveShared(orders, {
 *   heartbeatMs: 2_000, // Default: 10 000.
 *   historyBytes: 128 * 2 ** 20, // Default: 16 MiB.
 * })
 * ```
 */
export interface ServeSharedOptions {
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * The size of the history of each scope, in bytes. A follower that is further behind lists again. The packed objects
   * are used for later workers until half of it is used. Default 16 MiB.
   */
  readonly historyBytes?: number
  /** The clock of all delays and timeouts. Default: `systemClock`. */
  readonly clock?: Clock
}

/**
 * An informer that is shared with other threads and processes. It does not keep the process alive.
 *
 * @example
 * ```ts
 * import { Worker } from 'node:worker_threads'
 * import { serveShared } from 'listwatch/share'
 *
 * await using share = serveShared(orders)
 * const port = share.port({ where: { tenant: 'acme' } }) // Only the orders of one tenant. Default: all objects.
 * new Worker('./acme.js', { workerData: { orders: port }, transferList: [port] })
 * await share.listen('/run/shop/orders.sock')
 * ```
 */
export interface SharedServing<I = {}> extends AsyncDisposable {
  /**
   * Returns a port for one worker thread, which passes it to `sharedSource`. A worker that ends closes its port.
   * Without `where`, all workers read one packed copy of the objects. With `where`, the worker has only objects with
   * these values in these indexes, and a copy of its own.
   *
   * @throws OptionError for an unknown index.
   * @throws SourceError STOPPED after `close`.
   */
  port(scope?: MirrorScope<I>): MessagePort
  /**
   * Listens at a Unix socket, whose file only this user can use (mode 0600). Other processes pass the path to
   * `sharedSource`. The socket of a process that was killed is replaced.
   *
   * @throws OptionError for an unknown index.
   * @throws SourceError STOPPED after `close`.
   * @throws Error with the code of the system, for example EADDRINUSE if another process listens there.
   */
  listen(path: string, scope?: MirrorScope<I>): Promise<void>
  /** Closes all ports and sockets. The informer continues. */
  close(): Promise<void>
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
 * import { serveShared } from 'listwatch/share'
 *
 * const share = serveShared(orders)
 * const port = share.port()
 * new Worker('./worker.js', { workerData: { orders: port }, transferList: [port] })
 * await share.listen('/run/app/orders.sock') // for other processes
 * ```
 */
export function serveShared<T, I extends object>(
  informer: Informer<T, I>,
  options: ServeSharedOptions = {},
): SharedServing<I> {
  if (typeof (informer as Partial<Informer<T, I>> | undefined)?.changes !== 'function')
    throw new OptionError('serveShared: the first argument must be an informer', { option: 'informer' })
  checkOptions('serveShared', options, { heartbeatMs: isPositive, historyBytes: isCount, clock: isObject })
  const { clock = systemClock, historyBytes = DEFAULT_HISTORY_BYTES } = options
  const mirror = internalsOf(informer)?.objects
  /** Undefined for an informer of another kind. */
  const snapshots = mirror && new SharedSnapshots<T>({ mirror, clock, historyBytes })
  const onCleared = (feed: object): void => snapshots?.clear(feed)
  const server = new MirrorServer<T>(new Map([['', informer]]), options, onCleared)
  const ports = new Set<MessagePort>()
  const sockets = new Set<SocketServer>()
  let isClosed = false
  const handler = (call: string, scope: MirrorScope<I>): ((request: Request) => Promise<Response>) => {
    if (isClosed) throw new SourceError(`share.${call}: the share is closed`, { code: 'STOPPED' })
    checkScope(`share.${call}`, scope)
    for (const index of Object.keys(scope.where ?? {})) {
      if (!Object.hasOwn(informer.by, index))
        throw new OptionError(`share.${call}: the informer has no index "${index}"`, { option: 'where' })
    }
    const own = structuredClone(scope) // The program may change a Date later.
    return (request) => server.answer(request, () => own)
  }
  const close = async (): Promise<void> => {
    isClosed = true
    server.close()
    for (const port of ports) port.close()
    await Promise.all([...sockets].map((socket) => socket.close()))
  }
  return {
    port(scope = {}) {
      const answer = handler('port', scope)
      // The packed objects are those of all scopes.
      const packed = Object.keys(scope.where ?? {}).length === 0 ? snapshots : undefined
      const { port1, port2 } = new MessageChannel()
      ports.add(port1)
      const open = async (context: OpenContext) => await packed?.open(server, context)
      servePort(port1, { answer, open }, () => ports.delete(port1))
      return port2
    },
    async listen(path, scope = {}) {
      checkOptions('share.listen', { path }, { path: isSocketPath })
      const answer = handler('listen', scope)
      // Worker threads do not use it.
      const { SocketServer } = await import('./socket-server.js')
      handler('listen', scope) // The share may have been closed meanwhile.
      const socket = new SocketServer(resolve(path), answer)
      sockets.add(socket)
      try {
        await socket.listen()
      } catch (error) {
        sockets.delete(socket)
        throw error
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
