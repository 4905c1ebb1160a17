import type { EtcdCodec, EtcdKeys } from './codec.js';
import { type EtcdClient } from './transport/etcd3-transport.js';
import type { EtcdAuth, EtcdCredentials } from './transport/grpc-transport.js';
import { type KeyBytes } from './transport/key-range.js';
/** From `from` on, up to but without `to`; without `to`, all that come after. */
export interface EtcdRange {
    readonly from: KeyBytes;
    readonly to?: KeyBytes;
}
export interface EtcdSourceOptions<T> {
    /** Your own `Etcd3` of the package etcd3; or give `endpoints`. It stays yours: the source never closes it. */
    readonly client?: EtcdClient;
    /** `localhost:2379`, `https://etcd-1:2379`: tried one after the other. Needs the package @grpc/grpc-js. */
    readonly endpoints?: string | readonly string[];
    /** All keys that begin so; or give `range`. */
    readonly prefix?: KeyBytes;
    /** Keys in their order as bytes. */
    readonly range?: EtcdRange;
    /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
    readonly codec?: 'json' | 'string' | 'bytes' | EtcdCodec<T>;
    /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
    readonly keys?: EtcdKeys;
    /** TLS, with `endpoints`. */
    readonly credentials?: EtcdCredentials;
    /** Who reads, with `endpoints`. */
    readonly auth?: EtcdAuth;
    /** Most keys that one request asks for. Default 10 000: etcd looks at all keys on every page. */
    readonly pageSize?: number;
    /** Further behind than so many revisions, all is read again, which is cheaper for the server. Default 20 000. */
    readonly maxCatchup?: number;
    /** Whether a member without a leader ends the watch; else it is silent. Default true. */
    readonly requireLeader?: boolean;
    /** After so many milliseconds of silence the server is asked where it is. Default 5 000. */
    readonly progressMs?: number;
    /** What is not answered for so many milliseconds counts as lost. Default 15 000. */
    readonly stallMs?: number;
}
export declare const PROGRESS_MS = 5000;
export declare const STALL_MS = 15000;
/** Throws a TypeError that names the option and says what is allowed. */
export declare function checkEtcdOptions<T>(options: EtcdSourceOptions<T>): void;
