import { resolve } from 'node:path'
import { MessagePort, parentPort } from 'node:worker_threads'
import { isUpstream, type UpstreamVersions } from '../../adapters/common/upstream-versions.js'
import { OptionError, SourceError } from '../../src/contract/errors.js'
import type { MirrorCacheContext, SavedMirror } from '../../src/contract/mirror-cache.js'
import { checkOptions, isName, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import type { HttpSource } from '../http/http-options.js'
import { sourceOver } from '../http/http-source.js'
import { type PortClient, portClient } from './port-client.js'
import { BASE_URL } from './port-messages.js'
import { savedMirrorOf } from './shared-snapshot.js'
import { socketFetch } from './socket-fetch.js'
import { isSocketPath } from './socket-path.js'

/**
 * The options of `sharedSource`.
 *
 * @example
 * ```ts
 * import { sharedSource } from 'listwatch/share'
 *
 * const source = sharedSource<Order>({
 *   path: '/run/shop/orders.sock', // In a worker thread: `port`.
 *   heartbeatMs: 2_000, // The same as in `serveShared`. Default: 10 000.
 * })
 * const orders = createInformer({ source })
 * ```
 */
export interface SharedSourceOptions {
  /** A port of `share.port()`, in a worker thread. Either this or `path`. */
  readonly port?: MessagePort
  /** The path of the socket of `share.listen(path)`, in another process. Either this or `port`. */
  readonly path?: string
  /** The name in logs and errors. Default: `share:port`, or `share:` with the path. */
  readonly name?: string
  /** The option `heartbeatMs` of the share, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * Compares versions of the upstream source; its source object fits. With it, marks of its writers can be waited for.
   * Default: only versions of the share can be compared.
   */
  readonly upstream?: UpstreamVersions
}

/**
 * Returns a source that follows an informer of the main thread or of another process, which `serveShared` shares.
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
export function sharedSource<T>(options: SharedSourceOptions): HttpSource<T> {
  checkOptions('sharedSource', options, {
    port: isPort,
    path: isSocketPath,
    name: isName,
    heartbeatMs: isPositive,
    upstream: isUpstream,
  })
  const { port, path, ...others } = options ?? {}
  if ((port === undefined) === (path === undefined)) {
    const flaw = port === undefined ? 'option "port" or "path" is missing' : '"port" and "path" exclude each other'
    throw new OptionError(`sharedSource: ${flaw}`, { option: 'port' })
  }
  if (path !== undefined) {
    const at = resolve(path)
    return sourceOver<T>(socketFetch(at), { name: `share:${at}`, ...others, url: BASE_URL })
  }
  const client = portClient(port as MessagePort)
  const source = sourceOver<T>(client.fetch, { name: 'share:port', ...others, url: BASE_URL })
  return Object.assign(source, { openSnapshot: (context: MirrorCacheContext) => openSnapshot(client, context) })
}

/** If the port fails, the list reports that. */
async function openSnapshot(
  client: PortClient,
  { signal, alive }: MirrorCacheContext,
): Promise<SavedMirror | undefined> {
  try {
    const snapshot = await client.open(signal, alive)
    return snapshot && savedMirrorOf(snapshot)
  } catch (error) {
    if (error instanceof SourceError) return undefined
    throw error
  }
}

const isPort: OptionCheck = (value) => {
  if (!(value instanceof MessagePort)) return 'must be a MessagePort of share.port()'
  return value === parentPort
    ? 'must be a port of share.port(), for example in workerData, and not parentPort'
    : undefined
}
