export type { EtcdCodec, EtcdKeys } from './codec.js';
export type { EtcdRange, EtcdSourceOptions } from './etcd-options.js';
export { type EtcdSource, etcdSource } from './etcd-source.js';
export type { EtcdClient } from './transport/etcd3-transport.js';
export type { EtcdAuth, EtcdCredentials } from './transport/grpc-transport.js';
export type { KeyBytes } from './transport/key-range.js';
