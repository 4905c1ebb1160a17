import type { Transport } from './transport.js';
/** What a source needs of a client: an `Etcd3` of the package etcd3 1.x fits. Its Watcher is not used. */
export interface EtcdClient {
    readonly kv: {
        range(request: object, options?: object): Promise<object>;
    };
    readonly watchClient: {
        watch(options?: object): Promise<object>;
    };
    readonly maintenance: {
        status(options?: object): Promise<object>;
    };
}
/** A client as the user made it: its hosts, credentials and policies are its own business. */
export declare function etcd3Transport(client: EtcdClient): Transport;
export declare function isEtcdClient(client: unknown): client is EtcdClient;
