export type { EtcdCodec, EtcdKeys } from './codec.js';
export type { EtcdRange, EtcdSourceOptions } from './etcd-options.js';
export { type EtcdSource, etcdSource } from './etcd-source.js';
export type { EtcdClient } from './etcd3-transport.js';
export type { EtcdAuth, EtcdCredentials } from './grpc-transport.js';
export type { KeyBytes } from './key-range.js';
