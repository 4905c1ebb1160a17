import { type Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
/**
 * The part of `KubeConfig` of @kubernetes/client-node that is used. It is never modified, and is read for each
 * connection.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node'
 *
 * const kubeConfig = new KubeConfig()
 * kubeConfig.loadFromDefault() // `~/.kube/config`, or the service account of the pod.
 * const source = kubernetesSource({ kubeConfig, kind: 'Node' })
 * ```
 */
export interface KubeConfigLike {
    /** Returns the name of the current context. */
    getCurrentContext(): string;
    /** Returns the cluster of the current context; null if there is none. */
    getCurrentCluster(): {
        readonly server: string;
        readonly proxyUrl?: string | undefined;
    } | null;
    /** Adds the headers, certificates and keys of the current user to the options. */
    applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}
/**
 * A KubeConfig, or a function that returns one. The function is called again when the server rejects the credentials.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node'
 *
 * function load(): KubeConfig {
 *   const config = new KubeConfig()
 *   config.loadFromFile('/etc/agent/kubeconfig')
 *   return config
 * }
 * const source = kubernetesSource({ kubeConfig: load, kind: 'Node' }) // Read again if the server rejects it.
 * ```
 */
export type KubeConfigProvider = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>);
/** The server and the credentials of one connection. */
export interface Access {
    readonly server: URL;
    /** Headers, certificates and keys. */
    readonly options: RequestOptions;
    /** The agent of the proxy; undefined without a proxy. */
    readonly proxy: Agent | undefined;
    /** The proxy's URL without its password; undefined without a proxy. */
    readonly proxyUrl: string | undefined;
    /** Identifies the server and the context. Another cluster may have another history. */
    readonly clusterId: string;
    /** The number of renewals before these credentials. */
    readonly renewals: number;
}
/** Credentials that can be renewed. A KubeConfig keeps a token until it expires, even if the server rejects it. */
export declare class Credentials {
    #private;
    /** The context that was current when the source was created. A later change of the KubeConfig has no effect. */
    readonly context: string | undefined;
    /** `call`: the function that the user called, for errors. */
    constructor(configProvider: KubeConfigProvider, call?: string);
    /** The cluster of the last access, and of the next one as far as is known. */
    get clusterId(): string | undefined;
    /**
     * Returns the server and the credentials. Callers share an access in progress: no login is started twice within five
     * minutes. Rejects with `PROTOCOL` if the configuration names no cluster, and `UNAUTHORIZED` if it has no
     * credentials. Rejects with `UNAVAILABLE` if the function that returns the KubeConfig fails.
     */
    access(now: number): Promise<Access>;
    /** A caller has stopped waiting. The result is kept for the next caller. */
    abandon(access: Promise<Access>): void;
    /**
     * The next access uses new credentials, if there are any. Has no effect if they were renewed since the rejected ones.
     */
    renew(refused?: Access): void;
}
export declare function isKubeConfig(value: unknown): value is KubeConfigLike;
