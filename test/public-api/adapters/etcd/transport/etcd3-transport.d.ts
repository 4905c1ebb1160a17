import type { Transport } from './transport.js';
/** The parts of an `Etcd3` of the package etcd3 1.x that a source uses. Its Watcher is not used. */
export interface EtcdClient {
    /** Range reads, and transactions. */
    readonly kv: {
        range(request: object, options?: object): Promise<object>;
        txn(request: object, options?: object): Promise<object>;
    };
    /** Watch streams. */
    readonly watchClient: {
        watch(options?: object): Promise<object>;
    };
    /** The status of a member. */
    readonly maintenance: {
        status(options?: object): Promise<object>;
    };
}
/**
 * Uses the hosts, credentials and policies of the user's client. `call`: the function that the user called, for errors.
 */
export declare function etcd3Transport(client: EtcdClient, call?: string): Transport;
export declare function isEtcdClient(client: unknown): client is EtcdClient;
