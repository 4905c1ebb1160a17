import type { Transport } from './transport.js';
/**
 * TLS certificates, in PEM.
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs'
 *
 * const credentials = {
 *   rootCertificate: readFileSync('/etc/etcd/ca.pem'),
 *   privateKey: readFileSync('/etc/etcd/client-key.pem'),
 *   certChain: readFileSync('/etc/etcd/client.pem'),
 * }
 * const source = etcdSource<Limit>({ endpoints: 'https://etcd-1:2379', prefix: '/limits/', credentials })
 * ```
 */
export interface EtcdCredentials {
    /** The certificate authority of the server. */
    readonly rootCertificate: Buffer;
    /** The client's private key. Requires `certChain`. */
    readonly privateKey?: Buffer;
    /** The client's certificate. Requires `privateKey`. */
    readonly certChain?: Buffer;
}
/**
 * The user that reads, if etcd has authentication enabled.
 *
 * @example
 * ```ts
 * const auth = { username: 'reader', password: process.env['ETCD_PASSWORD'] ?? '' }
 * const source = etcdSource<Limit>({ endpoints: 'https://etcd-1:2379', prefix: '/limits/', auth })
 * ```
 */
export interface EtcdAuth {
    /** The name of the user. */
    readonly username: string;
    /** The password of the user. It never appears in messages. */
    readonly password: string;
}
export interface GrpcOptions {
    readonly endpoints: readonly string[];
    readonly credentials?: EtcdCredentials | undefined;
    readonly auth?: EtcdAuth | undefined;
    /** The function that the user called, for errors. */
    readonly call?: string;
}
/** Connections over @grpc/grpc-js. After a lost connection the next one goes to the next endpoint. */
export declare function grpcTransport({ endpoints, credentials, auth, call }: GrpcOptions): Transport;
