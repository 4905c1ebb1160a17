import { type OptionCheck } from '../../src/util/validate-options.js';
import type { EtcdCodec, EtcdKeys } from './codec.js';
import { type EtcdClient } from './transport/etcd-client.js';
import type { EtcdAuth, EtcdCredentials } from './transport/grpc-transport.js';
import { type KeyBytes } from './transport/key-range.js';
/**
 * Keys in byte order, from `from` (inclusive) to `to` (exclusive).
 *
 * @example
 * ```ts
 * const range = { from: '/jobs/2026-01', to: '/jobs/2026-07' } // January to June: `to` is exclusive.
 * const source = etcdSource<{ readonly state: string }>({ client: etcd, range })
 * ```
 */
export interface EtcdRange {
    /** The first key. `''` is the first key of the server. */
    readonly from: KeyBytes;
    /** The end of the range, exclusive. Default: the range has no end. */
    readonly to?: KeyBytes;
}
/**
 * The options of `etcdSource`: one of `client` and `endpoints`, and one of `prefix` and `range`.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({
 *   endpoints: ['https://etcd-1:2379', 'https://etcd-2:2379'],
 *   prefix: '/limits/',
 *   pageSize: 2_000, // Default: 10 000 keys.
 *   progressMs: 2_000, // Default: 5 000.
 *   stallMs: 6_000, // Default: 15 000.
 * })
 * ```
 */
export interface EtcdSourceOptions<T> {
    /**
     * An `Etcd3` of the package etcd3 1.x, instead of `endpoints`. The source never closes it: stop the informer before
     * you do.
     */
    readonly client?: EtcdClient;
    /**
     * One or several members, such as `localhost:2379` or `https://etcd-1:2379`. The source tries them in turn. It needs
     * the package @grpc/grpc-js.
     */
    readonly endpoints?: string | readonly string[];
    /** All keys with this prefix, instead of `range`. It must not be empty. */
    readonly prefix?: KeyBytes;
    /** A range of keys, instead of `prefix`. */
    readonly range?: EtcdRange;
    /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
    readonly codec?: 'json' | 'string' | 'bytes' | EtcdCodec<T>;
    /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
    readonly keys?: EtcdKeys;
    /** TLS certificates, for `endpoints`. Default: no TLS, or the system's certificates for `https:` endpoints. */
    readonly credentials?: EtcdCredentials;
    /** User name and password, for `endpoints`. Default: no authentication. */
    readonly auth?: EtcdAuth;
    /**
     * The maximum number of keys of one request. Default 10 000, because etcd counts all keys of the range for each page.
     */
    readonly pageSize?: number;
    /**
     * A watch that is more than this many revisions behind lists instead, which costs the server less. Default 20 000.
     */
    readonly maxCatchup?: number;
    /** Whether a member without a leader ends the watch. If false, such a watch is silent. Default true. */
    readonly requireLeader?: boolean;
    /** After this many milliseconds of silence, the source requests the server's current revision. Default 5 000. */
    readonly progressMs?: number;
    /**
     * A request without a response, or a watch that is silent, counts as lost after this many milliseconds. It must be
     * more than `progressMs`. Default 15 000.
     */
    readonly stallMs?: number;
}
export declare const PROGRESS_MS = 5000;
export declare const STALL_MS = 15000;
/** The options that say how to connect. */
export type EtcdConnectionOptions = Pick<EtcdSourceOptions<unknown>, 'client' | 'endpoints' | 'credentials' | 'auth'>;
export declare const connectionChecks: Readonly<Record<keyof EtcdConnectionOptions, OptionCheck>>;
/** Throws an OptionError that names the option and says what is allowed. */
export declare function checkEtcdOptions<T>(options: EtcdSourceOptions<T>): void;
/**
 * Checks the options that say how to connect, as far as `connectionChecks` cannot. `call`: the function that the user
 * called.
 */
export declare function checkConnection(call: string, options: EtcdConnectionOptions): void;
