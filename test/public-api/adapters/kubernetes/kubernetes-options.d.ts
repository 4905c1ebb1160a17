import { type OptionCheck } from '../../src/util/validate-options.js';
import { type KubeConfigProvider } from './http/credentials.js';
import type { KubernetesShard } from './shard.js';
/**
 * The options of `kubernetesSource`.
 *
 * @example
 * ```ts
 * const source = kubernetesSource<Wire<V1Pod>>({
 *   kubeConfig,
 *   kind: 'Pod', // With `apiVersion: 'apps/v1'` for example a `Deployment`. Default: `v1`.
 *   labelSelector: 'app=web',
 *   fieldSelector: 'spec.nodeName=node-1',
 *   pageSize: 1_000, // Default: 500.
 *   maxWatchMs: 120_000, // Default: 600 000.
 * })
 * ```
 */
export interface KubernetesSourceOptions {
    /**
     * A KubeConfig of @kubernetes/client-node, or a function that returns one. The function is called again when the
     * server rejects the credentials.
     */
    readonly kubeConfig: KubeConfigProvider;
    /** The API version as in a manifest: `v1`, `apps/v1`, `example.com/v1`. Default `v1`. */
    readonly apiVersion?: string;
    /** The kind as in a manifest: `Pod`. Exactly one of `kind` and `plural` is required. */
    readonly kind?: string;
    /** The name as in a path: `pods`. */
    readonly plural?: string;
    /** The namespace to list and watch. Default: all namespaces. */
    readonly namespace?: string | undefined;
    /** Only objects with these labels: `app=web,tier!=cache`. Default: all objects. */
    readonly labelSelector?: string | undefined;
    /**
     * Only objects with these field values: `status.phase=Running`. The server supports few fields for each kind.
     * Default: all objects.
     */
    readonly fieldSelector?: string | undefined;
    /**
     * Only the objects of one part of the collection: `{ index: 0, count: 3 }`. The parts are about equal, disjoint, and
     * together the collection; an object stays in its part. Needs Kubernetes 1.36 or later with the feature gate
     * `ShardedListAndWatch`; other servers are detected. Default: all objects.
     */
    readonly shard?: KubernetesShard | undefined;
    /** Whether the server sends only `metadata` of each object. Default false. */
    readonly metadataOnly?: boolean;
    /** Whether `metadata.managedFields` is removed from each object. Default true. */
    readonly stripManagedFields?: boolean;
    /** Whether lists are streamed if the server supports it. Default true. */
    readonly streamingLists?: boolean;
    /** Most objects that one request of a paged list, or of an audit, returns. Default 500. */
    readonly pageSize?: number;
    /** A larger object is invalid, in bytes. Default 16 MiB. */
    readonly maxObjectBytes?: number;
    /**
     * The longest life of one watch, in milliseconds. Each life is drawn at random from the upper half. An open watch
     * keeps the rights it was opened with, so revoked rights continue for as long. At least 60 000; default 600 000.
     */
    readonly maxWatchMs?: number;
    /**
     * A watch without data for this number of milliseconds continues over another connection. The server sends a bookmark
     * about once a minute: a shorter time replaces healthy watches. Default 75 000.
     */
    readonly heartbeatMs?: number;
    /**
     * After this number of milliseconds without data, a request over another connection reads what the watch has missed.
     * It detects a half-open connection, and costs two small requests each time. Default 20 000; `false`: never.
     */
    readonly probeMs?: number | false | undefined;
    /**
     * A request without an answer for this number of milliseconds fails. A streamed list without progress is then read in
     * pages. Default 15 000.
     */
    readonly stallMs?: number;
}
export declare const isNamespace: OptionCheck;
export declare const isConfigProvider: OptionCheck;
/** Throws an `OptionError` that names the option and the allowed values. */
export declare function checkSourceOptions(options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined;
}): void;
