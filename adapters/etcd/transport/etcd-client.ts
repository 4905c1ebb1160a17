import { hasMethods, propertiesOf } from '../../shared/properties.js'

/** The parts of an `Etcd3` of the package etcd3 1.x that a source uses. Its Watcher is not used. */
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
