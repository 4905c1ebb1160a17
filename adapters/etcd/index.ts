/**
 * Sources over the keys of etcd, and leases of replicas in etcd.
 *
 * @module listwatch/etcd
 */

export type { LeaseOptions } from '../common/lease-options.js'
export { type EtcdCluster, etcdCluster } from './etcd-cluster.js'
export type {
  EtcdClusterOptions,
  EtcdCodec,
  EtcdCollectionOptions,
  EtcdKeys,
  EtcdRange,
  EtcdSourceOptions,
} from './etcd-options.js'
export { type EtcdSource, etcdSource } from './etcd-source.js'
export { type EtcdLeasesOptions, etcdLeases } from './leases/etcd-leases.js'
export type { EtcdClient } from './transport/etcd-client.js'
export type { EtcdAuth, EtcdCredentials } from './transport/grpc-transport.js'
export type { KeyBytes } from './transport/key-range.js'
