import { type Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
/** The part of `KubeConfig` of @kubernetes/client-node that is used. It stays yours, and is asked for every connection. */
export interface KubeConfigLike {
    getCurrentContext(): string;
    getCurrentCluster(): {
        readonly server: string;
        readonly proxyUrl?: string | undefined;
    } | null;
    applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}
/** A KubeConfig, or what makes one: then it is called again where the server refuses the credentials. */
export type KubeConfigProvider = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>);
/** Where to connect, and as whom. */
export interface Access {
    readonly server: URL;
    /** Headers, certificates and keys. */
    readonly options: RequestOptions;
    /** Of the proxy that the cluster is behind. */
    readonly proxy: Agent | undefined;
    /** Its address, without a password; undefined without a proxy. */
    readonly proxyUrl: string | undefined;
    /** Which server that is, by which context; another one may have another history. */
    readonly clusterId: string;
    /** How often credentials had been renewed before these. */
    readonly renewals: number;
}
/** Credentials that can be renewed: a KubeConfig keeps tokens until they expire, whatever the server says of them. */
export declare class Credentials {
    #private;
    /** The context of a KubeConfig when it was provided: to choose another later changes nothing here. */
    readonly context: string | undefined;
    constructor(configProvider: KubeConfigProvider);
    /** Where the last access led to, and the next one will, as far as is known. */
    get clusterId(): string | undefined;
    /**
     * Rejects as `PROTOCOL` where the configuration names no cluster, as `UNAUTHORIZED` where it gives no credentials, as `UNAVAILABLE` where the
     * function that gives it fails. Who asks while others wait, or after they gave up, gets what they get: nothing is begun twice within five minutes.
     */
    access(now: number): Promise<Access>;
    /** Somebody does not wait for that one any longer; it may be good for who asks next. */
    abandon(access: Promise<Access>): void;
    /** The next access is with new credentials, where they can be had. Not where that has happened since those that were refused. */
    renew(refused?: Access): void;
}
export declare function isKubeConfig(value: unknown): value is KubeConfigLike;
