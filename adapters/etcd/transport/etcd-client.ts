import { hasMethods, propertiesOf } from '../../common/properties.js'

/**
 * The parts of an `Etcd3` of the package etcd3 1.x that a source uses. Its Watcher is not used.
 *
 * @example
 * ```ts
 * import { Etcd3 } from 'etcd3'
 *
 * const client = new Etcd3({ hosts: ['http://etcd-1:2379', 'http://etcd-2:2379'] })
 * const limits = createInformer({ source: etcdSource<Limit>({ client, prefix: '/limits/' }) }).start()
 * process.once('SIGTERM', async () => {
 *   await limits.stop()
 *   client.close() // The source does not close it.
 * })
 * ```
 */
export interface EtcdClient {
  /** Range reads, and transactions. */
  readonly kv: {
    /** Reads a range of keys. */
    range(request: object, options?: object): Promise<object>
    /** Runs a transaction. */
    txn(request: object, options?: object): Promise<object>
  }
  /** Watch streams. */
  readonly watchClient: {
    /** Opens a stream of watches. */
    watch(options?: object): Promise<object>
  }
  /** The status of a member. */
  readonly maintenance: {
    /** Returns the status of the member that answers. */
    status(options?: object): Promise<object>
  }
}

export function isEtcdClient(client: unknown): client is EtcdClient {
  const { kv, watchClient, maintenance } = propertiesOf(client)
  return hasMethods(kv, 'range', 'txn') && hasMethods(watchClient, 'watch') && hasMethods(maintenance, 'status')
}
