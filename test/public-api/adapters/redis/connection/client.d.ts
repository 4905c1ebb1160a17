/**
 * Your own `Redis` (a single server, or by Sentinel) or `Cluster` of ioredis 5.11 or 6. It stays yours: nothing is sent
 * over it, and it is never closed. What a source needs is a connection of its own with the same options.
 */
export interface RedisClient {
    readonly options: object;
    duplicate(override?: object): unknown;
    call(command: string, ...args: string[]): Promise<unknown>;
}
export type RedisArgument = string | number | Buffer;
/** What a server says; texts are bytes. An Error only inside of what a transaction answers. */
export type RedisReply = Buffer | string | number | null | Error | readonly RedisReply[];
/** A connection of our own: a `Redis` that a duplicate of the user's made. */
export interface RedisConnection {
    readonly options: {
        readonly host?: string;
        readonly port?: number;
        readonly path?: string | null;
    };
    connect(): Promise<unknown>;
    disconnect(): void;
    callBuffer(command: string, ...args: readonly RedisArgument[]): Promise<unknown>;
    call(command: string, ...args: readonly RedisArgument[]): Promise<unknown>;
    on(event: 'error' | 'close', listener: (error?: Error) => void): unknown;
    on(event: 'messageBuffer', listener: (channel: Buffer, message: RedisReply) => void): unknown;
    readonly stream?: {
        destroy(): unknown;
        on(event: 'data', listener: () => void): unknown;
    };
}
/** A `Redis` of ioredis, as far as it is used: a duplicate of it has the same credentials, TLS and Sentinels. */
export interface SingleClient {
    readonly options: {
        readonly host?: string;
        readonly port?: number;
        readonly keyPrefix?: string;
    };
    duplicate(override: object): unknown;
}
/** A `Cluster` of ioredis, as far as it is used: to find out who has a slot. */
export interface ClusterClient {
    readonly isCluster: true;
    readonly options: {
        readonly keyPrefix?: string;
    };
    readonly status: string;
    /** By slot: who has it, the master first, as `host:port`. */
    readonly slots: readonly (readonly string[] | undefined)[];
    nodes(role: 'all'): readonly SingleClient[];
    connect(): Promise<unknown>;
    refreshSlotsCache(done: () => void): void;
}
/** Throws an OptionError if one of these options is not given. */
export declare function assertGiven<O extends object>(call: string, options: O | undefined, names: readonly (keyof O & string)[]): void;
/** Says what is wrong with a client, or undefined where nothing is. */
export declare function clientFlaw(value: unknown): string | undefined;
/** The client as a Cluster, where it is one. */
export declare function asCluster(client: RedisClient): ClusterClient | undefined;
/** What the client puts before every key. */
export declare function keyPrefixOf(client: RedisClient): string;
