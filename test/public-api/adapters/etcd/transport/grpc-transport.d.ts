import type { Transport } from './transport.js';
/** Of the server and of ourselves: PEM. */
export interface EtcdCredentials {
    readonly rootCertificate: Buffer;
    readonly privateKey?: Buffer;
    readonly certChain?: Buffer;
}
export interface EtcdAuth {
    readonly username: string;
    readonly password: string;
}
export interface GrpcOptions {
    readonly endpoints: readonly string[];
    readonly credentials?: EtcdCredentials | undefined;
    readonly auth?: EtcdAuth | undefined;
}
/** Connections of our own over @grpc/grpc-js, to one endpoint after the other. */
export declare function grpcTransport({ endpoints, credentials, auth }: GrpcOptions): Transport;
